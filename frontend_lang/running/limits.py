"""What one run may use, and the counters that hold it to that."""

from __future__ import annotations

from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Self

from frontend_lang.errors import ProgramError


@dataclass(frozen=True)
class Limits:
    """Bounds of one run; the defaults are the language's.

    `tokens` bounds computed prompt tokens plus completion tokens, `wall_s` the time of the run in seconds; of these two
    None is no bound. Raises TypeError and ValueError for a bound that is none.
    """

    iterations: int = 1000  # rounds of one loop
    steps: int = 100_000  # statements, loop rounds and calls of the run, and again of each row of its maps
    call_depth: int = 32
    live_branches: int = 64  # branches and overlapping calls at once; further ones wait
    branches: int = 4096  # of all forks of the whole run
    rows: int = 100_000  # of all maps of the whole run
    tool_calls: int = 64  # of the whole run
    gen_max: int = 4096  # `max` of one gen
    tokens: int | None = None
    wall_s: float | None = None

    def __new__(cls, *_: Any, **named: Any) -> Self:
        """Say which limits there are where a name is none."""
        known = [item.name for item in fields(cls)]
        unknown = next((name for name in named if name not in known), None)
        if unknown is not None:
            near = "wall_s" if unknown == "wall" else next(iter(get_close_matches(unknown, known)), None)
            hint = f"did you mean {near}?" if near else f"limits: {', '.join(known)}"
            raise TypeError(f"no limit is named {unknown}: {hint}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for item in fields(self):
            bound = getattr(self, item.name)
            if bound is None and item.default is None:
                continue
            kinds, expected = ((int, float), "a number") if item.name == "wall_s" else ((int,), "an int")
            if type(bound) not in kinds:
                raise TypeError(f"limit {item.name}: got {bound!r:.40}, expected {expected}")
            if not bound > 0:
                raise ValueError(f"limit {item.name}: got {bound}, expected more than 0")

    def capped(self, caps: Limits) -> Limits:
        """These limits, none above the host's."""
        lowest = {item.name: _lower(getattr(self, item.name), getattr(caps, item.name)) for item in fields(self)}
        return Limits(**lowest)  # type: ignore[arg-type]


def _lower(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else min(a, b)


class Steps:
    """Statements, loop rounds and calls of the program, or of one row of a map, with all that they begin."""

    __slots__ = ("_limit", "_taken")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0

    def step(self, count: int = 1) -> int:
        """So many more; how many that makes. Raises E0804."""
        self._taken += count
        if self._taken > self._limit:
            raise ProgramError("E0804", f"more than {self._limit} steps", "does a loop never end?")
        return self._taken


class Counters:
    """What the whole run has used so far."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._branches = 0
        self._rows = 0
        self._tool_calls = 0

    def loop(self, rounds: int) -> None:
        """A loop of so many rounds begins. Raises E0805."""
        if rounds > self._limits.iterations:
            raise ProgramError("E0805", f"a loop of {rounds} rounds; at most {self._limits.iterations} are allowed")

    def branch(self, count: int) -> None:
        """A fork of so many branches begins. Raises E0807."""
        self._branches += count
        if self._branches > self._limits.branches:
            most = self._limits.branches
            raise ProgramError("E0807", f"{self._branches} branches in one run; at most {most} are allowed")

    def row(self) -> None:
        """A row of a map begins. Raises E0807."""
        self._rows += 1
        if self._rows > self._limits.rows:
            raise ProgramError("E0807", f"more than {self._limits.rows} rows in the maps of one run")

    def tool_call(self) -> int:
        """A tool is called; how many calls that makes. Raises E0811."""
        self._tool_calls += 1
        if self._tool_calls > self._limits.tool_calls:
            raise ProgramError("E0811", f"more than {self._limits.tool_calls} tool calls in one run")
        return self._tool_calls

    def depth(self, depth: int) -> None:
        """A call at this depth begins. Raises E0806."""
        if depth > self._limits.call_depth:
            raise ProgramError(
                "E0806", f"calls nested deeper than {self._limits.call_depth}", "does a def call itself?"
            )

    def gen_max(self, tokens: int) -> int:
        """`tokens` if a gen may ask for so many. Raises E0401."""
        if tokens <= self._limits.gen_max:
            return tokens
        raise ProgramError("E0401", f"max={tokens}; at most {self._limits.gen_max} tokens are allowed")
