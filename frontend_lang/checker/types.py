"""Types as they are written: names, bounds, patterns, schemas, and that what a gen declares can be generated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from frontend_lang.checker.report import Report
from frontend_lang.errors import ProgramError
from frontend_lang.grammars import ConstraintRefused, Grammar
from frontend_lang.modules import Module
from frontend_lang.runtime import JsonSchema, Regex
from frontend_lang.syntax import ast
from frontend_lang.types import TypeSystem
from frontend_lang.types.names import BUILTIN_TYPES

_OPENING = len("re'")


def check_types(module: Module, report: Report) -> None:
    """Report E0302, E0303, E0309, E0401, E0403 and E0504 to E0507 about types and patterns.

    Each constraint is compiled here, so that a run cannot fail for one that cannot be.
    """
    checks = _Types(module, report)
    nodes = list(ast.walk(module.program))
    for node in nodes:
        checks.look_at(node)
    if not checks.failed:  # else a gen of the type would say the same again
        for node in nodes:
            if isinstance(node, ast.Gen) and node.type is not None:
                checks.generated(node.type)


class _Types:
    def __init__(self, module: Module, report: Report) -> None:
        self.failed = False
        self._module = module
        self._types = TypeSystem(module)
        self._report = report
        self._handlers: Mapping[type, Callable[[Any], object]] = {
            ast.TypeDefinition: self._definition,
            ast.NamedType: self._named,
            ast.GenericType: self._generic,
            ast.BoundedType: self._bounded,
            ast.RecordType: self._record,
            ast.RegexType: self._pattern,
            ast.Regex: self._pattern,
            ast.Call: self._call,
        }

    def look_at(self, node: ast.Node) -> None:
        """Report what is wrong with one node."""
        handler = self._handlers.get(type(node))
        if handler is not None:
            self._reporting(node.span, lambda: handler(node))

    def generated(self, declared: ast.Type) -> None:
        """Report why values of the type cannot be generated."""
        self._reporting(declared.span, lambda: self._types.gen_type(declared), at_node=True)

    def _reporting(self, span: ast.Span, action: Callable[[], object], *, at_node: bool = False) -> None:
        try:
            action()
        except ProgramError as error:
            self.failed = True
            if error.code in ("E0507", "E0703") and not at_node:  # reported where they are defined and linked
                return
            place = error.span if isinstance(error.span, ast.Span) and not at_node else span
            self._add(error.code, place, error.message, error.hint)

    def _add(self, code: str, span: ast.Span, message: str, hint: str | None) -> None:
        self.failed = True
        self._report.add(code, span, message, hint)

    def _definition(self, node: ast.TypeDefinition) -> None:
        if node.name in BUILTIN_TYPES:
            self._add("E0302", node.name_span, f"`{node.name}` is a type of the language", "choose another name")
        if node.name in self._types.names.circular:
            hint = "make a field optional (`next?: T`), or use list[T] or `T | none`"
            self._add("E0507", node.name_span, f"type `{node.name}` contains itself without an end", hint)

    def _named(self, node: ast.NamedType) -> None:
        if "." not in node.name:
            self._types.names.defined(node)
        elif not self._is_exported(*node.name.split(".", 1)):  # reported where imports are looked at
            self.failed = True

    def _is_exported(self, alias: str, name: str) -> bool:
        module = self._module.imports.get(alias)
        return module is not None and name in module.type_definitions

    def _generic(self, node: ast.GenericType) -> None:
        if node.name != "list":
            raise ProgramError("E0403", f"`{node.name}` takes no type in brackets", "list[T] does")

    def _bounded(self, node: ast.BoundedType) -> None:
        bounds = self._types.names.bounds(node)
        if bounds.file is not None:
            _compile_file(self._types.names.bounds(node).file or "", self._types.names.schema(node))

    def _record(self, node: ast.RecordType) -> None:
        seen: set[str] = set()
        for item in node.fields:
            if item.name in seen:
                self._add("E0309", item.span, f"the type has two fields `{item.name}`", "remove or rename one")
            seen.add(item.name)

    def _pattern(self, node: ast.RegexType | ast.Regex) -> None:
        try:
            Grammar.of(Regex(node.pattern))
        except ConstraintRefused as error:
            span = node.span if error.position is None else _character(node.span, _OPENING + error.position)
            self._add(error.code, span, error.message, error.hint)

    def _call(self, node: ast.Call) -> None:
        """`matches(text, "…")`: a pattern that is written as text."""
        if not isinstance(node.callee, ast.Name) or node.callee.name != "matches" or "matches" in self._module.defs:
            return
        for index, argument in enumerate(node.arguments):
            written = argument.value.literal if isinstance(argument.value, ast.Template) else None
            if written is not None and (argument.name or ("text", "pattern")[min(index, 1)]) == "pattern":
                self._reporting(argument.value.span, lambda text=written: Grammar.of(Regex(text)))  # type: ignore[misc]


def _character(span: ast.Span, offset: int) -> ast.Span:
    """One character of what stands on one line."""
    column, start = span.col + offset, span.start + offset
    return ast.Span(span.line, column, span.line, column + 1, start, start + 1)


def _compile_file(file: str, schema: str) -> None:
    try:
        Grammar.of(JsonSchema(schema))
    except ProgramError as error:
        raise ProgramError(error.code, f"{file}: {error.message}", error.hint) from None
