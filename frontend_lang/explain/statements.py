"""Statements of a program that is not run. A condition that is not known takes both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.explain.abstract import Abstract, Unknown, is_known, known
from frontend_lang.explain.calls import called_def
from frontend_lang.explain.counting import UNKNOWN, TokenCounter, Tokens
from frontend_lang.explain.forks import Forks
from frontend_lang.explain.items import items_of
from frontend_lang.explain.state import Exit, Exits, Landing, Place, State, merged, merged_exits
from frontend_lang.runtime import Role, RuntimeFailure
from frontend_lang.sources import TextSource
from frontend_lang.syntax import ast
from frontend_lang.values import text_of

Walker = Callable[[Any, State, Place], Exits]
_WRITES = (ast.TextStatement, ast.RoleStatement, ast.Gen, ast.Select, ast.Use)
_MAY_FAIL = (ast.Gen, ast.Select, ast.Call, ast.Emit, ast.Guard)
_NAMES = (ast.Let, ast.Assign, ast.Gen, ast.Select)


class Statements(Forks):
    """One method per class of statement; each gives the ways in which it ends."""

    def __init__(self, counter: TokenCounter, data: TextSource) -> None:
        super().__init__(counter, data)
        self._walkers: Mapping[type, Walker] = {
            ast.Let: self._let,
            ast.Assign: self._assign,
            ast.Evaluate: _then(lambda node, state, place: self.evaluate(node.expression, state, place)),
            ast.TextStatement: _then(self._text),
            ast.RoleStatement: self._role,
            ast.Gen: _then(self.gen),
            ast.Select: _then(self.select),
            ast.Use: _then(self._use),
            ast.If: self._if,
            ast.For: self._for,
            ast.Repeat: self._repeat,
            ast.Break: lambda node, state, place: {Exit.BREAK: Landing(state)},
            ast.Continue: lambda node, state, place: {Exit.CONTINUE: Landing(state)},
            ast.Return: self._return,
            ast.Yield: self._yield,
            ast.Guard: _then(self._guard),
            ast.Emit: self._emit,
            ast.Try: self._try,
            **dict.fromkeys((ast.CountFork, ast.EachFork, ast.ArmsFork, ast.Map), _then(self.evaluate)),
        }

    def block(self, block: ast.Block, state: State, place: Place) -> Exits:
        """Walk a block; what `set` sets holds until its end."""
        return self.statements(block.statements, state, place)

    def statements(self, statements: Iterable[ast.Statement], state: State, place: Place) -> Exits:
        """Walk statements in order; all ways in which they end."""
        ways: list[Exits] = []
        for statement in statements:
            if isinstance(statement, ast.Set):
                place = replace(place, defaults={**place.defaults, **self.options(statement.options, state, place)})
                continue
            exits = self._statement(statement, state, place)
            ways.append({kind: landing for kind, landing in exits.items() if kind is not Exit.FALL})
            if Exit.FALL not in exits:
                return merged_exits(ways, self.size)
            state = exits[Exit.FALL].state
        return merged_exits([*ways, {Exit.FALL: Landing(state)}], self.size)

    def _statement(self, node: ast.Statement, state: State, place: Place) -> Exits:
        self.record.step()
        walk = self._walkers.get(type(node))
        if walk is None:  # declarations
            return {Exit.FALL: Landing(state)}
        try:
            return walk(node, state, place)
        except ProgramError as error:
            error.at(node.span, place.module.file, place.path)
            raise
        except RuntimeFailure as failure:
            raise ProgramError(failure.code, failure.message).at(node.span, place.module.file, place.path) from failure

    def _let(self, node: ast.Let, state: State, place: Place) -> Exits:
        value = self.evaluate(node.value, state, place)
        state.bind(node.name, self.fit(value, node.type, f"`{node.name}`", place.module))
        return {Exit.FALL: Landing(state)}

    def _assign(self, node: ast.Assign, state: State, place: Place) -> Exits:
        if node.name not in state.names:
            raise ProgramError("E0312" if state.find(node.name) else "E0305", f"`{node.name}` cannot be assigned here")
        state.bind(node.name, self.evaluate(node.value, state, place))
        return {Exit.FALL: Landing(state)}

    def _text(self, node: ast.TextStatement, state: State, place: Place) -> None:
        state.sketch.add([*self.pieces(node.value, state, place), "\n" if node.newline else ""])

    def _role(self, node: ast.RoleStatement, state: State, place: Place) -> Exits:
        state.sketch.open_role(Role(node.role))
        exits: Exits = {Exit.FALL: Landing(state)}
        if isinstance(node.body, ast.Block):
            exits = self.block(node.body, state, place)
        elif isinstance(node.body, (ast.Gen, ast.Select)):
            exits = self._statement(node.body, state, place)
        else:
            state.sketch.add(self.pieces(node.body, state, place))
        for landing in {id(landing.state): landing for landing in exits.values()}.values():
            landing.state.sketch.close_role()
        return exits

    def _use(self, node: ast.Use, state: State, place: Place) -> None:
        called = called_def(node.call, state, place.module)
        if called is None or not isinstance(node.call, ast.Call):
            raise ProgramError("E0304", "`use` needs a call of a def", "use f(x)")
        given = node.call.arguments
        positional = [self.evaluate(item.value, state, place) for item in given if item.name is None]
        named = {item.name: self.evaluate(item.value, state, place) for item in given if item.name is not None}
        self.called(called, positional, named, node.call.site, state, place, inline=True)

    def _if(self, node: ast.If, state: State, place: Place) -> Exits:
        return self._clauses(node.clauses, node.otherwise, state, place)

    def _clauses(
        self, clauses: Sequence[ast.IfClause], otherwise: ast.Block | None, state: State, place: Place
    ) -> Exits:
        if not clauses:
            return {Exit.FALL: Landing(state)} if otherwise is None else self.block(otherwise, state, place)
        first, *others = clauses
        holds = self.truth(first.condition, state, place, "`if`")
        if holds is not None:
            return self.block(first.body, state, place) if holds else self._clauses(others, otherwise, state, place)
        ways = self.record.one_of(
            [
                lambda: self.block(first.body, state.copy(), place),
                lambda: self._clauses(others, otherwise, state.copy(), place),
            ]
        )
        return merged_exits(ways, self.size)

    def _for(self, node: ast.For, state: State, place: Place) -> Exits:
        items = items_of(self.strict(node.items, state, place), self.size)
        names = [(node.name, items.any), *([] if node.index is None else [(node.index, self.number(state.clock))])]
        if items.each is None or self.record.tired:
            return self._endless(node.body, names, items.count, state, place)
        rounds = [
            [(node.name, item), *([] if node.index is None else [(node.index, at)])]
            for at, item in enumerate(items.each)
        ]
        return self._rounds(node.body, rounds, state, place)

    def _repeat(self, node: ast.Repeat, state: State, place: Place) -> Exits:
        count = self.strict(node.count, state, place)
        if type(count) is int and count >= 0 and not self.record.tired:
            return self._rounds(node.body, [[]] * count, state, place)
        if is_known(count) and (type(count) is not int or count < 0):
            raise ProgramError("E0402", "`repeat` needs an int that is not negative")
        return self._endless(node.body, [], Tokens(count) if type(count) is int else UNKNOWN, state, place)

    def _rounds(
        self, body: ast.Block, rounds: Sequence[Sequence[tuple[str, Abstract]]], state: State, place: Place
    ) -> Exits:
        """Every round is walked; after one that may break, the next may not happen."""
        ways: list[Exits] = []
        doubts = 0
        try:
            for names in rounds:
                for name, value in names:
                    state.bind(name, value)
                exits = self.block(body, state, place)
                ways.append(_after_loop(exits))
                going = [exits[kind] for kind in (Exit.FALL, Exit.CONTINUE) if kind in exits]
                if not going:
                    return merged_exits(ways, self.size)
                if len(exits) > len(going):
                    doubts += 1
                    self.record.uncertain += 1
                state = merged(going, self.size).state
        finally:
            self.record.uncertain -= doubts
        return merged_exits([*ways, {Exit.FALL: Landing(state)}], self.size)

    def _endless(
        self, body: ast.Block, names: Sequence[tuple[str, Abstract]], count: Tokens, state: State, place: Place
    ) -> Exits:
        """One round stands for all: of what a round changes nothing is known."""
        before = state.copy()
        for node in ast.walk(body):
            if isinstance(node, _NAMES) and (node.name in state.names or not isinstance(node, ast.Let)):
                state.bind(node.name, Unknown(ready=state.clock))
        if any(isinstance(node, _WRITES) or (isinstance(node, ast.Join) and node.keep) for node in ast.walk(body)):
            state.sketch.opaque(UNKNOWN, state.clock)
        for name, value in names:
            state.bind(name, value)
        with self.record.repeated(count), self.record.maybe():
            exits = self.block(body, state, place)
        going = [exits[kind] for kind in (Exit.FALL, Exit.CONTINUE) if kind in exits]
        ways = [_after_loop(exits), {Exit.FALL: Landing(before)}, *({Exit.FALL: landing} for landing in going)]
        return merged_exits(ways, self.size)

    def _return(self, node: ast.Return, state: State, place: Place) -> Exits:
        return {Exit.RETURN: Landing(state, self.evaluate(node.value, state, place))}

    def _yield(self, node: ast.Yield, state: State, place: Place) -> Exits:
        return {Exit.YIELD: Landing(state, self.evaluate(node.value, state, place))}

    def _guard(self, node: ast.Guard, state: State, place: Place) -> None:
        holds = self.truth(node.condition, state, place, "a condition")
        if holds is False and node.kind == "assert":
            raise ProgramError("E0604", "the assertion does not hold")

    def _emit(self, node: ast.Emit, state: State, place: Place) -> Exits:
        value = self.strict(node.value, state, place)
        if node.kind == "fail":
            message = text_of(known(value)) if is_known(value) else "the program ends itself with `fail`"
            raise ProgramError("E0610", message)
        return {Exit.FALL: Landing(state)}

    def _try(self, node: ast.Try, state: State, place: Place) -> Exits:
        """The handler may run after any part of the body has."""
        before = state.copy()
        try:
            exits = self.block(node.body, state, place)
        except ProgramError:
            return self._handler(node, before, place)
        if not any(isinstance(inner, _MAY_FAIL) for inner in ast.walk(node.body)):
            return exits
        after = merged([*exits.values(), Landing(before)], self.size).state
        handled = self.record.one_of([Exits, lambda: self._handler(node, after.copy(), place)])
        return merged_exits([exits, *handled], self.size)

    def _handler(self, node: ast.Try, state: State, place: Place) -> Exits:
        unknown = Unknown(ready=state.clock)
        state.bind(node.name, {"code": unknown, "message": unknown, "line": unknown, "col": unknown, "branch": unknown})
        return self.block(node.handler, state, place)


def _then(walk: Callable[[Any, State, Place], object]) -> Walker:
    """A statement after which the next one follows."""

    def walked(node: Any, state: State, place: Place) -> Exits:
        walk(node, state, place)
        return {Exit.FALL: Landing(state)}

    return walked


def _after_loop(exits: Exits) -> Exits:
    """What a round's ways of ending mean for the loop, apart from going on."""
    ways: Exits = {kind: landing for kind, landing in exits.items() if kind in (Exit.RETURN, Exit.YIELD)}
    if Exit.BREAK in exits:
        ways[Exit.FALL] = exits[Exit.BREAK]
    return ways
