"""Expressions of a program that is not run: computed where everything in them is known, else `Unknown`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, cast

from frontend_lang import operators
from frontend_lang.errors import ProgramError
from frontend_lang.explain.abstract import (
    Abstract,
    Piece,
    Unknown,
    either,
    is_known,
    known,
    pieces_of,
    ready,
    text_from,
)
from frontend_lang.explain.counting import TokenCounter, Tokens
from frontend_lang.explain.recorder import Recorder
from frontend_lang.explain.state import Place, State
from frontend_lang.syntax import ast
from frontend_lang.values import Value

Evaluator = Callable[[Any, State, Place], Abstract]
_NUMBER = "-0.1234567890123456"


class Expressions(ABC):
    """One method per class of expression. An Unknown says in its `ready` when a run would have it."""

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self.record = Recorder()
        self._sizes: dict[str, int] = {}
        self._evaluators = self.evaluators()

    def evaluators(self) -> Mapping[type, Evaluator]:
        """Node class -> how its value is found."""
        return {
            ast.Template: self._template,
            ast.Name: lambda node, state, place: state.lookup(node.name),
            ast.Constant: lambda node, state, place: node.value,
            ast.Duration: lambda node, state, place: node.seconds,
            ast.Regex: lambda node, state, place: Unknown(),
            ast.Attribute: self._attribute,
            ast.Index: self._index,
            ast.Slice: self._slice,
            ast.Unary: self._unary,
            ast.Binary: self._binary,
            ast.Compare: self._compare,
            ast.Logical: self._logical,
            ast.Conditional: self._conditional,
            ast.ListLiteral: lambda node, state, place: [self.evaluate(item, state, place) for item in node.items],
            ast.RecordLiteral: self._record_literal,
        }

    @abstractmethod
    def call(self, node: ast.Call, state: State, place: Place) -> Abstract:
        """The value of a call."""

    def evaluate(self, node: ast.RightSide, state: State, place: Place) -> Abstract:
        """The value, not waited for. Raises ProgramError where a run would fail for certain."""
        try:
            return self._evaluators[type(node)](node, state, place)
        except ProgramError as error:
            error.at(node.span, place.module.file, place.path)
            raise

    def strict(self, node: ast.RightSide, state: State, place: Place) -> Abstract:
        """The value, waited for."""
        value = self.evaluate(node, state, place)
        state.wait(ready(value))
        return value

    def size(self, text: str) -> int:
        """Tokens of a text by itself."""
        if text not in self._sizes:
            self._sizes[text] = self.counter.count(text) if text else 0
        return self._sizes[text]

    def number(self, at: int) -> Unknown:
        """A number that nobody knows yet."""
        return Unknown(Tokens(self.size(_NUMBER)).about(), at)

    def truth(self, node: ast.Expression, state: State, place: Place, where: str) -> bool | None:
        """A condition's value; None: not known."""
        value = self.strict(node, state, place)
        return operators.truth(known(value), where) if is_known(value) else None

    def pieces(self, node: ast.Expression, state: State, place: Place) -> list[Piece]:
        """An expression as text."""
        if not isinstance(node, ast.Template):
            return pieces_of(self.evaluate(node, state, place))
        found: list[Piece] = []
        for part in node.parts:
            found += [part] if isinstance(part, str) else pieces_of(self.evaluate(part, state, place))
        return found

    def _template(self, node: ast.Template, state: State, place: Place) -> Abstract:
        return text_from(self.pieces(node, state, place), self.size)

    def _attribute(self, node: ast.Attribute, state: State, place: Place) -> Abstract:
        value = self.strict(node.value, state, place)
        if isinstance(value, dict) and node.name in value:
            return value[node.name]
        return (
            self._part_of(value)
            if not is_known(value)
            else cast("Abstract", operators.attribute(known(value), node.name))
        )

    def _part_of(self, value: Abstract) -> Abstract:
        """A part of something that is not known has at most as much text as the whole."""
        return (
            Unknown(value.tokens.at_most(), value.ready) if isinstance(value, Unknown) else Unknown(ready=ready(value))
        )

    def _index(self, node: ast.Index, state: State, place: Place) -> Abstract:
        container, key = self.strict(node.value, state, place), self.strict(node.index, state, place)
        if isinstance(container, list) and container and not is_known(key):
            return either(container, self.size)
        if not is_known(key) or isinstance(container, Unknown):
            return self._part_of(container)
        found = operators.item(cast("Value", container), known(key))
        return cast("Abstract", found)

    def _slice(self, node: ast.Slice, state: State, place: Place) -> Abstract:
        ends = [None if end is None else self.strict(end, state, place) for end in (node.start, node.stop)]
        container = self.strict(node.value, state, place)
        if isinstance(container, Unknown) or not all(map(is_known, ends)):
            return self._part_of(container)
        return cast("Abstract", operators.part(cast("Value", container), *map(known, ends)))

    def _unary(self, node: ast.Unary, state: State, place: Place) -> Abstract:
        value = self.strict(node.operand, state, place)
        if not is_known(value):
            return self.number(state.clock)
        if node.operator == "-":
            return cast("Abstract", operators.negate(known(value)))
        return not operators.truth(known(value), "`not`")

    def _binary(self, node: ast.Binary, state: State, place: Place) -> Abstract:
        left, right = self.strict(node.left, state, place), self.strict(node.right, state, place)
        if is_known(left) and is_known(right):
            return cast("Abstract", operators.binary(node.operator, known(left), known(right)))
        if isinstance(left, list) and isinstance(right, list) and node.operator == "+":
            return left + right
        if node.operator == "+" and (isinstance(left, (str, Unknown)) and isinstance(right, (str, Unknown))):
            return text_from([*pieces_of(left), *pieces_of(right)], self.size)
        return self.number(state.clock)

    def _compare(self, node: ast.Compare, state: State, place: Place) -> Abstract:
        left, right = self.strict(node.left, state, place), self.strict(node.right, state, place)
        if is_known(left) and is_known(right):
            return operators.compare(node.operator, known(left), known(right))
        return Unknown(Tokens(self.size("false")).at_most(), state.clock)

    def _logical(self, node: ast.Logical, state: State, place: Place) -> Abstract:
        where, deciding = f"`{node.operator}`", node.operator == "or"
        left = self.truth(node.left, state, place, where)
        if left is deciding:
            return deciding
        right = self.truth(node.right, state, place, where)
        if (left is None and right is not deciding) or right is None:
            return Unknown(Tokens(self.size("false")).at_most(), state.clock)
        return right

    def _conditional(self, node: ast.Conditional, state: State, place: Place) -> Abstract:
        holds = self.truth(node.condition, state, place, "`if`")
        if holds is not None:
            return self.evaluate(node.value if holds else node.otherwise, state, place)
        sides = (node.value, node.otherwise)
        values = self.record.one_of([lambda side=side: self.evaluate(side, state, place) for side in sides])  # type: ignore[misc]
        return either(values, self.size)

    def _record_literal(self, node: ast.RecordLiteral, state: State, place: Place) -> Abstract:
        record: dict[str, Abstract] = {}
        for entry in node.fields:
            key = self.evaluate(entry.key, state, place)
            record[key if isinstance(key, str) else "?"] = self.evaluate(entry.value, state, place)
        return record
