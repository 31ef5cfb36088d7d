"""JSON schemas before they are compiled: what is no schema, and what would be dropped without a word."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final

from radixkv.constraints.schema_keywords import beyond, inexact, malformed, shown
from radixkv.errors import ConstraintError, ConstraintKind

MAX_DEPTH: Final = 64
MAX_DIGITS: Final = 300  # of an integer, as many as a float has at most
TOO_FAR: Final = "is too far from 0: {}; it has to be within 9*10^18"
_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)

# Where schemas lie inside a schema. Anything else, `enum` and `const` above all, is data.
_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("prefixItems", "anyOf", "oneOf", "allOf", "items")
_SINGLE: Final = (
    "items",
    "additionalItems",
    "additionalProperties",
    "not",
    "contains",
    "if",
    "then",
    "else",
    "propertyNames",
)

# Keywords of earlier or later drafts that llguidance passes over although they constrain.
_PASSED_OVER: Final = ("$recursiveRef", "$dynamicRef", "unevaluatedItems", "divisibleBy", "disallow", "extends")


def schema_of(text: str) -> dict[str, Any]:
    """The schema, keys in their order. Raises ConstraintError naming line and column, or keyword and place."""
    _check_depth(text)
    try:
        schema = json.loads(text, parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise invalid(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except ValueError as error:
        raise invalid(str(error)) from None
    if schema is True:
        return {}
    if schema is False:
        raise invalid("`false` allows no value at all")
    if not isinstance(schema, dict):
        raise invalid(f"expected an object, true or false, found {json.dumps(schema)[:40]}")
    _check_keywords(schema)
    return schema


def place_of(schema: Any, keyword: str) -> str:
    """JSON pointer of the first subschema with that keyword, as `#/properties/a`; empty where there is none."""
    return next((pointer for pointer, inner in subschemas(schema) if keyword in inner), "")


def subschemas(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema inside a schema with its JSON pointer, itself first."""
    pending: list[tuple[str, Any]] = [("#", schema)]
    while pending:
        pointer, inner = pending.pop()
        if isinstance(inner, dict):
            yield pointer, inner
            pending.extend(reversed(list(_children(pointer, inner))))


def invalid(detail: str) -> ConstraintError:
    """The error of a schema that is none."""
    return ConstraintError(ConstraintKind.INVALID, "json_schema", detail)


def unsupported(keyword: str, place: str, why: str) -> ConstraintError:
    """The error of a keyword that could only be ignored."""
    where = f" at {place}" if place else ""
    return ConstraintError(ConstraintKind.UNSUPPORTED, "json_schema", f"keyword `{keyword}`{where} {why}")


def _children(pointer: str, schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in _MAPS:
        if isinstance(schema.get(key), dict):
            yield from ((f"{pointer}/{key}/{_escaped(name)}", inner) for name, inner in schema[key].items())
    for key in _LISTS:
        if isinstance(schema.get(key), list):
            yield from ((f"{pointer}/{key}/{index}", inner) for index, inner in enumerate(schema[key]))
    for key in _SINGLE:
        if isinstance(schema.get(key), dict):
            yield f"{pointer}/{key}", schema[key]


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _check_keywords(schema: dict[str, Any]) -> None:
    for pointer, inner in subschemas(schema):
        if "x-guidance" in inner:
            raise unsupported("x-guidance", pointer, "is not for callers to set; leave it out")
        for keyword in _PASSED_OVER:
            if keyword in inner:
                raise unsupported(keyword, pointer, "is not supported; nothing here would enforce it")
        if inner.get("uniqueItems") is False:  # the default; the compiler does not know even that
            del inner["uniqueItems"]
        for keyword, fault in malformed(inner):
            raise invalid(f"keyword `{keyword}` at {pointer}: {fault}")
        for keyword, number in beyond(inner):
            raise unsupported(keyword, pointer, TOO_FAR.format(shown(number)))
        for keyword, number in inexact(inner):
            raise unsupported(keyword, pointer, f"has a number beyond what is exact (2^53): {shown(number)}")


def _check_depth(text: str) -> None:
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += (found[1] is not None) - (found[2] is not None)
        if depth > MAX_DEPTH:
            line = text.count("\n", 0, found.start()) + 1
            column = found.start() - text.rfind("\n", 0, found.start())
            detail = f"over budget: line {line}, column {column}: nested deeper than {MAX_DEPTH} levels"
            raise ConstraintError(ConstraintKind.BUDGET, "json_schema", detail)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"the number {text[:20]}… is too large")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value
