"""Numbers of tokens: how the plan writes them, and who counts them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from frontend_lang.runtime import Part


class Certainty(IntEnum):
    """How much is known about a number of tokens; of a sum, what is known about its worst part."""

    EXACT = 0
    BOUND = 1  # not more than this: something generated is in it
    ESTIMATE = 2  # about this: generated text was transformed
    UNKNOWN = 3  # a value that nobody knows yet is in it, or a loop without a bound


_MARKS = {Certainty.EXACT: "", Certainty.BOUND: "≤", Certainty.ESTIMATE: "~"}


@dataclass(frozen=True)
class Tokens:
    """A number of tokens (or of branches); `count` is None exactly where the certainty is UNKNOWN."""

    count: int | None
    certainty: Certainty = Certainty.EXACT

    def __add__(self, other: Tokens) -> Tokens:
        if self.count is None or other.count is None:
            return UNKNOWN
        return Tokens(self.count + other.count, max(self.certainty, other.certainty))

    def __sub__(self, other: Tokens) -> Tokens:
        """Never below 0."""
        if self.count is None or other.count is None:
            return UNKNOWN
        return Tokens(max(0, self.count - other.count), max(self.certainty, other.certainty))

    def times(self, rounds: Tokens) -> Tokens:
        """So many for each of `rounds` rounds."""
        if 0 in (self.count, rounds.count):
            return NONE
        if self.count is None or rounds.count is None:
            return UNKNOWN
        return Tokens(self.count * rounds.count, max(self.certainty, rounds.certainty))

    def at_most(self) -> Tokens:
        """The same number as a bound."""
        return self if self.count is None else Tokens(self.count, max(self.certainty, Certainty.BOUND))

    def about(self) -> Tokens:
        """The same number as an estimate."""
        return self if self.count is None else Tokens(self.count, Certainty.ESTIMATE)

    def to_dict(self) -> dict[str, object]:
        """The form that goes into JSON."""
        return {"count": self.count, "certainty": self.certainty.name.lower()}

    def __str__(self) -> str:
        return "?" if self.count is None else f"{_MARKS[self.certainty]}{self.count:,}".replace(",", " ")


NONE = Tokens(0)
ONE = Tokens(1)
UNKNOWN = Tokens(None, Certainty.UNKNOWN)


OPAQUE = -1  # what `ContextCounter.tokens` has in place of text that is not known


def total(parts: Iterable[Tokens]) -> Tokens:
    """The sum."""
    result = NONE
    for part in parts:
        result += part
    return result


def largest(parts: Iterable[Tokens]) -> Tokens:
    """The largest, unknown beats all; no more than a bound where they differ."""
    known = set(parts)
    if UNKNOWN in known:
        return UNKNOWN
    if not known:
        return NONE
    top = max(known, key=lambda part: (part.count or 0, part.certainty))
    return top if len(known) == 1 else Tokens(top.count, max(Certainty.BOUND, *[part.certainty for part in known]))


class ContextCounter(Protocol):
    """Tokenises one context as the runtime would, without computing anything."""

    def append(self, parts: Sequence[Part]) -> None:
        """Buffer parts. Raises ProgramError or RuntimeFailure where the runtime would refuse them."""
        ...

    def commit(self) -> int:
        """Tokenise what is buffered, all of it together; the length in tokens."""
        ...

    def opaque(self) -> None:
        """Commit, then append one token that stands for text that is not known."""
        ...

    def score(self, options: Sequence[str]) -> int:
        """Commit as for `Runtime.score`; the prompt tokens of scoring the options, theirs included."""
        ...

    def tokens(self) -> Sequence[int]:
        """The committed ids; OPAQUE in place of text that is not known."""
        ...

    def copy(self) -> ContextCounter:
        """An independent counter in the same state."""
        ...


class TokenCounter(Protocol):
    """What `explain` has to know about a model: its tokenizer and its chat template."""

    def open(self) -> ContextCounter:
        """A fresh, empty context."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text by itself."""
        ...
