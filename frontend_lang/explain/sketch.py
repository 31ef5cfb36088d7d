"""A context of a program that is not run: what it would hold, in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from frontend_lang.errors import ProgramError
from frontend_lang.explain.abstract import Piece, Unknown
from frontend_lang.explain.counting import NONE, ONE, ContextCounter, Tokens, largest
from frontend_lang.runtime import Role, RoleClose, RoleOpen, Text


@dataclass(frozen=True)
class Beyond:
    """What unknown text may have beyond the tokens that stand for it: in all, since the last call, since the fork."""

    total: Tokens = NONE
    uncomputed: Tokens = NONE
    own: Tokens = NONE

    def more(self, extra: Tokens) -> Beyond:
        """After further unknown text."""
        return Beyond(self.total + extra, self.uncomputed + extra, self.own + extra)


@dataclass
class Sketch:
    """The counterpart of a context.

    Text that is not known stands in `counter` as one token; `beyond` is what all of it may have more than that.
    `computed`: how far KV is there, by the call at `source`. `inherited`: how far the parent holds it. `ready`: when
    all that was appended is there, in gens one after the other. `written`: what a branch has appended, which is its
    value if it yields none.
    """

    counter: ContextCounter
    beyond: Beyond = field(default_factory=Beyond)
    computed: int = 0
    inherited: int = 0
    source: str = ""
    opened: bool = False
    ready: int = 0
    role: Role | None = None
    written: list[Piece] = field(default_factory=list)

    def copy(self) -> Sketch:
        """An independent sketch in the same state."""
        return replace(self, counter=self.counter.copy(), written=list(self.written))

    def branch(self) -> Sketch:
        """A child that shares all of it."""
        length = self.counter.commit()
        beyond = Beyond(self.beyond.total)
        return replace(self.copy(), inherited=length, computed=length, beyond=beyond, written=[])

    def add(self, pieces: Sequence[Piece]) -> None:
        """Append text."""
        for piece in pieces:
            if isinstance(piece, Unknown):
                self.opaque(piece.tokens, piece.ready)
            elif piece:
                self.counter.append([Text(piece)])
                self.written.append(piece)

    def opaque(self, tokens: Tokens, ready: int) -> None:
        """Append unknown text of so many tokens at most."""
        self.counter.opaque()
        self.beyond = self.beyond.more((tokens - ONE).at_most())
        self.ready = max(self.ready, ready)
        self.written.append(Unknown(tokens.at_most(), ready))

    def option(self, options: Sequence[str], ready: int) -> None:
        """Append the winner of a select: counted as the option that makes the context longest."""
        trials = [self.copy() for _ in options]
        for trial, option in zip(trials, options, strict=True):
            trial.counter.append([Text(option)])
        lengths = [trial.length().count or 0 for trial in trials]
        longest = options[lengths.index(max(lengths))]
        self.counter.append([Text(longest)])
        if len(set(options)) > 1:
            self.beyond = self.beyond.more(NONE.at_most())
        self.ready = max(self.ready, ready)
        self.written.append(longest if len(set(options)) == 1 else Unknown(Tokens(max(lengths)).at_most(), ready))

    def open_role(self, role: Role) -> None:
        """Open a role. Raises E0316 inside another one."""
        if self.role is not None:
            raise ProgramError("E0316", f"`{role}` inside `{self.role}`", "close the outer role before it")
        self.role = role
        self.counter.append([RoleOpen(role)])

    def close_role(self) -> None:
        """Close the open role."""
        self.role = None
        self.counter.append([RoleClose()])

    def commit(self) -> Tokens:
        """Tokenise what is pending; the length."""
        return Tokens(self.counter.commit()) + self.beyond.total

    def uncomputed(self) -> Tokens:
        """Committed tokens whose KV is not there."""
        return Tokens(self.counter.copy().commit() - self.computed) + self.beyond.uncomputed

    def with_kv(self) -> Tokens:
        """Tokens whose KV is there."""
        return Tokens(self.computed) + (self.beyond.total - self.beyond.uncomputed)

    def compute(self, source: str, missing: int = 0) -> None:
        """A call at `source` has computed all but the last `missing` tokens."""
        self.computed = max(0, self.counter.commit() - missing)
        self.beyond = replace(self.beyond, uncomputed=NONE.at_most() if missing else NONE)
        self.source = source

    def length(self) -> Tokens:
        """The length if it were committed now; changes nothing."""
        return Tokens(self.counter.copy().commit()) + self.beyond.total

    def growth(self) -> Tokens:
        """Tokens beyond what the parent holds."""
        return Tokens(self.counter.copy().commit() - self.inherited) + self.beyond.own


def longest(sketches: Sequence[Sketch]) -> Sketch:
    """The context after alternatives: the longest, a bound where they differ."""
    lengths = [sketch.length() for sketch in sketches]
    top = largest(lengths)
    chosen = sketches[next((at for at, length in enumerate(lengths) if length.count == top.count), 0)]
    if len({tuple(sketch.counter.copy().tokens()) for sketch in sketches}) > 1 or len(set(lengths)) > 1:
        chosen = replace(chosen.copy(), beyond=chosen.beyond.more(NONE.at_most() if top.count is not None else top))
    chosen.ready = max(sketch.ready for sketch in sketches)
    chosen.computed = min(sketch.computed for sketch in sketches)
    return chosen
