"""What llguidance says about a JSON schema, as our error: which keyword, and its place as a JSON pointer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from radixkv.constraints.schema import TOO_FAR, invalid, place_of, schema_of, subschemas, unsupported
from radixkv.constraints.schema_keywords import BOUNDS, COUNTS, shown
from radixkv.errors import ConstraintError, ConstraintKind

BORDERS: Final = r"`^` and `$` inside it, and borders such as `\b`, are not supported"
MAX_BOUND: Final = 9 * 10**18  # farther from 0 llguidance has no numbers between a bound and the end of 64 bits
_KEYS: Final = re.compile(r'Unimplemented keys: \["([^"]+)"')
_FORMAT: Final = re.compile(r"Unknown format: (.*)")
_REGEX: Final = re.compile(r"regex parse error:\n    (?P<pattern>.*?)\n[ ^]*\^[ ^]*\nerror: (?P<why>.*)")
_LOOKAROUND: Final = re.compile(r"lookarounds not supported.* in regex /(?P<pattern>.*?)/(?=\n|$)", re.DOTALL)
_NOWHERE: Final = re.compile(r"(?:Pointer|Anchor) '/?(?P<name>.*)' does not exist")
_UNSATISFIABLE: Final = "Unsatisfiable schema: "
_NONE_AT_ALL: Final = "no text at all satisfies"
_TEXT: Final = ("pattern", "format", "minLength", "maxLength")
_COUNTED: Final = re.compile(r"(\w+) \((\S+)\) is (greater than|equal to) (\w+) \((\S+)\)")

Schema = Mapping[str, Any]


def diagnose_schema(text: str, message: str) -> ConstraintError | None:
    """The error that names a keyword and its place; None where the message is of another kind."""
    schema = schema_of(text)
    for explain in _EXPLAINERS:
        found = explain(schema, message)
        if found is not None:
            return found
    return None


def _unknown_keyword(schema: Schema, message: str) -> ConstraintError | None:
    keys, known = _KEYS.search(message), _FORMAT.search(message)
    if keys is not None:
        return unsupported(keys[1], place_of(schema, keys[1]), "is not supported")
    if known is not None:
        place = _place(schema, lambda inner: inner.get("format") == known[1])
        return unsupported("format", place or "", f"is not supported: {shown(known[1])} is no format that is known")
    if "oneOf" not in message:
        return None
    why = "is supported only where its branches exclude each other; try `anyOf`"
    return unsupported("oneOf", place_of(schema, "oneOf"), why)


def _reference(schema: Schema, message: str) -> ConstraintError | None:
    missing = _NOWHERE.search(message)
    if missing is not None:
        place = _place(schema, lambda inner: str(inner.get("$ref", "")).lstrip("#/") == missing["name"])
        return None if place is None else _at("$ref", place, f"{shown('#/' + missing['name'])} refers to nothing")
    if "Resource '" not in message and "retriev" not in message:
        return None
    for pointer, inner in subschemas(schema):
        reference = inner.get("$ref", "#")
        if not reference.startswith("#"):
            return unsupported("$ref", pointer, f"leads out of the schema: {shown(reference)}; use #/$defs/Name")
    return _at("$schema", "#", f"{shown(schema.get('$schema'))} is no dialect that is known; leave it out")


def _bad_pattern(schema: Schema, message: str) -> ConstraintError | None:
    broken, border = _REGEX.search(message), _LOOKAROUND.search(message)
    found = broken or border
    if found is None:
        return None
    pattern = found["pattern"]
    why = f"{broken['why'] if broken else BORDERS}, in {shown_pattern(pattern)}"
    for keyword, has in (
        ("pattern", lambda inner: inner.get("pattern") == pattern),
        ("patternProperties", lambda inner: pattern in inner.get("patternProperties", ())),
    ):
        place = _place(schema, has)
        if place is not None:
            return _at(keyword, place, why)
    return invalid(f"a pattern: {why}")


def _bound(schema: Schema, message: str) -> ConstraintError | None:
    if "Failed to generate regex for" not in message:
        return None
    for pointer, inner in subschemas(schema):
        for keyword in BOUNDS:
            if abs(inner.get(keyword, 0)) >= MAX_BOUND:
                return unsupported(keyword, pointer, TOO_FAR.format(shown(inner[keyword])))
    return ConstraintError(ConstraintKind.UNSUPPORTED, "json_schema", "numbers between such bounds are not supported")


def _nothing_fits(schema: Schema, message: str) -> ConstraintError | None:
    if _UNSATISFIABLE not in message and "invalid multiple of" not in message:
        return None
    why = message.split(_UNSATISFIABLE)[-1]
    if why.startswith("anyOf is empty"):
        return _empty_list(schema)
    if why.startswith("Regex is empty"):
        return _excluded_text(schema)
    counted = _COUNTED.search(why)
    if counted is not None:
        low, least, relation, high, most = counted.groups()
        place = _place(schema, lambda inner: low in inner and high in inner)
        return _at(low, place or "", f"{low} {least} is {relation.replace('greater', 'more')} {high} {most}")
    if "multiple of" in why:
        return _at("multipleOf", place_of(schema, "multipleOf"), f"{_NONE_AT_ALL} it within the bounds")
    return invalid(f"{_NONE_AT_ALL} it: {why.splitlines()[0][:200]}")


def _empty_list(schema: Schema) -> ConstraintError:
    for pointer, inner in subschemas(schema):
        for keyword in ("enum", "anyOf", "type"):
            if inner.get(keyword) == []:
                return _at(keyword, pointer, f"{_NONE_AT_ALL} an empty list")
    return invalid(f"{_NONE_AT_ALL} it")


def _excluded_text(schema: Schema) -> ConstraintError:
    for pointer, inner in subschemas(schema):
        given = [f"`{keyword}`" for keyword in _TEXT if keyword in inner]
        if len(given) > 1 and inner.keys() & {"pattern", "format"}:
            return invalid(f"keywords {' and '.join(given)} at {pointer}: {_NONE_AT_ALL} them together")
    return invalid(f"{_NONE_AT_ALL} its patterns, formats and lengths together")


def _named(schema: Schema, message: str) -> ConstraintError | None:
    """Whatever else names a keyword."""
    for keyword in ("minProperties", "maxProperties", "patternProperties", "multipleOf", "pattern", "$ref", *COUNTS):
        place = place_of(schema, keyword)
        if keyword in message and place:
            return _at(keyword, place, shown_pattern(message.splitlines()[0], 300))
    return None


def _place(schema: Schema, has: Callable[[Schema], bool]) -> str | None:
    return next((pointer for pointer, inner in subschemas(schema) if has(inner)), None)


def _at(keyword: str, place: str, why: str) -> ConstraintError:
    return invalid(f"keyword `{keyword}`{f' at {place}' if place else ''}: {why}")


def shown_pattern(text: str, length: int = 80) -> str:
    """A line of a pattern or a message, cut."""
    line = " ".join(text.replace("<non-verbose/>", "").split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


_EXPLAINERS: Final = (_unknown_keyword, _reference, _bad_pattern, _bound, _nothing_fits, _named)
