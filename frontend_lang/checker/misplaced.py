"""Keywords and options that stand where the grammar takes them for something else: what was meant."""

from __future__ import annotations

import re

from frontend_lang.syntax import ast
from frontend_lang.syntax.intentions import missing_value
from frontend_lang.syntax.words import ROLES, STATEMENT_KEYWORDS

_GENERATES = re.compile(r"[ \t]+([A-Za-z_]\w*)")
_ROLE_GENERATES = re.compile(r"[ \t]+((gen|select)[ \t]+([A-Za-z_]\w*))")
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
    inner = _ROLE_GENERATES.match(source, node.span.end) if word in ROLES else None
    if inner:
        return f"`{inner[2]}` is a statement, not a value", f"write `{word} {inner[1]}`; it binds {inner[3]} itself"
    line_start = source.rfind("\n", 0, node.span.start) + 1
    missing = missing_value(source, line_start, node.span.end)
    if missing:
        return missing.message, missing.hint or ""
    if word in STATEMENT_KEYWORDS and source[line_start : node.span.start].strip():
        return f"`{word}` is a statement, not a value", f"`{word} …` stands on a line of its own"
    return f"`{word}` is a keyword: a value is missing before it", "finish the statement before"


def meant_as_option(node: ast.Assign, source: str) -> str | None:
    """A hint for `gen x max=3`, which is a gen and an assignment without the `with`."""
    before = source[source.rfind("\n", 0, node.span.start) + 1 : node.span.start]
    return f"options follow `with`: with {node.name}=…" if _OPEN_TO_OPTIONS.search(before) else None
