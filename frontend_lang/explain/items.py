"""What a loop, fork or map goes over."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from frontend_lang.errors import ProgramError
from frontend_lang.explain.abstract import Abstract, TextSize, Unknown, either, is_known, known
from frontend_lang.explain.counting import UNKNOWN, Tokens
from frontend_lang.rows import Rows
from frontend_lang.values import type_name

MAX_EACH = 1000  # items that are walked one by one; of more, one stands for all


@dataclass(frozen=True)
class Items:
    """`each`: all of them, None where that is not known or too many. `any`: what is known of any one."""

    each: list[Abstract] | None
    any: Abstract
    count: Tokens


def items_of(value: Abstract, size: TextSize) -> Items:
    """The items of a list or of a data file. Raises E0402."""
    if isinstance(value, Rows):
        rows: list[Abstract] = list(islice(iter(value), 10 * MAX_EACH + 1))
        return _of_list(rows, UNKNOWN if len(rows) > 10 * MAX_EACH else Tokens(len(rows)), size)
    if isinstance(value, list):
        return _of_list(value, Tokens(len(value)), size)
    if isinstance(value, Unknown):
        part = Unknown(value.tokens.at_most(), value.ready)
        return Items(None, part if value.item is None else value.item, UNKNOWN)
    found = type_name(known(value)) if is_known(value) else "record"
    raise ProgramError("E0402", f"expected a list, found {found}")


def _of_list(items: list[Abstract], count: Tokens, size: TextSize) -> Items:
    if len(items) <= MAX_EACH:
        return Items(items, None, count)
    return Items(None, either(items, size), count)
