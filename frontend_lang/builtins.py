"""The builtin functions: pure, strict in their argument types, bounded in what they produce.

`usage()` and `probs(name)` need the run and are the interpreter's own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from frontend_lang.errors import ProgramError
from frontend_lang.values import (
    MAX_ITEMS,
    MAX_TEXT,
    Value,
    checked_int,
    checked_items,
    checked_text,
    is_number,
    json_text,
    text_of,
    type_name,
)

_INT = re.compile(r"[+-]?[0-9]{1,20}")
_FLOAT = re.compile(r"[+-]?([0-9]{1,400}\.?[0-9]{0,400}([eE][+-]?[0-9]{1,5})?|\.[0-9]{1,400}|inf|nan)")


@dataclass(frozen=True)
class Builtin:
    """One builtin: parameter names in order, how many are required, and whether more arguments may follow."""

    name: str
    parameters: tuple[str, ...]
    required: int
    function: Callable[..., Value]
    variadic: bool = False

    def call(self, arguments: Sequence[Value], named: Mapping[str, Value]) -> Value:
        """Run it. Raises E0307 for wrong arguments, E04xx for wrong values."""
        bound = self._bind(arguments, named)
        return self.function(*arguments) if self.variadic else self.function(**bound)

    def _bind(self, arguments: Sequence[Value], named: Mapping[str, Value]) -> dict[str, Value]:
        if len(arguments) > len(self.parameters) and not self.variadic:
            raise self._misused(f"takes at most {len(self.parameters)} arguments, got {len(arguments)}")
        bound = dict(zip(self.parameters, arguments, strict=False))
        for name, value in named.items():
            if self.variadic or name not in self.parameters or name in bound:
                raise self._misused(f"has no free parameter `{name}`")
            bound[name] = value
        missing = [name for name in self.parameters[: self.required] if name not in bound]
        if missing:
            raise self._misused(f"needs an argument `{missing[0]}`")
        return bound

    def _misused(self, what: str) -> ProgramError:
        return ProgramError("E0307", f"`{self.name}` {what}", f"{self.name}({', '.join(self.parameters)})")


def _wrong(function: str, expected: str, found: Value, hint: str | None = None) -> ProgramError:
    return ProgramError("E0402", f"`{function}` needs {expected}, found {type_name(found)}", hint)


def _text(function: str, value: Value) -> str:
    if isinstance(value, str):
        return value
    raise _wrong(function, "a str", value, "str(x) makes text of anything")


def _items(function: str, value: Value) -> list[Value]:
    if isinstance(value, list):
        return value
    raise _wrong(function, "a list", value)


def _whole(function: str, value: Value) -> int:
    if type(value) is int:
        return value
    raise _wrong(function, "an int", value)


def _len(x: Value) -> Value:
    if isinstance(x, (str, list, dict)):
        return len(x)
    raise _wrong("len", "a str, list or record", x)


def _str(x: Value) -> Value:
    return text_of(x)


def _int(x: Value) -> Value:
    if type(x) is int or type(x) is bool:
        return int(x)
    if type(x) is float:
        if not math.isfinite(x):
            raise ProgramError("E0406", f"{x!r} has no int value")
        return checked_int(int(x))
    if isinstance(x, str) and _INT.fullmatch(x.strip()):
        return checked_int(int(x))
    raise _unparsed("int", x)


def _float(x: Value) -> Value:
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
    return _wrong(target, "a str, number or bool", x)


def _strip(text: Value) -> Value:
    return _text("strip", text).strip()


def _lower(text: Value) -> Value:
    return _text("lower", text).lower()


def _split(text: Value, sep: Value = None) -> Value:
    separator = None if sep is None else _text("split", sep)
    if separator == "":
        raise ProgramError(
            "E0402", "`split` needs a separator that is not empty", "leave it out to split at white space"
        )
    parts: list[Value] = list(_text("split", text).split(separator, MAX_ITEMS))
    return checked_items(parts)


def _concat(items: Value, sep: Value = "") -> Value:
    separator = _text("concat", sep)
    texts = [text_of(item) for item in _items("concat", items)]
    size = sum(map(len, texts)) + len(separator) * max(0, len(texts) - 1)
    if size > MAX_TEXT:
        raise ProgramError("E0808", f"`concat` of more than {MAX_TEXT} bytes")
    return checked_text(separator.join(texts))


def _json(x: Value) -> Value:
    return json_text(x)


def _numbers(function: str, items: Value) -> list[float]:
    numbers: list[float] = []
    for item in _items(function, items):
        if not is_number(item) and type(item) is not bool:
            raise _wrong(function, "a list of numbers", item)
        numbers.append(item)  # type: ignore[arg-type]
    return numbers


def _sum(items: Value) -> Value:
    total = sum(_numbers("sum", items))
    return checked_int(total) if isinstance(total, int) else total


def _mean(items: Value) -> Value:
    numbers = _numbers("mean", items)
    if not numbers:
        raise _empty("mean")
    return sum(numbers) / len(numbers)


def _empty(function: str) -> ProgramError:
    return ProgramError("E0410", f"`{function}` of an empty list", "test len(x) first")


def _extreme(function: str, pick: Callable[[list[Value]], Value], arguments: tuple[Value, ...]) -> Value:
    items = _items(function, arguments[0]) if len(arguments) == 1 else list(arguments)
    if not items:
        raise _empty(function)
    if not all(map(is_number, items)) and not all(isinstance(item, str) for item in items):
        other = next(item for item in items if not is_number(item) or isinstance(items[0], str))
        raise _wrong(function, "numbers only or strs only", other)
    return pick(items)


def _min(*arguments: Value) -> Value:
    return _extreme("min", lambda items: min(items), arguments)  # type: ignore[type-var]


def _max(*arguments: Value) -> Value:
    return _extreme("max", lambda items: max(items), arguments)  # type: ignore[type-var]


def _range(*arguments: Value) -> Value:
    numbers = [_whole("range", argument) for argument in arguments]
    if len(numbers) > 3:
        raise ProgramError(
            "E0307", f"`range` takes at most 3 arguments, got {len(numbers)}", "range(start, stop, step)"
        )
    if len(numbers) == 3 and numbers[2] == 0:
        raise ProgramError("E0401", "`range` needs a step that is not 0")
    span = range(*numbers)
    if len(span[: MAX_ITEMS + 1]) > MAX_ITEMS:
        raise ProgramError("E0808", f"`range` of more than {MAX_ITEMS} items")
    return list(span)


def _table(*builtins: Builtin) -> Mapping[str, Builtin]:
    return {builtin.name: builtin for builtin in builtins}


BUILTINS: Mapping[str, Builtin] = _table(
    Builtin("len", ("x",), 1, _len),
    Builtin("str", ("x",), 1, _str),
    Builtin("int", ("x",), 1, _int),
    Builtin("float", ("x",), 1, _float),
    Builtin("strip", ("text",), 1, _strip),
    Builtin("lower", ("text",), 1, _lower),
    Builtin("split", ("text", "sep"), 1, _split),
    Builtin("concat", ("items", "sep"), 1, _concat),
    Builtin("json", ("x",), 1, _json),
    Builtin("mean", ("items",), 1, _mean),
    Builtin("sum", ("items",), 1, _sum),
    Builtin("min", ("items",), 1, _min, variadic=True),
    Builtin("max", ("items",), 1, _max, variadic=True),
    Builtin("range", ("stop",), 1, _range, variadic=True),
)
