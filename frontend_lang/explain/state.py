"""Where a program stands while its plan is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from frontend_lang.errors import ProgramError
from frontend_lang.explain.abstract import Abstract, TextSize, Unknown, either
from frontend_lang.explain.sketch import Sketch, longest
from frontend_lang.modules import Module


class Exit(Enum):
    """How a block ends."""

    FALL = "at its end"
    BREAK = "break"
    CONTINUE = "continue"
    RETURN = "return"
    YIELD = "yield"


@dataclass
class State:
    """Names, context and time of one frame.

    `outer`: the frame around it, which it may read. `selected`: names bound by select, with their options. `clock`:
    gens one after the other that control has waited for.
    """

    sketch: Sketch
    names: dict[str, Abstract] = field(default_factory=dict)
    selected: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outer: State | None = None
    clock: int = 0

    def copy(self) -> State:
        """An independent frame in the same state; the outer one is shared."""
        return replace(self, sketch=self.sketch.copy(), names=dict(self.names), selected=dict(self.selected))

    def find(self, name: str) -> State | None:
        """The innermost frame that has the name."""
        frame: State | None = self
        while frame is not None and name not in frame.names:
            frame = frame.outer
        return frame

    def lookup(self, name: str) -> Abstract:
        """What the name is bound to. Raises E0301."""
        frame = self.find(name)
        if frame is None:
            raise ProgramError("E0301", f"unknown name `{name}`")
        return frame.names[name]

    def bind(self, name: str, value: Abstract) -> None:
        """Declare or rebind a name."""
        self.names[name] = value
        self.selected.pop(name, None)

    def wait(self, until: int) -> None:
        """Control goes on at `until` at the earliest."""
        self.clock = max(self.clock, until)


@dataclass(frozen=True)
class Place:
    """Where a node stands.

    `defaults`: options that `set` and forks gave. `active`: defs that are being called, with how many open conditions
    there were when the call began; `depth`: how many calls deep.
    """

    module: Module
    path: str
    defaults: Mapping[str, Abstract] = field(default_factory=dict)
    active: Mapping[tuple[Module, str], int] = field(default_factory=dict)
    depth: int = 0


@dataclass(frozen=True)
class Landing:
    """The state at an exit, and the value that return or yield carries."""

    state: State
    value: Abstract = None


Exits = dict[Exit, Landing]


def merged(landings: list[Landing], count: TextSize) -> Landing:
    """One of several ways was taken, nobody knows which."""
    if len(landings) == 1:
        return landings[0]
    states = [landing.state for landing in landings]
    names = {
        name: either([state.names.get(name, Unknown()) for state in states], count)
        for name in dict.fromkeys(name for state in states for name in state.names)
    }
    selected = {name: options for name, options in states[0].selected.items() if _agreed(name, options, states)}
    state = State(
        longest([state.sketch for state in states]),
        names,
        selected,
        states[0].outer,
        max(state.clock for state in states),
    )
    return Landing(state, either([landing.value for landing in landings], count))


def _agreed(name: str, options: tuple[str, ...], states: list[State]) -> bool:
    return all(state.selected.get(name) == options for state in states)


def merged_exits(ways: list[Exits], count: TextSize) -> Exits:
    """The exits of several ways."""
    return {
        kind: merged([way[kind] for way in ways if kind in way], count)
        for kind in Exit
        if any(kind in way for way in ways)
    }
