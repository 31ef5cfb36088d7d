"""What the language has and this version has not: E0299, E0403."""

from __future__ import annotations

from collections.abc import Iterator

from frontend_lang.checker.report import Report, span_at, suggestion
from frontend_lang.syntax import ast

TYPE_NAMES = ("str", "int", "float", "bool", "json", "none", "list", "record")

_STATEMENTS: dict[type, tuple[str, str]] = {
    ast.TypeDefinition: ("type", "write the type out where it is used"),
}


def check_built(program: ast.Program, report: Report) -> None:
    """Report constructs and types that this version cannot run."""
    defined = [node.name for node in program.statements if isinstance(node, ast.TypeDefinition)]
    for node in _looked_at(program):
        if type(node) in _STATEMENTS:
            word, instead = _STATEMENTS[type(node)]
            report.add("E0299", span_at(node.span, len(word)), f"`{word}` is not in this version", instead)
        elif isinstance(node, ast.Gen):
            _check_gen(node, report)
        elif isinstance(node, ast.Regex):
            report.add("E0299", node.span, "patterns as values are not in this version", "compare texts")
        else:
            _check_type(node, defined, report)


def _looked_at(program: ast.Program) -> Iterator[ast.Node]:
    """All nodes but what is inside something that is reported whole."""
    pending: list[ast.Node] = [program]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.Gen):
            pending += [*node.options, *([node.until] if node.until else [])]
        elif not isinstance(node, ast.TypeDefinition):
            pending += ast.children(node)


def _check_gen(node: ast.Gen, report: Report) -> None:
    if node.type is not None and not (isinstance(node.type, ast.NamedType) and node.type.name == "str"):
        hint = "gen text and convert it with int(x) or float(x), or select from the possible values"
        report.add("E0299", node.type.span, "typed gen is not in this version", hint)


def _check_type(node: ast.Node, defined: list[str], report: Report) -> None:
    if isinstance(node, (ast.BoundedType, ast.RegexType)):
        report.add("E0299", node.span, "types with bounds or patterns are not in this version", "use the plain type")
    elif isinstance(node, ast.NamedType) and node.name not in (*TYPE_NAMES, *defined):
        report.add("E0403", node.span, f"unknown type `{node.name}`", suggestion(node.name, TYPE_NAMES))
    elif isinstance(node, ast.GenericType) and node.name != "list":
        report.add("E0403", node.span, f"`{node.name}` takes no type in brackets", "list[T] does")
