"""fork of a body: branches are functions, the join is said by a method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from frontend_lang.builtins import BUILTINS
from frontend_lang.errors import ProgramError
from frontend_lang.python_api.bodies import run_body
from frontend_lang.python_api.failures import CallSite, carrying
from frontend_lang.python_api.frames import Frame
from frontend_lang.python_api.handles import Handle
from frontend_lang.python_api.plain import plain_value
from frontend_lang.python_api.promises import Promise
from frontend_lang.python_api.scopes import Scope
from frontend_lang.running.branching import ForkPlan, begin_fork
from frontend_lang.running.joins import Outcome
from frontend_lang.running.operations import Where
from frontend_lang.running.options import ForkSettings
from frontend_lang.tools import check_function
from frontend_lang.types.words import shortened
from frontend_lang.values import Value

if TYPE_CHECKING:
    from frontend_lang.python_api.prompts import Runnable

Key: TypeAlias = Callable[[Any], Any]
StateOf: TypeAlias = "Callable[[Frame], Any]"


@dataclass(frozen=True)
class Branch:
    """What one branch calls, with what besides its context, and its key in a record: its index, item or arm.

    Raises TypeError for a generator function.
    """

    key: Any
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        check_function(self.function, "a branch")

    @property
    def label(self) -> str:
        """Its name in paths."""
        return str(self.key)


@dataclass(frozen=True)
class Branches:
    """The branches of a fork: named `arms`, or numbered ones."""

    each: Sequence[Branch]
    arms: bool
    settings: ForkSettings
    defaults: Mapping[str, Value]


@dataclass(frozen=True)
class _Join:
    """How branches become one value: the policy, its key, and what is made of (index, value) where nobody wins."""

    policy: str
    made: Callable[[list[tuple[int, Any]]], Awaitable[Any]]
    keep: bool = False
    key: Key | None = None

    def __post_init__(self) -> None:
        if self.key is not None:
            check_function(self.key, f"the key of `{self.policy}`")


class Forking(Handle):
    """A fork that waits to be told how it is joined; left alone, awaited or returned, it is joined with `all`.

    Each method begins it and gives the promise of its value. `keep=True` makes the outcome part of the parent's
    context: the winner's context, or the values as text.
    """

    called: ClassVar[str] = "a fork"
    for_text: ClassVar[str] = "say how it is joined: fork.all()"

    def __init__(self, frame: Frame, branches: Branches, where: CallSite, state_of: StateOf) -> None:
        self._frame = frame
        self._branches = branches
        self._where = where
        self._state_of = state_of
        self.joined = False
        self._outcome: Promise | None = None

    def outcome(self) -> Promise:
        """The promise of its value, as it was joined last; else with `all`."""
        return self.all() if self._outcome is None else self._outcome

    def __await__(self) -> Generator[Any, None, Any]:
        return self.outcome().__await__()

    def all(self, *, keep: bool = False) -> Any:
        """The list of all values in the order of branches; for named arms a dict."""
        return self._begin(_Join("all", self._together, keep))

    def first(self, *, keep: bool = False) -> Any:
        """The value of the branch that succeeds first; the others are cancelled. Depends on timing."""
        return self._begin(_Join("first", self._together, keep))

    def best(self, key: Key, *, keep: bool = False) -> Any:
        """The value whose `key(value)` is largest; ties go to the lowest index, nan loses. The key is part of the
        branch: it may call prompts.
        """
        return self._begin(_Join("best", self._together, keep, key))

    def vote(self, *, by: Key | None = None, keep: bool = False) -> Any:
        """The most frequent value, or the value whose `by(value)` is most frequent; what cannot change the winner is
        cancelled.
        """
        return self._begin(_Join("vote", self._together, keep, by))

    def concat(self, sep: str = "", *, keep: bool = False) -> Any:
        """The texts of all values, joined."""

        async def joined(values: list[tuple[int, Any]]) -> Any:
            return BUILTINS["concat"].call([[plain_value(value) for _, value in values if value is not None], sep], {})

        return self._begin(_Join("concat", joined, keep))

    def record(self, *, keep: bool = False) -> Any:
        """A dict: item of `fork_over`, arm, or index of `fork(n, …)` -> value; without the branches that were dropped.

        Raises ProgramError for items that are equal (E0401) or cannot be keys of a dict (E0402).
        """
        _check_keys(self._branches.each)
        return self._begin(_Join("record", self._by_key, keep))

    def join(self, function: Callable[[Any], Any] | Runnable[Any, Any], *, keep: bool = False) -> Any:
        """What a function or prompt makes of the list of all values, or of the dict of named arms."""
        check_function(function, "what joins the branches")

        async def made(values: list[tuple[int, Any]]) -> Any:
            strand = self._frame.scope.run.strand(self._frame.scope.strand)
            scope = _scope_of(self._frame, replace(self._frame.where(), strand=strand))
            with carrying():
                return await run_body(function, scope, [await self._together(values)])

        return self._begin(_Join("join", made, keep))

    async def _together(self, values: list[tuple[int, Any]]) -> Any:
        return await self._by_key(values) if self._branches.arms else [value for _, value in values]

    async def _by_key(self, values: list[tuple[int, Any]]) -> dict[Any, Any]:
        return {self._branches.each[index].key: value for index, value in values}

    def _begin(self, join: _Join) -> Promise:
        self.joined = True
        self._outcome = self._frame.scope.do(lambda: self._begin_on_loop(join))
        return self._outcome

    def _begin_on_loop(self, join: _Join) -> Promise:
        frame, branches = self._frame, self._branches
        frame.prepare()
        frame.scope.run.counters.branch(len(branches.each))
        site = frame.site("fork")
        plan = ForkPlan(
            site=site,
            labels=[branch.label for branch in branches.each],
            work=lambda index, where: self._work(index, where, join),
            policy=join.policy,
            settings=branches.settings,
            gather=join.made,
            placed=self._where.placed(frame.scope.path),
            keep=join.keep,
            plain=plain_value,
        )
        return frame.promise(begin_fork(frame.scope.run, frame.where(frame.round(site)), plan), "the fork")

    async def _work(self, index: int, where: Where, join: _Join) -> Outcome:
        """One branch from its first line to its outcome."""
        branch, parent = self._branches.each[index], self._frame
        scope = _scope_of(parent, where)
        defaults = {**parent.defaults, **self._branches.defaults}
        frame = Frame(scope, where.context, parent.author, parent, defaults)
        state = self._state_of(frame)
        try:
            with carrying():
                value = await run_body(branch.function, scope, [state, *branch.arguments])
                state.end()
                await frame.settle_effects()
                if value is None or join.keep:
                    await frame.settle_all()
                if value is None:
                    value = await where.context.text(where.strand)
                key = value if join.key is None else await run_body(join.key, scope, [value])
                return Outcome(index, value, plain_value(key) if join.policy in ("best", "vote") else None)
        finally:
            await scope.begun.close()


def _scope_of(parent: Frame, where: Where) -> Scope:
    """The scope of a body that runs elsewhere in the same run."""
    return Scope(parent.scope.run, where.strand, where.place, where.path, parent.scope.depth, where.begun)


def _check_keys(each: Sequence[Branch]) -> None:
    seen = set[Any]()
    for branch in each:
        shown = shortened(repr(branch.key), 60)
        try:
            if branch.key in seen:
                message = f"`record` of a fork over items of which two are {shown}"
                raise ProgramError("E0401", message, "fork over different items, or join with `all`, a list")
            seen.add(branch.key)
        except TypeError:
            message = (
                f"`record` of a fork over {shown}, a {type(branch.key).__name__}, which cannot be the key of a dict"
            )
            raise ProgramError("E0402", message, "join with `all`, a list") from None
