"""What can be appended to a context besides text: `gen` and `select`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any, ClassVar

from frontend_lang.errors import ProgramError
from frontend_lang.python_api.handles import Handle
from frontend_lang.python_api.keywords import with_keywords
from frontend_lang.python_api.promises import plain
from frontend_lang.values import Value

Until = Callable[[Any], "bool | Awaitable[bool]"]


class Gen(Handle):  # no dataclass: inside a list it would pass for data
    """A generation: the name it binds, its options, the Python type of its value, and what the value must meet."""

    called: ClassVar[str] = "a gen"
    for_text: ClassVar[str] = 'append it: s.assistant("…", gen("a"))'
    for_value: ClassVar[str] = 'append it by itself, and return what it binds: s += gen("a"), then s["a"]'

    def __init__(
        self,
        name: str,
        options: Mapping[str, Value],
        type: Any = None,  # noqa: A002
        until: Until | None = None,
    ) -> None:
        self.name = name
        self.options = options
        self.type = type
        self.until = until

    def __repr__(self) -> str:
        return f"gen({self.name!r}{''.join(f', {name}={value!r}' for name, value in self._given())})"

    def _given(self) -> list[tuple[str, Any]]:
        others = [("type", self.type), ("until", self.until)]
        return [*self.options.items(), *(other for other in others if other[1] is not None)]


class Select(Handle):
    """A choice: the name it binds, the texts to choose from, and how they are scored."""

    called: ClassVar[str] = "a select"
    for_text: ClassVar[str] = 'append it: s.assistant("…", select("a", ["yes", "no"]))'
    for_value: ClassVar[str] = 'append it by itself, and return what it binds: s += select("a", …), then s["a"]'

    def __init__(self, name: str, options: Sequence[str | int | float | bool], norm: str | None = None) -> None:
        self.name = name
        self.options = options
        self.norm = norm

    def __repr__(self) -> str:
        norm = "" if self.norm is None else f", norm={self.norm!r}"
        return f"select({self.name!r}, {list(self.options)!r}{norm})"


@with_keywords("gen")
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


@with_keywords("select")
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
