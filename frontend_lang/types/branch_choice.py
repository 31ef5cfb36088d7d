"""Which branches of a schema a value may fit: where their keys have different orders, that tells which order counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.grammars import Grammar
from frontend_lang.json_schemas import Schema, resolved
from frontend_lang.runtime import JsonSchema
from frontend_lang.values import Value, equal

_DELETE = {0x7F: "\\u007f"}  # the one other character that the automaton wants escaped
_OF_SCALARS = (
    "type", "const", "enum", "pattern", "format", "minLength", "maxLength",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
)  # fmt: skip


@dataclass
class Branches:
    """Judges values against parts of one schema. `patternProperties` are not looked at: they let everything through.

    Each pair of a part of the value and a part of the schema is judged once, so values must live as long as this.
    """

    root: Schema
    _judged: dict[tuple[int, int], bool] = field(default_factory=dict)

    def of(self, value: Value, schema: Schema) -> list[Any]:
        """The subschemas at the value's own level, of branches the first that it may fit."""
        below = [*schema.get("allOf", ())]
        if "$ref" in schema:
            below.append(resolved(self.root, schema["$ref"]))
        for branches in _choices(schema):
            fitting = next((branch for branch in branches if self.may_fit(value, branch)), None)
            below += branches if fitting is None else [fitting]
        return below

    def may_fit(self, value: Value, schema: Any) -> bool:
        """Whether the value may fit the schema, a part of the root. Raises E0505 where choices nest too deep."""
        try:
            return self._may_fit(value, schema)
        except RecursionError:
            raise ProgramError("E0505", "the schema has too many choices inside one another", "flatten it") from None

    def _may_fit(self, value: Value, schema: Any) -> bool:
        if not isinstance(schema, dict):
            return schema is not False
        known = (id(value), id(schema))
        if known not in self._judged:
            self._judged[known] = True  # for what refers back to it while it is being judged
            self._judged[known] = self._judge(value, schema)
        return self._judged[known]

    def _judge(self, value: Value, schema: Schema) -> bool:
        """One frame for each level: no generator stands between this and the levels below."""
        if not _itself_fits(value, schema):
            return False
        if "$ref" in schema and not self._may_fit(value, resolved(self.root, schema["$ref"])):
            return False
        for part, inner in _obligations(value, schema):
            if not self._may_fit(part, inner):
                return False
        for branches in _choices(schema):
            for branch in branches:
                if self._may_fit(value, branch):
                    break
            else:
                return False
        return True


def _choices(schema: Schema) -> list[list[Any]]:
    return [schema[key] for key in ("anyOf", "oneOf") if key in schema]


def _itself_fits(value: Value, schema: Schema) -> bool:
    """Apart from what is in it."""
    if isinstance(value, dict):
        return _is_kind(value, "object", schema) and _keys_fit(value, schema)
    if isinstance(value, list):
        most = schema.get("maxItems", len(value))
        return _is_kind(value, "array", schema) and schema.get("minItems", 0) <= len(value) <= most
    return _scalar_fits(value, schema)


def _is_kind(value: Value, kind: str, schema: Schema) -> bool:
    declared = schema.get("type", kind)
    constants = [schema["const"]] if "const" in schema else schema.get("enum")
    is_constant = constants is None or any(equal(constant, value) for constant in constants)
    return is_constant and kind in ([declared] if isinstance(declared, str) else declared)


def _keys_fit(value: dict[str, Value], schema: Schema) -> bool:
    if not all(name in value for name in schema.get("required", ())):
        return False
    closed = schema.get("additionalProperties") is False and not schema.get("patternProperties")
    return not closed or value.keys() <= schema.get("properties", {}).keys()


def _scalar_fits(value: str | float | bool | None, schema: Schema) -> bool:
    asked = {key: schema[key] for key in _OF_SCALARS if key in schema}
    return not asked or Grammar.of(JsonSchema(json.dumps(asked))).matches(scalar_json(value))


def _obligations(value: Value, schema: Schema) -> Iterator[tuple[Value, Any]]:
    """What has to fit for the value to fit."""
    for part in schema.get("allOf", ()):
        yield value, part
    if isinstance(value, dict):
        for key, part in value.items():
            yield part, _property(schema, key)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield part, item_schema(schema, index)


def _property(schema: Schema, key: str) -> Any:
    """What the property of this name has to fit; true where nothing is known."""
    properties = schema.get("properties", {})
    others = True if schema.get("patternProperties") else schema.get("additionalProperties", True)
    return properties.get(key, others)


def item_schema(schema: Schema, index: int) -> Any:
    """What the item at this index has to fit."""
    items, rest = schema.get("items", True), schema.get("additionalItems", True)
    first, rest = (items, rest) if isinstance(items, list) else (schema.get("prefixItems", ()), items)
    return first[index] if index < len(first) else rest


def scalar_json(value: str | float | bool | None) -> str:
    """A scalar as the automaton spells it: numbers without exponent, whole ones without a point.

    Raises ValueError for nan and infinities.
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).translate(_DELETE)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else _fraction(value)
    return json.dumps(value)


def _fraction(value: float) -> str:
    if value - value != 0:
        raise ValueError(f"{value} has no JSON form")
    return format(Decimal(repr(value)), "f")
