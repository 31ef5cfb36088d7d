"""Join policies: how the outcomes of branches, in whatever order they come, become one value.

A policy is told the end of every branch once. It says when the result cannot change any more, so that the rest can be
cancelled, and which branch can no longer win, so that its context can be released at once. The result is a function
of the outcomes alone, never of their order, except for `first`; but a vote that is decided before a branch fails never
hears of that failure. Every operation is O(1) but a vote's last check, which is O(number of different keys).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from frontend_lang.errors import ProgramError
from frontend_lang.operators import rank
from frontend_lang.values import Value, vote_key


@dataclass(frozen=True)
class Outcome:
    """A branch that succeeded: its value, and its key where the policy has `by`."""

    index: int
    value: Value
    key: Value = None


@dataclass
class Policy(ABC):
    """The ends of `count` branches so far."""

    count: int
    ended: set[int] = field(default_factory=set)
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    def succeed(self, outcome: Outcome) -> int | None:
        """Branch `outcome.index` has succeeded; the branch that can no longer win because of it."""
        self.ended.add(outcome.index)
        self.outcomes[outcome.index] = outcome
        return self._weigh(outcome)

    def fail(self, index: int) -> None:
        """A branch has failed, and the fork goes on."""
        self.ended.add(index)

    @property
    def remaining(self) -> int:
        """Branches that have not ended."""
        return self.count - len(self.ended)

    @property
    def decided(self) -> bool:
        """Whether nothing that may still come changes the result."""
        return self.remaining == 0

    @abstractmethod
    def _weigh(self, outcome: Outcome) -> int | None:
        """Take a new outcome into account; the index that drops out."""

    @abstractmethod
    def winner(self) -> Outcome | None:
        """The winner among the outcomes so far; None for policies without one."""


@dataclass
class Gather(Policy):
    """`all`, `concat` and custom joins: every outcome counts, none wins."""

    def _weigh(self, outcome: Outcome) -> int | None:
        return outcome.index

    def winner(self) -> Outcome | None:
        """None: nobody wins."""
        return None

    def values(self, none_for_failed: bool) -> list[tuple[int, Value]]:
        """Values in the order of branches; failed ones are none or left out."""
        indexes = range(self.count) if none_for_failed else sorted(self.outcomes)
        return [(index, self.outcomes[index].value if index in self.outcomes else None) for index in indexes]


@dataclass
class First(Policy):
    """`first`: the first to succeed."""

    @property
    def decided(self) -> bool:
        """As soon as one has succeeded."""
        return bool(self.outcomes) or self.remaining == 0

    def _weigh(self, outcome: Outcome) -> int | None:
        return None if self.winner() is outcome else outcome.index

    def winner(self) -> Outcome | None:
        """The one that came first."""
        return next(iter(self.outcomes.values()), None)


@dataclass
class Best(Policy):
    """`best by e`: the largest key; ties go to the lowest index, nan loses."""

    leader: Outcome | None = None

    def _weigh(self, outcome: Outcome) -> int | None:
        order = (rank(outcome.key), -outcome.index)
        beaten = self.leader
        if beaten is not None and order < (rank(beaten.key), -beaten.index):
            return outcome.index
        self.leader = outcome
        return None if beaten is None else beaten.index

    def winner(self) -> Outcome | None:
        """The leader."""
        return self.leader


@dataclass
class _Group:
    """Votes for one key and the lowest index among them; more votes win, then the lower index."""

    votes: int
    first: int

    def strength(self, more: int = 0) -> tuple[int, int]:
        """What groups are compared by, given `more` votes."""
        return self.votes + more, -self.first


@dataclass
class Vote(Policy):
    """`vote [by key]`: the most frequent key; its branch of lowest index wins, ties go to the lowest such index."""

    groups: dict[str, _Group] = field(default_factory=dict)
    leader: _Group | None = None
    lowest_open: int = 0

    def _weigh(self, outcome: Outcome) -> int | None:
        key = vote_key(outcome.key)
        group = self.groups.get(key)
        dropped = None if group is None else max(group.first, outcome.index)
        if group is None:
            group = self.groups[key] = _Group(0, outcome.index)
        group.votes += 1
        group.first = min(group.first, outcome.index)
        if self.leader is None or group.strength() > self.leader.strength():
            self.leader = group
        return dropped

    @property
    def decided(self) -> bool:
        """Whether the same branch wins however the remaining ones vote.

        An open branch before the leader could join its group and come first. A key not seen yet can take all
        remaining votes but, coming after the leader, loses ties; a known rival can take them all too.
        """
        if self.remaining == 0 or self.leader is None:
            return self.remaining == 0
        if self._first_open() < self.leader.first or self.remaining > self.leader.votes:
            return False
        strength = self.leader.strength()
        return all(group is self.leader or group.strength(self.remaining) < strength for group in self.groups.values())

    def _first_open(self) -> int:
        while self.lowest_open in self.ended:
            self.lowest_open += 1
        return self.lowest_open

    def winner(self) -> Outcome | None:
        """The lowest index of the leading group."""
        return None if self.leader is None else self.outcomes[self.leader.first]


def policy_for(name: str, count: int) -> Policy:
    """The policy of a join; any name that is none of the language's is a def, which gathers."""
    kinds: dict[str, type[Policy]] = {"first": First, "best": Best, "vote": Vote}
    return kinds.get(name, Gather)(count)


def winner_of(policy: Policy, name: str, hint: str | None = None) -> Outcome:
    """The winner. Raises E0605 if no branch has succeeded."""
    outcome = policy.winner()
    if outcome is None:
        what = "without branches" if policy.count == 0 else "in which no branch succeeded"
        raise ProgramError("E0605", f"`join {name}` of a fork {what}", hint)
    return outcome
