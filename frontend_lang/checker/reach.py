"""Which statements end their block, so that nothing after them runs."""

from __future__ import annotations

from collections.abc import Iterable

from frontend_lang.syntax import ast

DECLARATIONS = (ast.Param, ast.Def, ast.Tool, ast.TypeDefinition, ast.Import, ast.Test)
_JUMPS = (ast.Return, ast.Yield, ast.Break, ast.Continue)


def leaves(node: ast.Node | None) -> bool:
    """Whether a statement or block surely ends with a jump or a `fail`."""
    if isinstance(node, ast.Block):
        return any(map(leaves, node.statements))
    if isinstance(node, ast.If):
        return node.otherwise is not None and _all_leave([*(clause.body for clause in node.clauses), node.otherwise])
    if isinstance(node, ast.Try):
        return _all_leave([node.body, node.handler])
    if isinstance(node, ast.RoleStatement):
        return leaves(node.body)
    return isinstance(node, _JUMPS) or (isinstance(node, ast.Emit) and node.kind == "fail")


def _all_leave(blocks: Iterable[ast.Block]) -> bool:
    return all(map(leaves, blocks))
