"""What can be appended to a context besides text: `gen` and `select`, as plain data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.python_api.promises import plain
from frontend_lang.values import Value

Until = Callable[[Any], "bool | Awaitable[bool]"]


@dataclass(frozen=True)
class Gen:
    """A generation: the name it binds, its options, the Python type of its value, and what the value must meet."""

    name: str
    options: Mapping[str, Value]
    type: Any = None
    until: Until | None = None


@dataclass(frozen=True)
class Select:
    """A choice: the name it binds, the texts to choose from, and how they are scored."""

    name: str
    options: Sequence[str | int | float | bool]
    norm: str | None = None


def gen(
    name: str,
    *,
    max: int | None = None,  # noqa: A002 - the language's word
    temp: float | None = None,
    top_p: float | None = None,
    top_k: int | None = None,
    min_p: float | None = None,
    stop: str | Sequence[str] | None = None,
    seed: int | None = None,
    logprobs: int | None = None,
    timeout: float | None = None,
    tries: int | None = None,
    model: str | None = None,
    type: Any = None,  # noqa: A002 - the language's word
    until: Until | None = None,
) -> Gen:
    """Generate text, at most `max` tokens, and bind it to `name`.

    Options are the language's and have its defaults (docs/language-reference.md); `timeout` is in seconds. With `type`
    the text is generated under that type and `s[name]` is a value of it: int, float, bool, str, list[…], Literal, Enum,
    dataclasses, TypedDict, pydantic models, `Int(1, 5)` and the like. `until(value)` is called on the event loop with
    each value, and what it refuses is generated anew, at most `tries` times.
    """
    given: dict[str, Value] = {
        "max": max,
        "temp": temp,
        "top_p": top_p,
        "top_k": top_k,
        "min_p": min_p,
        "stop": None if stop is None else _stops(stop),
        "seed": seed,
        "logprobs": logprobs,
        "timeout": timeout,
        "tries": tries,
        "model": model,
    }
    options = {option: value for option, value in given.items() if value is not None}
    if until is not None and not callable(until):
        raise ProgramError("E0402", f"`until` of `gen` is {until!r:.60}, expected a function", "until=lambda x: x > 3")
    return Gen(_name(name, "gen"), options, None if type is str else type, until)


def select(name: str, options: Iterable[str | int | float | bool], *, norm: str | None = None) -> Select:
    """Append the likeliest of the options and bind it to `name`. `norm`: "tokens", "sum", "greedy" or "prior"."""
    given = plain(options)
    if isinstance(given, (str, bytes, AbstractSet)) or not isinstance(given, Iterable):
        raise ProgramError(
            "E0402", f"`select` from {given!r:.60}, expected a list of texts", f'select({name!r}, ["yes", "no"])'
        )
    return Select(_name(name, "select"), tuple(map(_option, given)), norm)


def _name(name: object, construct: str) -> str:
    if isinstance(name, str) and name:
        return name
    raise ProgramError("E0402", f"`{construct}` binds {name!r:.40}, expected a name", f'{construct}("answer", …)')


def _stops(stop: object) -> Value:
    stops = [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, Iterable):
        raise ProgramError("E0402", f"`stop` is {stop!r:.40}, expected a text or a list of texts", 'stop="\\n"')
    texts = [plain(text) for text in stops]
    if "" in texts:
        raise ProgramError("E0401", "`stop` is empty text, which is everywhere", "leave it out")
    return texts


def _option(option: object) -> Any:
    found = plain(option)
    if isinstance(found, str):
        return str.__str__(found)  # the text of a StrEnum's member too
    if isinstance(found, (int, float)) and not isinstance(found, Enum):
        return found
    hint = "[member.value for member in …]" if isinstance(found, Enum) else "str(x) makes text of anything"
    raise ProgramError("E0402", f"an option of `select` is {found!r:.60}, expected text", hint)
