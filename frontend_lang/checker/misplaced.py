"""Keywords and options that stand where the grammar takes them for something else: what was meant."""

from __future__ import annotations

import re

from frontend_lang.syntax import ast

_GENERATES = re.compile(r"\s+([A-Za-z_]\w*)")
_OPEN_TO_OPTIONS = re.compile(r"\b(?:gen|select)[ \t]+[A-Za-z_]\w*\b[^;{}]*$")


def misplaced_keyword(node: ast.Name, source: str) -> tuple[str, str]:
    """Message and hint for a keyword that is read as a value, as in `let x = gen y`."""
    word = node.name
    bound = _GENERATES.match(source, node.span.end)
    if word in ("gen", "select") and bound:
        name = bound.group(1)
        return f"`{word}` is a statement, not a value", f"write `{word} {name}`; it binds {name} itself"
    if word == "use" and bound:
        return "`use` is a statement, not a value", f"for the value of a call write `{bound.group(1)}(…)` alone"
    return f"`{word}` is a keyword: a value is missing before it", "finish the statement before"


def meant_as_option(node: ast.Assign, source: str) -> str | None:
    """A hint for `gen x max=3`, which is a gen and an assignment without the `with`."""
    before = source[source.rfind("\n", 0, node.span.start) + 1 : node.span.start]
    return f"options follow `with`: with {node.name}=…" if _OPEN_TO_OPTIONS.search(before) else None
