"""Values of the host with promises somewhere in them."""

from __future__ import annotations

import dataclasses
import inspect
from collections import deque
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import msgspec

from frontend_lang.errors import ProgramError
from frontend_lang.python_api.handles import Handle
from frontend_lang.python_api.promises import Promise

_SEQUENCES = (list, tuple, set, frozenset, deque)
_SCALARS = (str, int, float, bool, type(None))


async def settled(value: Any) -> Any:
    """The value with every promise and fork in it waited for: in lists, tuples, sets, dicts, dataclasses, structs and
    pydantic models, however deep. Without any it is the value itself; otherwise a copy, whose other objects are the
    same. Raises E0402 for a context, a gen, a select or a coroutine in it, E0808 if it is too deep to be copied.
    """
    awaited, others = _looked_through(value)
    _check_no_coroutines(others)
    if not awaited:
        return value
    known = {id(other): other for other in others}
    outcomes = [part.outcome() if isinstance(part, Handle) else part for part in awaited]
    for part, outcome in zip(awaited, outcomes, strict=True):
        known[id(part)] = await settled(await outcome)
    try:
        return deepcopy(value, known)
    except RecursionError:
        raise ProgramError("E0808", "a value with promises in it that is nested too deeply to be copied") from None


def _check_no_coroutines(others: list[Any]) -> None:
    found = [other for other in others if inspect.iscoroutine(other)]
    for coroutine in found:
        coroutine.close()  # or Python warns that nobody awaits it
    if found:
        name = found[0].__qualname__
        raise ProgramError("E0402", f"a coroutine, `{name}`, is no value: nobody has awaited it", "await it")


def _looked_through(value: Any) -> tuple[list[Promise | Handle], list[Any]]:
    """Promises and the like in the order in which they stand, and objects that are no data; each is looked at once."""
    awaited, others, seen, pending = list[Promise | Handle](), list[Any](), set[int](), [value]
    while pending:
        part = pending.pop()
        if type(part) in _SCALARS or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, (Promise, Handle)):
            awaited.append(part)
        elif (parts := _parts(part)) is None:
            others.append(part)
        else:
            pending += reversed(list(parts))
    return awaited, others


def _parts(value: Any) -> Iterable[Any] | None:
    """What an object of data consists of; None for any other object."""
    if isinstance(value, _SEQUENCES):
        return value
    if isinstance(value, Mapping):
        return [part for item in value.items() for part in item]
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name) for field in dataclasses.fields(value) if hasattr(value, field.name)]
    if isinstance(value, msgspec.Struct):
        return [getattr(value, name) for name in value.__struct_fields__]
    if hasattr(value, "model_dump"):  # pydantic
        return list(vars(value).values())
    return None
