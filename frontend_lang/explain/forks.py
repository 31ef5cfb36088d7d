"""fork and map of a program that is not run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from frontend_lang.errors import ProgramError
from frontend_lang.explain.abstract import Abstract, Unknown, either, is_known, pieces_of, ready, text_from
from frontend_lang.explain.asking import Asking
from frontend_lang.explain.calls import Called
from frontend_lang.explain.counting import NONE, ONE, UNKNOWN, Tokens, total
from frontend_lang.explain.expressions import Evaluator
from frontend_lang.explain.items import items_of
from frontend_lang.explain.plan import PlannedSite, Totals
from frontend_lang.explain.sketch import Sketch, longest
from frontend_lang.explain.state import Exit, Landing, Place, State, merged
from frontend_lang.running.options import DEFAULT_WIDTH, FORK_OPTIONS, MAP_OPTIONS
from frontend_lang.syntax import ast

WINNERS = frozenset({"first", "best", "vote"})


@dataclass(frozen=True)
class Branches:
    """Branches that are alike in what is known of them: `count` of them, whose path ends in `label`."""

    body: ast.Block
    names: Mapping[str, Abstract]
    label: str
    count: Tokens = ONE


@dataclass(frozen=True)
class Ended:
    """What a branch came to: its value, its state, and what it held at most."""

    branches: Branches
    landing: Landing
    peak: Tokens


class Forks(Asking):
    """Branches that differ in nothing known are walked once."""

    def evaluators(self) -> Mapping[type, Evaluator]:
        """Adds forks and maps, which are expressions too."""
        return {
            **super().evaluators(),
            ast.CountFork: self._count_fork,
            ast.EachFork: self._each_fork,
            ast.ArmsFork: self._arms_fork,
            ast.Map: self._map,
        }

    def _count_fork(self, node: ast.CountFork, state: State, place: Place) -> Abstract:
        count = self.strict(node.count, state, place)
        if is_known(count) and (type(count) is not int or count < 0):
            raise ProgramError("E0402", "`fork` needs a count or a list in `fork x in …`")
        given = self.options(node.options, state, place)
        number = Tokens(count) if type(count) is int else UNKNOWN
        if node.index is not None and type(count) is int and not self.record.tired:
            each = [Branches(node.body, {node.index: index}, _label(count)) for index in range(count)]
            return self._fork(node, each, given, state, place)
        names: dict[str, Abstract] = {} if node.index is None else {node.index: self.number(state.clock)}
        alike = [] if number == NONE else [Branches(node.body, names, _label(number.count), number)]
        return self._fork(node, alike, given, state, place)

    def _each_fork(self, node: ast.EachFork, state: State, place: Place) -> Abstract:
        items = items_of(self.strict(node.items, state, place), self.size)
        given = self.options(node.options, state, place)
        return self._fork(node, self._over(node, items.each, items.any, items.count, state), given, state, place)

    def _over(
        self, node: ast.EachFork | ast.Map, each: list[Abstract] | None, item: Abstract, count: Tokens, state: State
    ) -> list[Branches]:
        """A branch per item, or one for all where there is no telling them apart."""
        if each is not None and not self.record.tired:
            return [
                Branches(node.body, _names(node, value, index), _label(len(each))) for index, value in enumerate(each)
            ]
        return [Branches(node.body, _names(node, item, self.number(state.clock)), "i", count)]

    def _arms_fork(self, node: ast.ArmsFork, state: State, place: Place) -> Abstract:
        arms = [Branches(arm.body, {}, arm.name) for arm in node.arms]
        return self._fork(node, arms, {}, state, place)

    def _fork(
        self, node: ast.Fork, branches: Sequence[Branches], given: Mapping[str, Abstract], state: State, place: Place
    ) -> Abstract:
        count = total([each.count for each in branches])
        if count == NONE:
            return self._joined(node, [], state, place)
        begun = self.record.begin(node.site, state, place)
        state.sketch.compute(node.site)
        self.record.add(Totals(branches=count))
        self._fork_row(node, branches, count, given, begun.prefix, state, place)
        inner = replace(place, defaults={**place.defaults, **_gen_defaults(given, FORK_OPTIONS)})
        key = node.join.by if node.join.policy in ("best", "vote") else None
        start = max(state.clock, state.sketch.ready)
        ended = [
            self._branch(each, key, State(state.sketch.branch(), dict(each.names), outer=state, clock=start), inner)
            for each in branches
        ]
        self.record.peak(state, _together(ended, given))
        return self._joined(node, ended, state, place)

    def _fork_row(
        self,
        node: ast.Fork,
        branches: Sequence[Branches],
        count: Tokens,
        given: Mapping[str, Abstract],
        prefix: Tokens,
        state: State,
        place: Place,
    ) -> None:
        path = place.path + _span(node, branches, count)
        temp = f" (temp {given['temp']})" if isinstance(given.get("temp"), (int, float)) else ""
        self.record.row(
            PlannedSite(
                node.site,
                f"fork ×{count}{temp}",
                path,
                prefix,
                prefix,
                notes=(_width_note(given, count),),
                branches=count,
            )
        )

    def _branch(self, branches: Branches, key: ast.Expression | None, state: State, place: Place) -> Ended:
        inner = replace(place, path=f"{place.path}[{branches.label}]")
        with self.record.repeated(branches.count), self.record.apart() as peak, self.record.frame():
            exits = self.block(branches.body, state, inner)
            landings = [_valued(kind, exits[kind], self) for kind in (Exit.YIELD, Exit.FALL) if kind in exits]
            landing = merged(landings, self.size) if landings else Landing(state, Unknown())
            if key is not None:
                self.strict(key, landing.state, inner)
        return Ended(branches, landing, peak[0])

    def _joined(self, node: ast.Fork, ended: Sequence[Ended], state: State, place: Place) -> Abstract:
        join = node.join
        value = self._join_value(node, ended, state, place)
        notes: list[str] = []
        if join.policy in WINNERS:
            notes.append("cancels when decided" if join.policy in ("first", "vote") else "losers are released")
            if join.keep and ended:
                notes.append("adopts winner")
                self._adopt([each.landing.state.sketch for each in ended], state)
        elif join.keep:
            state.sketch.add(_kept(value))
            notes.append("appends the values")
        if not join.implicit or join.keep:
            length = state.sketch.length()
            self.record.row(
                PlannedSite(node.site, f"join {join.policy}", place.path, length, length, notes=tuple(notes))
            )
        return value

    def _adopt(self, children: Sequence[Sketch], state: State) -> None:
        parent, winner = state.sketch, longest(children)
        if len(children) > 1:
            winner.beyond = winner.beyond.more(NONE.at_most())
        own = parent.beyond.own + winner.beyond.own
        state.sketch = replace(
            winner,
            inherited=parent.inherited,
            beyond=replace(winner.beyond, own=own),
            written=[*parent.written, *winner.written],
        )

    def _join_value(self, node: ast.Fork, ended: Sequence[Ended], state: State, place: Place) -> Abstract:
        values = [each.landing.value for each in ended]
        if node.join.policy in WINNERS:
            if not ended:
                raise ProgramError("E0605", f"`join {node.join.policy}` of a fork without branches")
            one = either(values, self.size)
            return one.later(max(map(ready, values))) if isinstance(one, Unknown) else one
        together = self._gathered(node, ended)
        if node.join.policy == "concat":
            separator: Abstract = "" if node.join.by is None else self.strict(node.join.by, state, place)
            return (
                self.concatenated(together, separator) if isinstance(together, list) else Unknown(ready=ready(together))
            )
        if node.join.policy == "all":
            return together
        definition = place.module.defs.get(node.join.policy)
        if definition is None:
            raise ProgramError("E0304", f"`join {node.join.policy}`: no policy and no def has this name")
        return self.called(Called(place.module, definition), [together], {}, f"{node.site}.join", state, place)

    def _gathered(self, node: ast.Fork | ast.Map, ended: Sequence[Ended]) -> Abstract:
        """The values of all branches, in order."""
        if isinstance(node, ast.ArmsFork):
            return {each.branches.label: each.landing.value for each in ended}
        values: list[Abstract] = []
        for each in ended:
            if each.branches.count.count is None:
                return Unknown(ready=ready(each.landing.value), item=each.landing.value)
            values += [each.landing.value] * each.branches.count.count
        return values

    def _map(self, node: ast.Map, state: State, place: Place) -> Abstract:
        items = items_of(self.strict(node.items, state, place), self.size)
        given = self.options(node.options, state, place)
        branches = self._over(node, items.each, items.any, items.count, state)
        self.record.add(Totals(branches=items.count))
        path = place.path + _span(node, branches, items.count)
        notes = ("a fresh context each", _width_note(given, items.count))
        self.record.row(PlannedSite(node.site, f"map ×{items.count}", path, NONE, NONE, notes=notes))
        inner = replace(place, defaults={**place.defaults, **_gen_defaults(given, MAP_OPTIONS)})
        ended = [self._row_of_map(each, state, inner) for each in branches]
        self.record.peak(state, _together(ended, given))
        return self._gathered(node, ended)

    def _row_of_map(self, branches: Branches, state: State, place: Place) -> Ended:
        fresh = State(Sketch(self.counter.open()), dict(branches.names), outer=state, clock=state.clock)
        return self._branch(branches, None, fresh, place)


def _valued(kind: Exit, landing: Landing, machine: Forks) -> Landing:
    """A branch that yields nothing is worth the text that it has appended."""
    if kind is Exit.YIELD:
        return landing
    return Landing(landing.state, text_from(landing.state.sketch.written, machine.size))


def _names(node: ast.EachFork | ast.Map, value: Abstract, index: Abstract) -> dict[str, Abstract]:
    return {node.name: value} if node.index is None else {node.name: value, node.index: index}


def _label(count: int | None) -> str:
    return "0" if count == 1 else "i"


def _span(node: ast.Fork | ast.Map, branches: Sequence[Branches], count: Tokens) -> str:
    if isinstance(node, ast.ArmsFork):
        return f"[{'|'.join(each.label for each in branches)}]"
    if count.count is None:
        return "[i]"
    return "[0]" if count.count <= 1 else f"[0..{count.count - 1}]"


def _gen_defaults(given: Mapping[str, Abstract], own: frozenset[str]) -> dict[str, Abstract]:
    return {name: value for name, value in given.items() if name not in own}


def _width_note(given: Mapping[str, Abstract], count: Tokens) -> str:
    width = given.get("width", DEFAULT_WIDTH)
    if isinstance(width, int) and (count.count is None or count.count > width):
        return f"{width} at once"
    return ""


def _together(ended: Sequence[Ended], given: Mapping[str, Abstract]) -> Tokens:
    """What the branches hold that are live at once: the largest `width` of them."""
    width = given.get("width", DEFAULT_WIDTH)
    room = width if isinstance(width, int) else DEFAULT_WIDTH
    held = NONE
    for each in sorted(ended, key=lambda item: -(item.peak.count or 0)):
        live = room if each.branches.count.count is None else min(room, each.branches.count.count)
        held += each.peak.times(Tokens(live))
        room -= live
    return held


def _kept(value: Abstract) -> list[str | Unknown]:
    """What `keep` appends: the values of a list or record one after the other, anything else as it is."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [piece for item in value if item is not None for piece in pieces_of(item)]
    return pieces_of(value)
