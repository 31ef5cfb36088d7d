"""Options after `with` and `set`, turned into settings. An option that is none has its default."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from frontend_lang.errors import ProgramError
from frontend_lang.running.limits import Limits
from frontend_lang.runtime import GenParams, Norm
from frontend_lang.seeds import MAX_SEED
from frontend_lang.values import Value, is_number, type_name

_T = TypeVar("_T")
DEFAULT_TRIES = 3
MAX_TRIES = 1000
DEFAULT_WIDTH = 64
MAX_TEMPERATURE = 100.0
MAX_TIMEOUT_S = 86_400.0
FORK_OPTIONS = frozenset({"width", "timeout", "on_error"})  # others are defaults for the gens in the branches
MAP_OPTIONS = FORK_OPTIONS | {"stream"}


@dataclass(frozen=True, slots=True)
class GenSettings:
    """Options of one gen: how to sample; an explicit seed and a number of tries where they were given."""

    params: GenParams
    seed: int | None = None
    tries: int | None = None


@dataclass(frozen=True, slots=True)
class ForkSettings:
    """Options of one fork. `on_error` is None where it was not given."""

    width: int
    timeout_s: float | None
    on_error: str | None


@dataclass(frozen=True, slots=True)
class _Number:
    """A number within bounds, both included."""

    low: float
    high: float
    whole: bool = False
    limits: str | None = None  # in words, where they are not simply `low` to `high`

    def __call__(self, name: str, value: Value) -> float:
        if not is_number(value) or (self.whole and type(value) is not int):
            raise _mistyped(name, "an int" if self.whole else "a number", value)
        if not self.low <= value <= self.high:  # type: ignore[operator]
            raise ProgramError("E0401", f"{name}={value}", f"{name} is {self.limits or f'{self.low} to {self.high}'}")
        return value  # type: ignore[return-value]


def _stops(name: str, value: Value) -> tuple[str, ...]:
    stops = value if isinstance(value, list) else [value]
    for stop in stops:
        if not isinstance(stop, str):
            raise _mistyped(name, "a str or a list of str", stop)
    return tuple(stop for stop in stops if isinstance(stop, str) and stop)


def _text(name: str, value: Value) -> str:
    if isinstance(value, str):
        return value
    raise _mistyped(name, "a str", value)


def _mistyped(name: str, expected: str, found: Value) -> ProgramError:
    return ProgramError("E0402", f"option `{name}` needs {expected}, found {type_name(found)}")


_FIELDS: Mapping[str, tuple[str, Callable[[str, Value], object]]] = {
    "max": ("max_tokens", _Number(1, math.inf, whole=True, limits=f"1 to {Limits().gen_max}")),
    "temp": ("temperature", _Number(0.0, MAX_TEMPERATURE)),
    "top_p": ("top_p", _Number(1e-9, 1.0)),
    "top_k": ("top_k", _Number(0, MAX_SEED, whole=True)),
    "min_p": ("min_p", _Number(0.0, 1.0)),
    "stop": ("stop", _stops),
    "logprobs": ("logprobs", _Number(0, 1000, whole=True)),
    "timeout": ("timeout_s", _Number(1e-3, MAX_TIMEOUT_S)),
    "model": ("model", _text),
}
_seed = _Number(0, MAX_SEED, whole=True)
_tries = _Number(1, MAX_TRIES, whole=True)
_width = _Number(1, math.inf, whole=True, limits=f"at least 1; at most {Limits().live_branches} branches run at once")


def gen_settings(options: Mapping[str, Value]) -> GenSettings:
    """Settings of a gen. Raises E0303 for an unknown option, E0401 and E0402 for bad values."""
    fields: dict[str, object] = {}
    seed, tries = None, None
    for name, value in options.items():
        if value is None:
            continue
        if name == "seed":
            seed = int(_seed(name, value))
        elif name == "tries":
            tries = int(_tries(name, value))
        else:
            field, read = known(name, _FIELDS, "gen")
            fields[field] = read(name, value)
    return GenSettings(GenParams(**fields), seed, tries)  # type: ignore[arg-type]


def fork_settings(options: Mapping[str, Value]) -> ForkSettings:
    """Settings of a fork; its other options are left alone. Raises E0401 and E0402."""
    width, timeout, on_error = (options.get(name) for name in ("width", "timeout", "on_error"))
    if on_error not in (None, "fail", "drop", "none"):
        raise ProgramError("E0401", f"on_error={on_error!r}", 'on_error is "fail", "drop" or "none"')
    return ForkSettings(
        DEFAULT_WIDTH if width is None else int(_width("width", width)),
        None if timeout is None else float(_Number(1e-3, MAX_TIMEOUT_S)("timeout", timeout)),
        None if on_error is None else str(on_error),
    )


def stream_setting(options: Mapping[str, Value]) -> bool:
    """Whether a map tells of every value as soon as it is there. Raises E0402."""
    stream = options.get("stream")
    if stream is None or isinstance(stream, bool):
        return bool(stream)
    raise _mistyped("stream", "true or false", stream)


def norm_setting(options: Mapping[str, Value]) -> Norm:
    """How a select scores. Raises E0303 and E0401."""
    for name in options:
        known(name, {"norm": None}, "select")
    norm = options.get("norm")
    if norm is None:
        return Norm.TOKENS
    try:
        return Norm(_text("norm", norm))
    except ValueError:
        raise ProgramError("E0401", f"norm={norm!r}", f"norm is one of {', '.join(Norm)}") from None


def known(name: str, table: Mapping[str, _T], construct: str) -> _T:
    """The entry of a table of options. Raises E0303."""
    if name not in table:
        raise ProgramError("E0303", f"{construct} has no option `{name}`", f"options: {', '.join(table)}")
    return table[name]


@asynccontextmanager
async def time_limit(seconds: float | None, what: str, code: str = "E0803") -> AsyncIterator[None]:
    """Raise a ProgramError if the block takes longer than so many seconds; None = no limit."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise ProgramError(code, f"{what} took longer than {seconds:g} s") from None
