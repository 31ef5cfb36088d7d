"""gen and select of a program that is not run."""

from __future__ import annotations

from collections.abc import Iterable

from frontend_lang.errors import ProgramError
from frontend_lang.explain.abstract import Abstract, Unknown, is_known, known, size_of
from frontend_lang.explain.calls import Calls
from frontend_lang.explain.counting import NONE, ONE, UNKNOWN, Tokens, largest
from frontend_lang.explain.plan import PlannedSite, Totals
from frontend_lang.explain.recorder import Begun
from frontend_lang.explain.state import Place, State
from frontend_lang.interpreter.generation import option_texts
from frontend_lang.running.limits import Limits
from frontend_lang.running.options import DEFAULT_TRIES
from frontend_lang.runtime import Choice, GenParams, JsonSchema, Regex
from frontend_lang.syntax import ast
from frontend_lang.types.words import describe


class Asking(Calls):
    """The two statements that ask the model."""

    def options(self, options: Iterable[ast.Option], state: State, place: Place) -> dict[str, Abstract]:
        """Options by name."""
        return {option.name: self.strict(option.value, state, place) for option in options}

    def gen(self, node: ast.Gen, state: State, place: Place) -> None:
        """A row, and the name bound to text of at most `max` tokens."""
        given = {**place.defaults, **self.options(node.options, state, place)}
        most = _bound(given.get("max"), GenParams().max_tokens)
        tries = _tries(node, given)
        begun = self.record.begin(node.site, state, place)
        again = begun.prefix.times(tries - ONE) if tries != ONE else NONE  # each further try sees the same prompt
        self.record.add(Totals(prompt=again, prefill=tries - ONE, decode=most.at_most().times(tries), gens=tries))
        start = max(state.clock, state.sketch.ready)
        end = start + (tries.count or 1)
        self.record.critical(end)
        state.sketch.opaque(most, end)
        state.bind(node.name, Unknown(most.at_most(), end))
        self._keep(node.site, state)
        notes = (self._mask(node, place), _tries_note(node, tries))
        self._row(node, _named("gen", node, given), begun, state, place, most.at_most(), notes)
        if node.until is not None:
            self._until(node.until, tries, state, place)

    def _until(self, until: ast.Expression, tries: Tokens, state: State, place: Place) -> None:
        with self.record.repeated(tries):
            self.strict(until, state, place)

    def _keep(self, site: str, state: State) -> None:
        """After a call KV is there, of all tokens but the last one."""
        state.sketch.compute(site, missing=1)
        self.record.peak(state)

    def _row(
        self,
        node: ast.Gen | ast.Select,
        op: str,
        begun: Begun,
        state: State,
        place: Place,
        new: Tokens,
        notes: tuple[str, ...],
    ) -> None:
        shared = (begun.prefill, begun.shared_with, begun.shared)
        self.record.row(PlannedSite(node.site, op, place.path, begun.prefix, begun.prefix, new, notes, *shared))

    def _mask(self, node: ast.Gen, place: Place) -> str:
        """What constrains the text of a typed gen."""
        if node.type is None:
            return ""
        match self.types(place.module).gen_type(node.type).constraint:
            case Regex(pattern):
                return f"mask: {pattern}"
            case Choice(options):
                return f"mask: one of {len(options)} texts"
            case JsonSchema():
                return "mask: JSON schema"
            case _:
                return ""

    def select(self, node: ast.Select, state: State, place: Place) -> None:
        """A row, and the name bound to one of the options."""
        candidates = self.strict(node.candidates, state, place)
        self.options(node.options, state, place)
        if not is_known(candidates):
            return self._select_unknown(node, candidates, state, place)
        options = option_texts(known(candidates))
        begun = self.record.begin(node.site, state, place)
        scoring = Tokens(state.sketch.counter.copy().score(options)) + state.sketch.beyond.total - begun.prefix
        self.record.add(Totals(prompt=scoring, prefill=scoring.at_most()))
        ready = max(state.clock, state.sketch.ready)
        self._keep(node.site, state)
        state.sketch.option(options, ready)
        most = largest([size_of(option, self.size) for option in options]).at_most()
        state.bind(node.name, options[0] if len(set(options)) == 1 else Unknown(most, ready))
        state.selected[node.name] = tuple(dict.fromkeys(options))
        notes = (f"{len(options)} options, scored as one batch",)
        self._row(node, f"select {node.name}", begun, state, place, most, notes)
        return None

    def _select_unknown(self, node: ast.Select, candidates: Abstract, state: State, place: Place) -> None:
        begun = self.record.begin(node.site, state, place)
        most = UNKNOWN
        if isinstance(candidates, list):
            most = largest([size_of(candidate, self.size) for candidate in candidates]).at_most()
        self.record.add(Totals(prompt=UNKNOWN, prefill=UNKNOWN))
        ready = max(state.clock, state.sketch.ready)
        self._keep(node.site, state)
        state.sketch.opaque(most, ready)
        state.bind(node.name, Unknown(most, ready))
        self._row(node, f"select {node.name}", begun, state, place, most, ("options not known",))


def _bound(value: Abstract, default: int) -> Tokens:
    """A whole number that an option gives; what is not known is bounded by the run's limit only."""
    if value is None:
        return Tokens(default)
    if isinstance(value, int):
        return Tokens(value)
    if isinstance(value, Unknown):
        return Tokens(Limits().gen_max).at_most()
    raise ProgramError("E0402", "the option needs an int")


def _tries(node: ast.Gen, given: dict[str, Abstract]) -> Tokens:
    """Only a condition or a type can reject a text."""
    if node.until is None and (node.type is None or given.get("tries") is None):
        return ONE
    return _bound(given.get("tries"), DEFAULT_TRIES).at_most()


def _named(op: str, node: ast.Gen, given: dict[str, Abstract]) -> str:
    shown = given.get("max")
    most = f" max={shown}" if isinstance(shown, int) else ""
    declared = "" if node.type is None else f": {describe(node.type)}"
    return f"{op} {node.name}{declared}{most}"


def _tries_note(node: ast.Gen, tries: Tokens) -> str:
    if node.until is not None:
        return f"until: {tries.at_most()} tries"
    return "" if tries == ONE else f"{tries} tries"
