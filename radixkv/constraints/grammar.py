"""From a constraint to the grammar that llguidance reads; bounds that are checked before anything native sees it."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from llguidance import LLMatcher

from radixkv.constraint import Choice, Constraint, JsonSchema, Lark, Regex
from radixkv.constraints.schema import schema_of
from radixkv.errors import ConstraintError, ConstraintKind

MAX_BYTES: Final = 64 * 1024
MAX_OPTIONS: Final = 10_000
_META: Final = re.compile(r"[\\.+*?()|\[\]{}^$#&\-~]")
JSON_OPTIONS: Final = {
    "item_separator": ",",
    "key_separator": ":",
    "whitespace_flexible": False,
    "coerce_one_of": False,
    "lenient": False,
    "json_allowed_escapes": '"\\bfnrt',  # one spelling for each character, so that no key is spelled past its schema
}


def field_of(constraint: Constraint) -> str:
    """What a caller calls this kind of constraint."""
    match constraint:
        case Regex():
            return "regex"
        case JsonSchema():
            return "json_schema"
        case Lark():
            return "lark"
        case Choice():
            return "choice"


def native_grammar(constraint: Constraint, prefix: str = "") -> str:
    """The grammar of a text that begins with `prefix` and goes on as the constraint says.

    Raises ConstraintError for what is too large and for a schema that is none.
    """
    _check_size(constraint)
    grammar = _grammar(constraint)
    if not prefix:
        return json.dumps({"grammars": [grammar | {"name": "main"}]})
    literal = json.dumps(prefix, ensure_ascii=False)
    main = {"name": "main", "lark_grammar": f"start: {literal} @constraint"}
    return json.dumps({"grammars": [main, grammar | {"name": "constraint"}]})


def _grammar(constraint: Constraint) -> dict[str, Any]:
    match constraint:
        case Regex(pattern):
            return _regex(pattern)
        case Choice(options):
            return _regex("|".join(_META.sub(r"\\\g<0>", option) for option in options))
        case JsonSchema(schema):
            return {"json_schema": schema_of(schema) | {"x-guidance": JSON_OPTIONS}}
        case Lark(grammar):
            return {"lark_grammar": grammar}


def _regex(pattern: str) -> dict[str, Any]:
    grammar: dict[str, Any] = json.loads(LLMatcher.grammar_from_regex(pattern))["grammars"][0]
    return {"lark_grammar": grammar["lark_grammar"]}


def _check_size(constraint: Constraint) -> None:
    match constraint:
        case Regex(text) | JsonSchema(text) | Lark(text):
            size = len(text.encode())
        case Choice(options):
            size = sum(len(option.encode()) for option in options)
            if len(options) > MAX_OPTIONS:
                raise _too_large(constraint, f"{len(options)} options, expected at most {MAX_OPTIONS}")
    if size > MAX_BYTES:
        raise _too_large(constraint, f"{size} bytes, expected at most {MAX_BYTES}")


def _too_large(constraint: Constraint, detail: str) -> ConstraintError:
    return ConstraintError(ConstraintKind.BUDGET, field_of(constraint), f"over budget: {detail}")
