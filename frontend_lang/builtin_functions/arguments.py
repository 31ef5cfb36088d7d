"""Arguments of builtins, held to their types."""

from __future__ import annotations

from frontend_lang.errors import ProgramError
from frontend_lang.rows import ROWS_HINT, is_rows
from frontend_lang.values import Value, is_number, type_name


def wrong(function: str, expected: str, found: Value, hint: str | None = None) -> ProgramError:
    """E0402: an argument of the wrong type."""
    hint = ROWS_HINT if is_rows(found) else hint
    return ProgramError("E0402", f"`{function}` needs {expected}, found {type_name(found)}", hint)


def a_text(function: str, value: Value) -> str:
    """The value if it is a str."""
    if isinstance(value, str):
        return value
    raise wrong(function, "a str", value, "str(x) makes text of anything")


def a_list(function: str, value: Value) -> list[Value]:
    """The value if it is a list."""
    if isinstance(value, list):
        return value
    raise wrong(function, "a list", value)


def a_record(function: str, value: Value) -> dict[str, Value]:
    """The value if it is a record."""
    if isinstance(value, dict):
        return value
    raise wrong(function, "a record", value)


def an_int(function: str, value: Value, *, low: int | None = None, high: int | None = None) -> int:
    """The value if it is an int from `low` to `high`. Raises E0402, E0401."""
    if type(value) is not int:
        raise wrong(function, "an int", value)
    if (low is not None and value < low) or (high is not None and value > high):
        upper = f"to {high}" if high is not None else "or more"
        raise ProgramError("E0401", f"`{function}` of {value}: expected {low} {upper}")
    return value


def a_bool(function: str, value: Value) -> bool:
    """The value if it is a bool."""
    if isinstance(value, bool):
        return value
    raise wrong(function, "a bool", value)


def numbers(function: str, items: Value) -> list[float]:
    """The list if it has only numbers and bools."""
    found: list[float] = []
    for item in a_list(function, items):
        if not is_number(item) and type(item) is not bool:
            raise wrong(function, "a list of numbers", item)
        found.append(item)  # type: ignore[arg-type]
    return found


def empty(function: str) -> ProgramError:
    """E0410: nothing to compute from."""
    return ProgramError("E0410", f"`{function}` of an empty list", "test len(x) first")
