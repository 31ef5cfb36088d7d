"""Values against JSON schemas: the schema's own automaton judges the JSON in the form in which it is generated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.grammars import Grammar
from frontend_lang.json_schemas import Schema, parsed_schema
from frontend_lang.runtime import JsonSchema
from frontend_lang.sizes import MAX_DEPTH, check_size
from frontend_lang.types.branch_choice import Branches, item_schema, scalar_json
from frontend_lang.values import MAX_TEXT, Value, checked_text, equal

_CONTEXT = 20  # characters shown on either side of a fault


def schema_misfit(value: Value, schema: str) -> str | None:
    """Why the value does not fit the schema, or None. Raises E0504 to E0507 for the schema, E0808 for a huge value.

    The order of keys and the spelling of numbers do not matter: 2.0 is an integer.
    """
    grammar = Grammar.of(JsonSchema(schema))
    check_size(value)
    try:
        text = checked_text(_Canonical(_parsed(schema)).text(value), MAX_TEXT)
    except ValueError as error:  # nan, infinities
        return str(error)
    place = grammar.reject_position(text)
    if place is None:
        return None
    before = text[max(0, place - _CONTEXT) : place]
    return f"its JSON fits up to …{before}, not {text[place : place + _CONTEXT] or 'the end'}"


@lru_cache(maxsize=64)
def _parsed(schema: str) -> Schema:
    return parsed_schema(schema)


class _Canonical:
    """Writes compact JSON with the keys in the schema's order, since the automaton knows that order alone."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._branches = Branches(root)

    def text(self, value: Value) -> str:
        """The JSON. Raises ValueError for what has none."""
        return self._written(value, [self._root], 0)

    def _written(self, value: Value, schemas: Sequence[Any], depth: int) -> str:
        if depth > MAX_DEPTH:
            raise ProgramError("E0808", f"a value nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, dict):
            return self._object(value, self._same_level(value, schemas), depth)
        if isinstance(value, list):
            return self._array(value, self._same_level(value, schemas), depth)
        return scalar_json(value)

    def _object(self, value: dict[str, Value], schemas: Sequence[Schema], depth: int) -> str:
        known = dict.fromkeys(key for schema in schemas for key in _named(schema, value) if key in value)
        keys = [*known, *(key for key in value if key not in known)]
        return "{" + ",".join(self._pair(key, value[key], schemas, depth) for key in keys) + "}"

    def _pair(self, key: str, value: Value, schemas: Sequence[Schema], depth: int) -> str:
        inner = [below for schema in schemas for below in _property(schema, key)]
        return f"{scalar_json(key)}:{self._written(value, inner, depth + 1)}"

    def _array(self, value: list[Value], schemas: Sequence[Schema], depth: int) -> str:
        inner = ([item_schema(schema, index) for schema in schemas] for index in range(len(value)))
        return "[" + ",".join(map(self._written, value, inner, repeat(depth + 1))) + "]"

    def _same_level(self, value: Value, schemas: Sequence[Any]) -> list[Schema]:
        """The schemas, what they refer to or combine, and of branches the one that the value may fit, once each."""
        found: dict[int, Schema] = {}
        pending = list(schemas)
        while pending:
            schema = pending.pop(0)
            if isinstance(schema, dict) and id(schema) not in found:
                found[id(schema)] = schema
                pending += self._branches.of(value, schema)
        return list(found.values())


def _named(schema: Schema, value: dict[str, Value]) -> Iterator[str]:
    """The keys that a schema names, in the order in which they are generated."""
    for constant in [schema.get("const"), *schema.get("enum", ())]:
        if isinstance(constant, dict) and equal(constant, value):
            yield from constant
    yield from schema.get("properties", ())
    yield from schema.get("required", ())


def _property(schema: Schema, key: str) -> list[Any]:
    properties = schema.get("properties", {})
    others = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
    return [properties[key]] if key in properties else others
