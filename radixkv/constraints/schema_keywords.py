"""Keywords of a JSON schema one by one: whether each has a value of its kind, and where one has not.

`frontend_lang.json_schemas` says the same of the schemas of programs, in the same words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

EXACT: Final = 1 << 53  # beyond it llguidance rounds numbers, without a word
MAX_64: Final = (1 << 63) - 512  # nearer to 2^63 than to any other float
BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
LOWER: Final = ("minimum", "exclusiveMinimum")
COUNTS: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")
_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions")
_LISTS: Final = ("prefixItems", "anyOf", "oneOf", "allOf")


def malformed(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each keyword of one schema, not of those inside it, whose value is not of its kind, and what it needs."""
    for keyword, value in schema.items():
        fault = _CHECKS[keyword](keyword, value) if keyword in _CHECKS else None
        if fault is not None:
            yield keyword, fault


def inexact(schema: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Each keyword of one schema with a number that would be rounded, and the number.

    Not so bounds beyond 64 bits, which are another matter.
    """
    for keyword in (*BOUNDS, "multipleOf", "const", "enum"):
        for number in _numbers(schema.get(keyword)):
            if _is_rounded(number) and (keyword not in BOUNDS or abs(number) < MAX_64):
                yield keyword, number


def beyond(schema: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Each bound of one schema that llguidance would take as the end of 64 bits, although it is farther out.

    It may crash on some of those. An upper bound beyond the largest integer is taken rightly: none are generated there.
    """
    for keyword in BOUNDS:
        for number in _numbers(schema.get(keyword)):
            if abs(number) >= MAX_64 and (number < 0 or keyword in LOWER):
                yield keyword, number


def shown(value: object) -> str:
    """A value of a schema as it stands there, cut."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _numbers(value: object) -> Iterator[float]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, int | float) and not isinstance(item, bool):
            yield item
        pending.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())


def _is_rounded(number: float) -> bool:
    if not isinstance(number, int) or abs(number) <= EXACT:
        return False
    return number.bit_length() > 1023 or int(float(number)) != number


def _type(keyword: str, value: object) -> str | None:
    names = value if isinstance(value, list) else [value]
    bad = [name for name in names if name not in _TYPES]
    if isinstance(value, str | list) and not bad:
        return None
    return f"needs one of {', '.join(_TYPES)}, or a list of them, found {shown(bad[0] if bad else value)}"


def _count(keyword: str, value: object) -> str | None:
    good = type(value) is int and value >= 0
    return None if good else f"needs an integer that is not negative, found {shown(value)}"


def _bound(keyword: str, value: object) -> str | None:
    flag = keyword.startswith("exclusive")  # true and false are draft 4's, and are kept to
    good = isinstance(value, int | float) and (flag or not isinstance(value, bool))
    return None if good else f"needs a number, found {shown(value)}"


def _multiple(keyword: str, value: object) -> str | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return None if good else f"needs a number above 0, found {shown(value)}"


def _string(keyword: str, value: object) -> str | None:
    return None if isinstance(value, str) else f"needs a string, found {shown(value)}"


def _list(keyword: str, value: object) -> str | None:
    return None if isinstance(value, list) else f"needs a list, found {shown(value)}"


def _names(keyword: str, value: object) -> str | None:
    good = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return None if good else f"needs a list of names, found {shown(value)}"


def _schema(keyword: str, value: object) -> str | None:
    good = isinstance(value, dict | bool)
    return None if good else f"a schema is an object, true or false, found {shown(value)}"


def _schema_or_list(keyword: str, value: object) -> str | None:
    return _schemas(keyword, value) if isinstance(value, list) else _schema(keyword, value)


def _schemas(keyword: str, value: object) -> str | None:
    if not isinstance(value, list):
        return _list(keyword, value)
    return next((f"item {index}: {fault}" for index, inner in enumerate(value) if (fault := _schema("", inner))), None)


def _named_schemas(keyword: str, value: object) -> str | None:
    if not isinstance(value, dict):
        return f"needs an object, found {shown(value)}"
    return next((f"{shown(name)}: {fault}" for name, inner in value.items() if (fault := _schema("", inner))), None)


_CHECKS: Final[Mapping[str, Callable[[str, object], str | None]]] = {
    "type": _type,
    "enum": _list,
    "required": _names,
    "multipleOf": _multiple,
    "items": _schema_or_list,
    **dict.fromkeys(("$ref", "pattern", "format"), _string),
    **dict.fromkeys(BOUNDS, _bound),
    **dict.fromkeys(COUNTS, _count),
    **dict.fromkeys(("additionalItems", "additionalProperties"), _schema),
    **dict.fromkeys(_LISTS, _schemas),
    **dict.fromkeys(_MAPS, _named_schemas),
}
