"""Values that are written out and can be judged without a run: by the very functions that a run judges them with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frontend_lang.checker.lengths import written_length
from frontend_lang.checker.options import literal_value
from frontend_lang.checker.report import Report
from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.generation import option_texts
from frontend_lang.modules import Module
from frontend_lang.operators import binary, compare, negate, truth
from frontend_lang.running.limits import Limits
from frontend_lang.syntax import ast
from frontend_lang.types import TypeSystem
from frontend_lang.values import Value, type_name

# Reported where the type is written.
_OF_TYPES = ("E0303", "E0309", "E0401", "E0403", "E0504", "E0505", "E0506", "E0507", "E0703")
_ROUNDS, _BRANCHES = "rounds of one loop", "branches of a run"


def check_literals(module: Module, report: Report) -> None:
    """Report E0309, E0402, E0407, E0503 and E0607 about values that are written out."""
    checks = _Literals(module, report)
    for node in ast.walk(module.program):
        check = checks.handlers.get(type(node))
        if check is not None:
            check(node)


class _Literals:
    def __init__(self, module: Module, report: Report) -> None:
        self._types = TypeSystem(module)
        self._defs = module.defs
        self._report = report
        self.handlers: dict[type, Callable[[Any], None]] = {
            ast.Let: lambda node: self._fits(node.value, node.type, f"`{node.name}`"),
            ast.Param: lambda node: self._fits(node.default, node.type, f"parameter `{node.name}`"),
            ast.Parameter: lambda node: self._fits(node.default, node.type, f"parameter `{node.name}`"),
            ast.IfClause: lambda node: self._judge(node.condition, lambda value: truth(value, "`if`")),
            ast.Gen: lambda node: self._judge(node.until, lambda value: truth(value, "`until`")),
            ast.Guard: lambda node: self._judge(node.condition, lambda value: truth(value, f"`{node.kind}`")),
            ast.For: lambda node: self._items(node.items, "`for`", Limits().iterations, _ROUNDS),
            ast.EachFork: lambda node: self._items(node.items, "`fork … in`", Limits().branches, _BRANCHES),
            ast.Map: lambda node: self._judge(node.items, lambda value: _list(value, "`map … in`")),
            ast.Comprehension: lambda node: self._judge(node.items, lambda value: _list(value, "a comprehension")),
            ast.Repeat: lambda node: self._judge(node.count, _rounds),
            ast.CountFork: lambda node: self._judge(node.count, _branches),
            ast.Def: self._returns,
            ast.Call: self._arguments,
            ast.Select: self._select,
            ast.Binary: self._binary,
            ast.Compare: self._compare,
            ast.Unary: self._unary,
            ast.Logical: self._logical,
            ast.RecordLiteral: self._record,
        }

    def _judge(self, node: ast.Node | None, judge: Callable[[Value], object]) -> None:
        """Report what `judge` raises about the value of the node, if that is written out."""
        if not isinstance(node, ast.Expression) or not _is_written(node):
            return
        try:
            judge(literal_value(node))
        except ProgramError as error:
            if error.code not in _OF_TYPES:
                self._report.add(error.code, node.span, error.message, error.hint)

    def _items(self, node: ast.Expression, what: str, most: int, counted: str) -> None:
        """A list that is gone through, if it is written out, as `range(…)` too."""
        self._judge(node, lambda value: _list(value, what))
        exact = isinstance(node, ast.ListLiteral) or (isinstance(node, ast.Call) and "range" not in self._defs)
        count = written_length(node) if exact else None
        if count is not None and count > most:
            self._report.add("E0503", node.span, *_too_many(count, most, counted))

    def _fits(self, node: ast.Node | None, declared: ast.Type | None, what: str) -> None:
        self._judge(node, lambda value: self._types.fit(value, declared, what))

    def _returns(self, node: ast.Def) -> None:
        for inner in ast.walk(node.body):
            if isinstance(inner, ast.Return):
                self._fits(inner.value, node.returns, f"what `{node.name}` returns")

    def _arguments(self, node: ast.Call) -> None:
        """What a def of this module is called with."""
        called = self._defs.get(node.callee.name) if isinstance(node.callee, ast.Name) else None
        parameters = called.parameters if called else ()
        named = {parameter.name: parameter for parameter in parameters}
        for index, argument in enumerate(node.arguments):
            parameter = named.get(argument.name) if argument.name else (*parameters[index : index + 1], None)[0]
            if parameter is not None:
                self._fits(argument.value, parameter.type, f"parameter `{parameter.name}`")

    def _select(self, node: ast.Select) -> None:
        self._judge(node.candidates, option_texts)
        if isinstance(node.candidates, ast.ListLiteral) and not _is_written(node.candidates):
            for item in node.candidates.items:
                self._judge(item, lambda value: option_texts([value]))

    def _unary(self, node: ast.Unary) -> None:
        self._judge(node.operand, negate if node.operator == "-" else lambda value: truth(value, "`not`"))

    def _logical(self, node: ast.Logical) -> None:
        for side in (node.left, node.right):
            self._judge(side, lambda value: truth(value, f"`{node.operator}`"))

    def _compare(self, node: ast.Compare) -> None:
        self._judge_both(node, lambda left, right: compare(node.operator, left, right))

    def _judge_both(self, node: ast.Binary | ast.Compare, judge: Callable[[Value, Value], object]) -> None:
        """Report at the node what `judge` raises about both sides, if both are written out."""
        if _is_written(node.left) and _is_written(node.right):
            try:
                judge(literal_value(node.left), literal_value(node.right))
            except ProgramError as error:
                if error.code == "E0402":
                    self._report.add(error.code, node.span, error.message, error.hint)

    def _binary(self, node: ast.Binary) -> None:
        self._judge_both(node, lambda left, right: binary(node.operator, left, right))
        if node.operator in ("/", "//", "%") and isinstance(node.right, ast.Constant) and node.right.value == 0:
            self._report.add("E0407", node.right.span, f"`{node.operator}` by zero", None)

    def _record(self, node: ast.RecordLiteral) -> None:
        seen: set[str] = set()
        for item in node.fields:
            key = item.key.literal
            if key is None:
                continue
            if key in seen:
                self._report.add("E0309", item.key.span, f"the record has two fields `{key}`", "remove or rename one")
            seen.add(key)


def _is_written(node: ast.Expression) -> bool:
    """Whether `literal_value` is the value of the node and not just None for "unknown"."""
    if isinstance(node, ast.ListLiteral):
        return all(map(_is_written, node.items)) and (literal_value(node) is not None)
    return literal_value(node) is not None or (isinstance(node, ast.Constant) and node.value is None)


def _list(value: Value, what: str) -> None:
    if not isinstance(value, list):
        raise ProgramError("E0402", f"{what} needs a list, found {type_name(value)}", _list_hint(value))


def _list_hint(value: Value) -> str | None:
    return f"count with range({value})" if type(value) is int else None


def _rounds(value: Value) -> None:
    if type(value) is not int or value < 0:
        raise ProgramError("E0402", "`repeat` needs an int that is not negative", "repeat 3 { … }")
    _within(value, Limits().iterations, _ROUNDS)


def _branches(value: Value) -> None:
    if type(value) is not int or value < 0:
        raise ProgramError("E0402", "`fork` needs an int that is not negative", "fork 3 { … }")
    _within(value, Limits().branches, _BRANCHES)


def _within(count: int, most: int, counted: str) -> None:
    if count > most:
        raise ProgramError("E0503", *_too_many(count, most, counted))


def _too_many(count: int, most: int, counted: str) -> tuple[str, str]:
    """Message and hint."""
    return f"{count} {counted}; at most {most} are allowed", "use a smaller number"
