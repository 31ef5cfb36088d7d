"""Operators on values: strict in types, bounded in what they produce."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.values import (
    MAX_ITEMS,
    MAX_TEXT,
    Value,
    checked_int,
    checked_items,
    checked_text,
    contained,
    equal,
    is_number,
    type_name,
)

_Arithmetic = Callable[[float, float], float]
_ARITHMETIC: Mapping[str, _Arithmetic] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
}  # fmt: skip
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def binary(sign: str, a: Value, b: Value) -> Value:
    """Arithmetic on numbers; `+` joins two strs or two lists. Raises E0402, E0407 (zero), E0408 (range), E0808."""
    if is_number(a) and is_number(b):
        return _numeric(sign, a, b)  # type: ignore[arg-type]
    if sign == "+" and isinstance(a, str) and isinstance(b, str):
        return _joined_text(a, b)
    if sign == "+" and isinstance(a, list) and isinstance(b, list):
        return _joined_list(a, b)
    hint = 'write "…@{x}…" or str(x) to make text' if isinstance(a, str) or isinstance(b, str) else None
    raise ProgramError("E0402", f"`{sign}` of {type_name(a)} and {type_name(b)}", hint)


def _numeric(sign: str, a: float, b: float) -> Value:
    try:
        result = _ARITHMETIC[sign](a, b)
    except ZeroDivisionError:
        raise ProgramError("E0407", f"`{sign}` by zero") from None
    except OverflowError:
        raise ProgramError("E0408", f"the result of `{sign}` is beyond a float") from None
    return checked_int(result) if isinstance(result, int) else result


def _joined_text(a: str, b: str) -> str:
    if len(a) + len(b) > MAX_TEXT:
        raise ProgramError("E0808", f"a string of more than {MAX_TEXT} bytes")
    return checked_text(a + b)


def _joined_list(a: list[Value], b: list[Value]) -> list[Value]:
    if len(a) + len(b) > MAX_ITEMS:
        raise ProgramError("E0808", f"a list of {len(a) + len(b)} items; at most {MAX_ITEMS} are allowed")
    return checked_items(a + b)


def negate(value: Value) -> Value:
    """`-value`. Raises E0402."""
    if is_number(value):
        return binary("-", 0, value) if type(value) is int else -value  # type: ignore[operator]
    raise ProgramError("E0402", f"`-` of {type_name(value)}")


def compare(sign: str, a: Value, b: Value) -> bool:
    """One comparison. `==` and `!=` take anything; order needs two numbers or two strs (E0402)."""
    if sign == "==":
        return equal(a, b)
    if sign == "!=":
        return not equal(a, b)
    if sign in ("in", "not in"):
        return contains(b, a) == (sign == "in")
    if (is_number(a) and is_number(b)) or (isinstance(a, str) and isinstance(b, str)):
        return _ORDER[sign](a, b)
    raise ProgramError("E0402", f"`{sign}` of {type_name(a)} and {type_name(b)}")


def contains(container: Value, item: Value) -> bool:
    """Item of a list, part of a str, key of a record. Raises E0402."""
    if isinstance(container, list):
        return contained(item, container)
    if isinstance(container, (str, dict)) and isinstance(item, str):
        return item in container
    raise ProgramError("E0402", f"`in` of {type_name(item)} and {type_name(container)}")


def truth(value: Value, where: str) -> bool:
    """A condition's value. Raises E0402 for anything but a bool."""
    if isinstance(value, bool):
        return value
    hints = {"str": 'compare: x != ""', "list": "compare: len(x) > 0", "none": "compare: x != none"}
    raise ProgramError("E0402", f"{where} needs a bool, found {type_name(value)}", hints.get(type_name(value)))


def item(container: Value, key: Value) -> Value:
    """`container[key]`: a list or str by int (from the end if negative), a record by str. Raises E0402, E0404."""
    if isinstance(container, dict):
        if not isinstance(key, str):
            raise ProgramError("E0402", f"a record's key is a str, found {type_name(key)}")
        return attribute(container, key)
    if not isinstance(container, (list, str)):
        raise ProgramError("E0402", f"{type_name(container)} has no items")
    if type(key) is not int:
        raise ProgramError("E0402", f"an index is an int, found {type_name(key)}")
    if not -len(container) <= key < len(container):
        raise ProgramError("E0404", f"index {key} in a {type_name(container)} of {len(container)}")
    return container[key]


def attribute(record: Value, name: str) -> Value:
    """`record.name`. Raises E0402, E0405."""
    if not isinstance(record, dict):
        raise ProgramError("E0402", f"{type_name(record)} has no field `{name}`", "only records have fields")
    if name not in record:
        known = ", ".join(list(record)[:8]) or "none at all"
        raise ProgramError("E0405", f"the record has no field `{name}`", f"fields: {known}")
    return record[name]


def part(container: Value, start: Value, stop: Value) -> Value:
    """`container[start:stop]`; ends beyond the container are cut. Raises E0402."""
    if not isinstance(container, (list, str)):
        raise ProgramError("E0402", f"{type_name(container)} cannot be sliced")
    return container[_end(start) : _end(stop)]


def _end(value: Value) -> int | None:
    if value is None or type(value) is int:
        return value
    raise ProgramError("E0402", f"an end of a slice is an int, found {type_name(value)}")


def rank(key: Value) -> tuple[bool, float]:
    """What `best` compares; nan loses against everything. Raises E0402."""
    if not is_number(key):
        raise ProgramError("E0402", f"`best by` needs a number, found {type_name(key)}")
    number = float(key)  # type: ignore[arg-type]
    return (False, 0.0) if math.isnan(number) else (True, number)
