"""Values of a running program: str int float bool none list record, their text and JSON forms, equality and order.

A record is a dict with str keys, none is None, an int fits in 64 bits. Nothing here recurses deeper than
`MAX_DEPTH`, writes more than `MAX_TEXT` characters or copies more than `MAX_PARTS` parts: values are graphs that a
short program can make huge.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from frontend_lang.errors import ProgramError
from frontend_lang.sizes import MAX_DEPTH, MAX_PARTS, Sizes

Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"

MAX_TEXT = 1 << 20  # bytes of UTF-8 in one string
MAX_ITEMS = 100_000  # items of one list
MAX_INT = (1 << 63) - 1

_TYPE_NAMES: Mapping[type, str] = {
    str: "str", int: "int", float: "float", bool: "bool", type(None): "none", list: "list", dict: "record",
}  # fmt: skip


def type_name(value: Value) -> str:
    """The language's name of a value's type. Rows of a file are the one thing that is bound to names but no value."""
    return _TYPE_NAMES.get(type(value), "rows")


def is_number(value: Value) -> bool:
    """Whether it is an int or a float; a bool is neither."""
    return type(value) is int or type(value) is float


def checked_text(text: str, limit: int = MAX_TEXT) -> str:
    """The text itself if its UTF-8 form has at most `limit` bytes; else E0808."""
    if len(text) * 4 > limit and len(text.encode("utf-8", "surrogatepass")) > limit:
        raise ProgramError("E0808", f"a string of more than {limit} bytes", "build it in smaller parts")
    return text


def checked_items(items: list[Value]) -> list[Value]:
    """The list itself if it has at most `MAX_ITEMS` items; else E0808."""
    if len(items) > MAX_ITEMS:
        raise ProgramError("E0808", f"a list of {len(items)} items; at most {MAX_ITEMS} are allowed")
    return items


def checked_int(number: int) -> int:
    """The number itself if it fits in 64 bits; else E0408."""
    if -MAX_INT - 1 <= number <= MAX_INT:
        return number
    raise ProgramError("E0408", "an int beyond 64 bits", "use a float: float(x)")


def text_of(value: Value, limit: int = MAX_TEXT) -> str:
    """What `@{}` inserts: a str as it is, numbers in decimal, `true` `false` `none`, else compact JSON."""
    if type(value) is str:
        return value
    if value is None:
        return "none"
    if type(value) is float:
        return repr(value)
    return json_text(value, limit=limit)


class _JsonWriter:
    """Writes compact JSON into `pieces` while the size and the depth stay within bounds."""

    def __init__(self, sort_keys: bool, limit: int) -> None:
        self.pieces: list[str] = []
        self._sort_keys = sort_keys
        self._left = limit
        self._limit = limit

    def write(self, value: Value, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise ProgramError("E0808", f"a value nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, list):
            self._sequence("[", "]", [("", item) for item in value], depth)
        elif isinstance(value, dict):
            keys = sorted(value) if self._sort_keys else list(value)
            self._sequence("{", "}", [(_quoted(key) + ":", value[key]) for key in keys], depth)
        else:
            self._put(_scalar_json(value))

    def _sequence(self, start: str, end: str, items: Sequence[tuple[str, Value]], depth: int) -> None:
        self._put(start)
        for index, (prefix, item) in enumerate(items):
            self._put("," + prefix if index else prefix)
            self.write(item, depth + 1)
        self._put(end)

    def _put(self, piece: str) -> None:
        self._left -= len(piece)
        if self._left < 0:
            raise ProgramError("E0808", f"the text of a value has more than {self._limit} bytes")
        self.pieces.append(piece)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _scalar_json(value: Value) -> str:
    if type(value) not in _TYPE_NAMES:
        raise ProgramError("E0402", f"{value} have no text", "[row for row in x] reads them into a list")
    if type(value) is float and not math.isfinite(value):
        raise ProgramError("E0406", f"{value!r} has no JSON form", "test the number before it is written")
    return json.dumps(value, ensure_ascii=False)


def json_text(value: Value, *, sort_keys: bool = False, limit: int = MAX_TEXT) -> str:
    """Compact JSON. Raises E0406 for nan and infinities, E0808 beyond `limit` characters or `MAX_DEPTH` levels."""
    writer = _JsonWriter(sort_keys, limit)
    writer.write(value)
    return checked_text("".join(writer.pieces), limit)


def from_json(text: str) -> Value:
    """Parse JSON in which no key is repeated and every number fits. Raises E0406 with the fault, E0408, E0808."""
    try:
        return from_python(json_document(text))
    except (ValueError, RecursionError) as error:
        raise ProgramError("E0406", f"not valid JSON: {error}") from None


def json_document(text: str) -> object:
    """What a JSON text stands for. Raises ValueError, which is JSONDecodeError where the place of the fault is known;
    RecursionError.
    """
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_json, parse_float=_finite)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        again = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {again!r:.40} is given twice")
    return found


def _no_json(constant: str) -> object:
    raise ValueError(f"{constant} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.40} is beyond the range of a float")
    return number


def from_python(value: object) -> Value:
    """A value of the language made of a Python object (tuples become lists). Raises E0402 for anything else, E0808 for
    more than `MAX_PARTS` parts or `MAX_DEPTH` levels.
    """
    return _Reader().read(value)


class _Reader:
    """Copies one object while the parts and the depth stay within bounds."""

    def __init__(self) -> None:
        self._left = MAX_PARTS

    def read(self, value: object, depth: int = 0) -> Value:
        self._left -= 1
        if self._left < 0:
            raise ProgramError("E0808", f"a value with more than {MAX_PARTS} parts")
        if depth > MAX_DEPTH:
            raise ProgramError("E0808", f"a value nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, str):
            return checked_text(_encodable(str(value)))
        if value is None or type(value) is bool or type(value) is float:
            return value
        if type(value) is int:
            return checked_int(value)
        if isinstance(value, (list, tuple)):
            return checked_items([self.read(item, depth + 1) for item in value])
        if isinstance(value, Mapping):
            return {_key(key): self.read(item, depth + 1) for key, item in value.items()}
        hint = "data.decode() makes text of bytes" if isinstance(value, (bytes, bytearray, memoryview)) else None
        raise ProgramError("E0402", f"a Python {type(value).__name__} is no value of the language", hint)


def _key(key: object) -> str:
    if isinstance(key, str):
        return _encodable(str(key))
    raise ProgramError("E0402", f"a record's keys are str, not {type(key).__name__}")


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ProgramError("E0402", "a string with half a surrogate pair is no text") from None
    return text


def to_json_safe(value: Value) -> Value:
    """The value as JSON can hold it: nan and infinities as none, a host's object as its fields, rows in words.

    Of its parts, lists and records are in words too where they have more than `MAX_PARTS` parts or `MAX_DEPTH` levels.
    """
    return _Shown().shown(value)


class _Shown:
    """Copies one value for JSON; what would not end is put in words."""

    def __init__(self) -> None:
        self._sizes = Sizes()
        self._left = MAX_PARTS

    def shown(self, value: Value, depth: int = 0) -> Value:
        if isinstance(value, (list, dict)):
            return self._inner(value, depth) if depth != 1 or self._fits(value) else self._words(value)
        if type(value) not in _TYPE_NAMES:
            return self._foreign(value, depth)
        return None if type(value) is float and not math.isfinite(value) else value

    def _fits(self, part: Value) -> bool:
        """Of the parts of the whole, those that do are shown in full."""
        size = self._sizes.of(part)
        if size.excess is not None or size.parts > self._left:
            return False
        self._left -= size.parts
        return True

    def _inner(self, value: list[Value] | dict[str, Value], depth: int) -> Value:
        if isinstance(value, list):
            return [self.shown(item, depth + 1) for item in value]
        return {str(key): self.shown(item, depth + 1) for key, item in value.items()}  # a host's may be no text

    def _words(self, value: Value) -> str:
        return f"a {type_name(value)} {self._sizes.of(value).excess or 'that is too large to be shown here'}"

    def _foreign(self, value: object, depth: int) -> Value:
        try:
            return self.shown(from_python(msgspec.to_builtins(value, str_keys=True)), depth + 1)
        except RecursionError:
            return f"a {type(value).__name__} nested deeper than {MAX_DEPTH} levels"
        except (TypeError, ProgramError):
            return str(value)


class _Comparison:
    """Structural equality with a bounded number of comparisons."""

    def __init__(self, most: int = MAX_ITEMS) -> None:
        self._left = most

    def equal(self, a: Value, b: Value, depth: int = 0) -> bool:
        self._left -= 1
        if depth > MAX_DEPTH or self._left < 0:
            raise ProgramError("E0808", "the values are too large to compare")
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(self.equal(x, y, depth + 1) for x, y in zip(a, b, strict=True))
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(self.equal(a[key], b[key], depth + 1) for key in a)
        return a == b if type(a) is type(b) else is_number(a) and is_number(b) and a == b


def equal(a: Value, b: Value) -> bool:
    """Structural equality. 1 == 1.0, otherwise values of different types differ (true is not 1)."""
    return _Comparison().equal(a, b)


def contained(item: Value, items: list[Value]) -> bool:
    """Whether an item of the list is equal. Raises E0808 if that takes more than `MAX_PARTS` comparisons."""
    comparison = _Comparison(MAX_PARTS)
    return any(comparison.equal(item, element) for element in items)


def vote_key(value: Value) -> str:
    """What a vote counts: text after strip and casefold, anything else as canonical JSON (sorted keys)."""
    if type(value) is str:
        return "s" + value.strip().casefold()
    if type(value) is float:
        return f"j{int(value)}" if value.is_integer() else f"j{value!r}"  # 2.0 and 2 are one vote, as they are equal
    return "j" + json_text(value, sort_keys=True)
