"""Calls of defs, tools and builtins, and comprehensions, of a program that is not run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from frontend_lang.errors import ProgramError
from frontend_lang.explain.abstract import Abstract, Unknown, is_known, known, ready
from frontend_lang.explain.counting import UNKNOWN, TokenCounter
from frontend_lang.explain.expressions import Evaluator
from frontend_lang.explain.functions import Functions
from frontend_lang.explain.items import Items, items_of
from frontend_lang.explain.plan import PlannedSite
from frontend_lang.explain.sketch import Sketch
from frontend_lang.explain.state import Exit, Exits, Landing, Place, State, merged
from frontend_lang.modules import Module
from frontend_lang.running.limits import Limits
from frontend_lang.sources import TextSource
from frontend_lang.syntax import ast
from frontend_lang.types import TypeSystem

RECURSION = "calls itself: unbounded"


@dataclass(frozen=True)
class Called:
    """A def and the module whose names it sees."""

    module: Module
    definition: ast.Def


class Calls(Functions):
    """Each call is walked with its own arguments, in a fresh context."""

    def __init__(self, counter: TokenCounter, data: TextSource) -> None:
        super().__init__(counter, data)
        self._types: dict[Module, TypeSystem] = {}

    def evaluators(self) -> Mapping[type, Evaluator]:
        """Adds calls and comprehensions."""
        return {**super().evaluators(), ast.Call: self.call, ast.Comprehension: self._comprehension}

    def block(self, block: ast.Block, state: State, place: Place) -> Exits:
        """Walk the statements of a block."""
        raise NotImplementedError

    def call(self, node: ast.Call, state: State, place: Place) -> Abstract:
        """The value of a call of a def, a tool or a builtin."""
        called = called_def(node, state, place.module)
        name = node.callee.name if isinstance(node.callee, ast.Name) else ""
        positional = [self.evaluate(item.value, state, place) for item in node.arguments if item.name is None]
        named = {item.name: self.evaluate(item.value, state, place) for item in node.arguments if item.name is not None}
        if called is not None:
            return self.called(called, positional, named, node.site, state, place)
        if name == "invoke" or name in place.module.tools:
            return self._tool(name, [*positional, *named.values()], node, state, place)
        return self.builtin(node, name, positional, named, state)

    def _tool(self, name: str, given: list[Abstract], node: ast.Call, state: State, place: Place) -> Abstract:
        state.wait(max(map(ready, given), default=0))
        if name == "invoke" and given and isinstance(given[0], str):
            name = given[0]
        length = state.sketch.length()
        self.record.row(
            PlannedSite(node.site, f"tool {name}", place.path, length, length, notes=("the host's function",))
        )
        return Unknown(ready=state.clock)

    def called(
        self,
        called: Called,
        positional: list[Abstract],
        named: dict[str, Abstract],
        site: str,
        state: State,
        place: Place,
        inline: bool = False,
    ) -> Abstract:
        """What a def returns; `inline`: it runs in the caller's context, as `use` says."""
        definition = called.definition
        if self._is_endless(called, place):
            length = state.sketch.length()
            with self.record.repeated(UNKNOWN):
                self.record.row(
                    PlannedSite(site, f"call {definition.name}", place.path, length, length, notes=(RECURSION,))
                )
            self.record.unbounded()
            return Unknown(ready=state.clock)
        inner = self._callee_place(called, place, inline)
        arguments = [*positional, *named.values()]
        sketch = state.sketch if inline else Sketch(self.counter.open())
        callee = State(sketch, clock=max([state.clock, *map(ready, arguments)]))
        self._bind(called, positional, named, callee, inner)
        landing = self._alone(definition.body, callee, inner, state, inline)
        if inline:
            state.sketch = landing.state.sketch
        return delayed(landing.value, landing.state.clock)

    def _alone(self, body: ast.Block, callee: State, inner: Place, caller: State, inline: bool) -> Landing:
        """Walk a def's body; what it holds counts as held until its caller ends."""
        with self.record.apart() as peak, self.record.frame():
            exits = self.block(body, callee, inner)
        held = peak[0]
        self.record.peak(caller, held)
        if not inline:
            self.record.hold(held)
        return merged([exits[kind] for kind in (Exit.RETURN, Exit.FALL) if kind in exits], self.size)

    def _is_endless(self, called: Called, place: Place) -> bool:
        """A def that calls itself where a condition is not known, or deeper than a run allows."""
        key = (called.module, called.definition.name)
        if key not in place.active:
            return False
        return self.record.uncertain > place.active[key] or place.depth >= Limits().call_depth or self.record.tired

    def _callee_place(self, called: Called, place: Place, inline: bool) -> Place:
        key = (called.module, called.definition.name)
        active = {**place.active, key: place.active.get(key, self.record.uncertain)}
        defaults = place.defaults if inline else {}
        path = f"{place.path}.{called.definition.name}" if key not in place.active else place.path
        return Place(called.module, path, defaults, active, place.depth + 1)

    def _bind(
        self, called: Called, positional: list[Abstract], named: dict[str, Abstract], callee: State, inner: Place
    ) -> None:
        definition, names = called.definition, [parameter.name for parameter in called.definition.parameters]
        if len(positional) > len(names) or any(name not in names for name in named):
            raise ProgramError(
                "E0307", f"`{definition.name}` takes other arguments", f"{definition.name}({', '.join(names)})"
            )
        given = dict(zip(names, positional, strict=False)) | named
        for parameter in definition.parameters:
            if parameter.name in given:
                value = given[parameter.name]
            elif parameter.default is not None:
                value = self.evaluate(parameter.default, callee, inner)
            else:
                raise ProgramError("E0307", f"`{definition.name}` needs an argument `{parameter.name}`")
            what = f"parameter `{parameter.name}`"
            callee.bind(parameter.name, self.fit(value, parameter.type, what, called.module))

    def types(self, module: Module) -> TypeSystem:
        """The types of a module; made once."""
        if module not in self._types:
            self._types[module] = TypeSystem(module)
        return self._types[module]

    def fit(self, value: Abstract, declared: ast.Type | None, what: str, module: Module) -> Abstract:
        """A known value as one of the type. Raises E0402."""
        if declared is None or not is_known(value) or isinstance(value, Unknown):
            return value
        return cast("Abstract", self.types(module).fit(known(value), declared, what))

    def _comprehension(self, node: ast.Comprehension, state: State, place: Place) -> Abstract:
        items = items_of(self.strict(node.items, state, place), self.size)
        inner = State(state.sketch, outer=state, clock=state.clock)
        if items.each is None or self.record.tired:
            return self._unknown_length(node, items, inner, place)
        found: list[Abstract] = []
        for item in items.each:
            self.record.step()
            inner.bind(node.name, item)
            holds = True if node.condition is None else self.truth(node.condition, inner, place, "`if`")
            if holds is None:
                return self._unknown_length(node, items, inner, place)
            if holds:
                found.append(self.evaluate(node.element, inner, place))
        return found

    def _unknown_length(self, node: ast.Comprehension, items: Items, inner: State, place: Place) -> Abstract:
        """One element stands for all of them; how many there are is not known."""
        inner.bind(node.name, items.any)
        with self.record.repeated(items.count), self.record.maybe():
            if node.condition is not None:
                self.truth(node.condition, inner, place, "`if`")
            element = self.evaluate(node.element, inner, place)
        return Unknown(UNKNOWN, max(inner.clock, ready(element)), element)


def called_def(node: ast.RightSide, state: State, module: Module) -> Called | None:
    """The def that the node calls: `f(x)` of this module, `alias.f(x)` of an import."""
    if not isinstance(node, ast.Call):
        return None
    callee = node.callee
    if isinstance(callee, ast.Name):
        return Called(module, module.defs[callee.name]) if callee.name in module.defs else None
    if (
        isinstance(callee, ast.Attribute)
        and isinstance(callee.value, ast.Name)
        and state.find(callee.value.name) is None
    ):
        other = module.imports.get(callee.value.name)
        if other is not None and callee.name in other.defs:
            return Called(other, other.defs[callee.name])
    return None


def delayed(value: Abstract, clock: int) -> Abstract:
    """The value, none of whose unknown parts is there before `clock`."""
    if isinstance(value, Unknown):
        return value.later(clock)
    if isinstance(value, list):
        return [delayed(item, clock) for item in value]
    if isinstance(value, dict):
        return {key: delayed(item, clock) for key, item in value.items()}
    return value
