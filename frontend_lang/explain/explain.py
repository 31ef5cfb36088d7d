"""The plan of a program: what a run would do, without a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from frontend_lang.errors import ProgramError
from frontend_lang.explain.abstract import Abstract, Unknown, known
from frontend_lang.explain.counting import TokenCounter
from frontend_lang.explain.plan import Plan
from frontend_lang.explain.sketch import Sketch
from frontend_lang.explain.state import Exits, Place, State
from frontend_lang.explain.statements import Statements
from frontend_lang.interpreter.entry import choose_entry, parameters
from frontend_lang.modules import Module
from frontend_lang.sources import NoSource, TextSource
from frontend_lang.syntax import ast
from frontend_lang.values import type_name

Parameter = ast.Param | ast.Parameter


def explain(
    module: Module,
    args: Mapping[str, object] | None = None,
    *,
    counter: TokenCounter,
    entry: str | None = None,
    data: TextSource | None = None,
) -> Plan:
    """What a run of the program would do: every call of the model with its tokens, and totals.

    Arguments that are missing are fine: what depends on them is not known. Where a run would fail for certain, the
    plan goes up to there and its `warnings` say how. Raises ProgramError: E0306 for the entry, E0307 for an argument
    that nothing takes, E0402 and E0406 for one that does not fit.
    """
    arguments = dict(args or {})
    chosen = choose_entry(module.program, entry)
    taken = parameters(module.program, chosen)
    unknown = [name for name in arguments if name not in {node.name for node in taken}]
    if unknown:
        raise ProgramError("E0307", f"unknown arguments: {', '.join(unknown)}")
    explainer = _Explainer(counter, data or NoSource(), module, arguments)
    return explainer.plan(chosen, taken)


class _Explainer(Statements):
    """Walks the entry of a program."""

    def __init__(
        self, counter: TokenCounter, data: TextSource, module: Module, arguments: Mapping[str, object]
    ) -> None:
        super().__init__(counter, data)
        self._module = module
        self._arguments = arguments

    def plan(self, entry: ast.Def | None, taken: list[Parameter]) -> Plan:
        """Walk it to its end, or to where it fails."""
        place = Place(self._module, "main" if entry is None else entry.name)
        if entry is not None:
            place = Place(self._module, entry.name, active={(self._module, entry.name): 0})
        state = State(Sketch(self.counter.open()))
        for parameter in taken:
            state.bind(parameter.name, self._parameter(parameter, state, place))
        warnings: tuple[str, ...] = ()
        try:
            self._walk(entry, state, place)
        except ProgramError as error:
            line = "" if error.span is None else f" at {error.file}:{error.span.line}"
            warnings = (f"a run would end with {error.code}{line}: {error.message}",)
        missing = tuple(node.name for node in taken if node.default is None and node.name not in self._arguments)
        return Plan(self.record.rows.rows(), self.record.totals.bounds(), missing, warnings)

    def _walk(self, entry: ast.Def | None, state: State, place: Place) -> Exits:
        if entry is None:
            return self.statements(self._module.program.statements, state, place)
        return self.block(entry.body, state, place)

    def _parameter(self, node: Parameter, state: State, place: Place) -> Abstract:
        what = f"parameter `{node.name}`"
        if node.name not in self._arguments:
            if node.default is None:
                return Unknown()
            return self.fit(self.evaluate(node.default, state, place), node.type, what, self._module)
        declared = node.type
        if declared is None and node.default is not None:
            kind = type_name(known(self.evaluate(node.default, state, place)))
            declared = ast.NamedType("json", span=node.span) if kind != "str" else None
        given = self.types(self._module).from_argument(self._arguments[node.name], declared, what)
        return cast("Abstract", given)
