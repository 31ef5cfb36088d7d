"""How often and how many, where a program writes it out."""

from __future__ import annotations

from frontend_lang.checker.options import literal_value
from frontend_lang.syntax import ast


def written_int(node: ast.Expression) -> int | None:
    """An int that is written out."""
    value = literal_value(node)
    return value if isinstance(value, int) else None


def written_length(node: ast.Expression) -> int | None:
    """How many items an expression surely has at most."""
    if isinstance(node, ast.ListLiteral):
        return len(node.items)
    if isinstance(node, ast.Comprehension):
        return written_length(node.items)
    if isinstance(node, ast.Call) and isinstance(node.callee, ast.Name) and node.callee.name == "range":
        bounds = [written_int(argument.value) for argument in node.arguments]
        whole = [bound for bound in bounds if bound is not None]
        return len(range(*whole)) if len(whole) == len(bounds) and 0 < len(whole) < 3 else None
    return None
