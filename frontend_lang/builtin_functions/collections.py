"""Builtins on lists and records."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from frontend_lang.builtin_functions.arguments import a_bool, a_list, a_record, wrong
from frontend_lang.errors import ProgramError
from frontend_lang.operators import item
from frontend_lang.sizes import MAX_DEPTH
from frontend_lang.values import MAX_ITEMS, MAX_TEXT, Value, checked_items, is_number


def length(x: Value) -> Value:
    """Characters, items or fields."""
    if isinstance(x, (str, list, dict)):
        return len(x)
    raise wrong("len", "a str, list or record", x)


def keys(record: Value) -> Value:
    """The names of the fields, in order."""
    return list(a_record("keys", record))


def values(record: Value) -> Value:
    """The values of the fields, in order."""
    return list(a_record("values", record).values())


def zip_lists(*lists: Value) -> Value:
    """Lists of the items at equal places."""
    columns = [a_list("zip", column) for column in lists]
    lengths = [len(column) for column in columns]
    if len(columns) < 2:
        raise ProgramError("E0307", "`zip` takes two lists or more", "zip(a, b)")
    if len(set(lengths)) != 1:
        shown = " and ".join(map(str, lengths))
        raise ProgramError("E0402", f"`zip` needs lists of equal length, found {shown} items", "cut one: x[:n]")
    if sum(lengths) > MAX_ITEMS:
        raise ProgramError("E0808", f"`zip` of more than {MAX_ITEMS} items")
    return [list(row) for row in zip(*columns, strict=True)]


def sort(items: Value, desc: Value = False, by: Value = None) -> Value:
    """In ascending order, equal items in the order they had; nan comes last. `by` is a field, or a place in lists."""
    given = a_list("sort", items)
    ranked = [(element if by is None else item(element, by), element) for element in given]
    _check_sortable([key for key, _ in ranked])
    ordinary = [pair for pair in ranked if not _is_nan(pair[0])]
    ordered = sorted(ordinary, key=_first, reverse=a_bool("sort", desc))
    return [element for _, element in [*ordered, *(pair for pair in ranked if _is_nan(pair[0]))]]


def _first(pair: tuple[Any, Value]) -> Any:
    return pair[0]


def _check_sortable(sort_keys: list[Value]) -> None:
    if all(map(is_number, sort_keys)) or all(isinstance(key, str) for key in sort_keys):
        return
    other = next(key for key in sort_keys if not is_number(key) or isinstance(sort_keys[0], str))
    raise wrong("sort", "numbers only or strs only", other, 'sort(items, by="field") sorts records by a field')


def _is_nan(value: Value) -> bool:
    return type(value) is float and math.isnan(value)


def unique(items: Value) -> Value:
    """The first of each group of equal items, in order. O(size of the items)."""
    identity = _Identity()
    seen: dict[Hashable, Value] = {}
    for element in a_list("unique", items):
        seen.setdefault(identity.of(element), element)
    return checked_items(list(seen.values()))


class _Identity:
    """Keys that are equal where the language calls values equal: 1 is 1.0, true is not 1, nan is no other nan."""

    def __init__(self) -> None:
        self._left = MAX_TEXT

    def of(self, value: Value, depth: int = 0) -> Hashable:
        self._left -= 1
        if depth > MAX_DEPTH or self._left < 0:
            raise ProgramError("E0808", "the values are too large to compare")
        if isinstance(value, list):
            return "list", tuple([self.of(element, depth + 1) for element in value])
        if isinstance(value, dict):
            return "record", frozenset([(key, self.of(element, depth + 1)) for key, element in value.items()])
        if _is_nan(value):
            return object()
        return (value,) if is_number(value) else (type(value).__name__, value)
