"""Builtins on numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from frontend_lang.builtin_functions.arguments import a_list, an_int, empty, numbers, wrong
from frontend_lang.errors import ProgramError
from frontend_lang.values import MAX_ITEMS, Value, checked_int, is_number

MAX_DIGITS = 30  # of `round`, to both sides of the point
_INT = re.compile(r"[+-]?[0-9]{1,20}")
_FLOAT = re.compile(r"[+-]?([0-9]{1,400}\.?[0-9]{0,400}([eE][+-]?[0-9]{1,5})?|\.[0-9]{1,400}|inf|nan)")


def to_int(x: Value) -> Value:
    """An int from a number (cut towards zero), a bool or a text."""
    if type(x) is int or type(x) is bool:
        return int(x)
    if type(x) is float:
        return checked_int(int(_finite(x)))
    if isinstance(x, str) and _INT.fullmatch(x.strip()):
        return checked_int(int(x))
    raise _unparsed("int", x)


def _finite(x: float) -> float:
    if math.isfinite(x):
        return x
    raise ProgramError("E0406", f"{x!r} has no int value")


def to_float(x: Value) -> Value:
    """A float from a number, a bool or a text."""
    if is_number(x) or type(x) is bool:
        return float(x)  # type: ignore[arg-type]
    if isinstance(x, str) and _FLOAT.fullmatch(x.strip().lower()):
        return float(x)
    raise _unparsed("float", x)


def _unparsed(target: str, x: Value) -> ProgramError:
    if isinstance(x, str):
        shown = x if len(x) <= 40 else x[:37] + "..."
        return ProgramError(
            "E0406",
            f"{shown!r} is no {target}",
            "cut the text to the number alone, or let `select` choose from the values",
        )
    return wrong(target, "a str, number or bool", x)


def round_to(x: Value, digits: Value = 0) -> Value:
    """Halves go to the even neighbour. An int stays an int; a float becomes an int unless digits behind the point
    are asked for.
    """
    places = an_int("round", digits, low=-MAX_DIGITS, high=MAX_DIGITS)
    if type(x) is int:
        return checked_int(round(x, places)) if places < 0 else x
    if type(x) is not float:
        raise wrong("round", "a number", x)
    if places > 0:
        return round(x, places)
    return checked_int(int(round(_finite(x), places)))


def total(items: Value) -> Value:
    """The sum; 0 of an empty list."""
    result = sum(numbers("sum", items))
    return checked_int(result) if isinstance(result, int) else result


def mean(items: Value) -> Value:
    """The arithmetic mean."""
    found = numbers("mean", items)
    if not found:
        raise empty("mean")
    return sum(found) / len(found)


def _extreme(function: str, pick: Callable[[list[Value]], Value], arguments: tuple[Value, ...]) -> Value:
    items = a_list(function, arguments[0]) if len(arguments) == 1 else list(arguments)
    if not items:
        raise empty(function)
    if not all(map(is_number, items)) and not all(isinstance(item, str) for item in items):
        other = next(item for item in items if not is_number(item) or isinstance(items[0], str))
        raise wrong(function, "numbers only or strs only", other)
    return pick(items)


def least(*arguments: Value) -> Value:
    """The smallest of the arguments, or of a list."""
    return _extreme("min", lambda items: min(items), arguments)  # type: ignore[type-var]


def greatest(*arguments: Value) -> Value:
    """The largest of the arguments, or of a list."""
    return _extreme("max", lambda items: max(items), arguments)  # type: ignore[type-var]


def int_range(*arguments: Value) -> Value:
    """`range(stop)` or `range(start, stop, step)` as a list."""
    given = [an_int("range", argument) for argument in arguments]
    if len(given) > 3:
        raise ProgramError("E0307", f"`range` takes at most 3 arguments, got {len(given)}", "range(start, stop, step)")
    if len(given) == 3 and given[2] == 0:
        raise ProgramError("E0401", "`range` needs a step that is not 0")
    span = range(*given)
    if len(span[: MAX_ITEMS + 1]) > MAX_ITEMS:
        raise ProgramError("E0808", f"`range` of more than {MAX_ITEMS} items")
    return list(span)
