"""Values of the host with promises somewhere in them."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import msgspec

from frontend_lang.python_api.promises import Promise

_SEQUENCES = (list, tuple, set, frozenset, deque)
_SCALARS = (str, int, float, bool, type(None))


async def settled(value: Any) -> Any:
    """The value with every promise in it waited for: in lists, tuples, sets, dicts, dataclasses, structs and pydantic
    models, however deep. Without promises it is the value itself; otherwise a copy, whose other objects are the same.
    """
    promises, others = _looked_through(value)
    if not promises:
        return value
    known = {id(other): other for other in others}
    for promise in promises:
        known[id(promise)] = await settled(await promise)
    return deepcopy(value, known)


def _looked_through(value: Any) -> tuple[list[Promise], list[Any]]:
    """Promises in the order in which they stand, and objects that are no data; each is looked at once."""
    promises, others, seen, pending = list[Promise](), list[Any](), set[int](), [value]
    while pending:
        part = pending.pop()
        if type(part) in _SCALARS or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Promise):
            promises.append(part)
        elif (parts := _parts(part)) is None:
            others.append(part)
        else:
            pending += reversed(list(parts))
    return promises, others


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
