"""The tools of react.rkv: a tiny encyclopedia and a calculator that evaluates nothing but arithmetic."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from frontend_lang import tool

ARTICLES = {
    "oslo": "Oslo is the capital of Norway and lies at the head of the Oslofjord.",
    "cat": "The cat is a small domesticated carnivorous mammal.",
    "egg": "An egg of a hen weighs about 60 grams.",
}
OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}


@tool
async def wiki(q: str) -> str:
    """Search an encyclopedia."""
    for name, article in ARTICLES.items():
        if name in q.lower():
            return article
    raise LookupError(f"no article on {q!r}; there are: {', '.join(ARTICLES)}")


@tool
def calc(expr: str) -> float:
    """Evaluate arithmetic."""
    return float(value_of(ast.parse(expr, mode="eval").body))


def value_of(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](value_of(node.left), value_of(node.right))
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](value_of(node.operand))
    raise ValueError("only numbers and + - * / are understood")
