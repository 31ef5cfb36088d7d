"""Values of a program that is not run: what does not depend on the model is known, the rest is `Unknown`.

A list or record whose length and keys are known may have unknown items.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from frontend_lang.explain.counting import UNKNOWN, Tokens, largest
from frontend_lang.values import Value, equal, text_of

Abstract: TypeAlias = "str | int | float | bool | list[Abstract] | dict[str, Abstract] | Unknown | None"


@dataclass(frozen=True)
class Unknown:
    """A value that only a run has.

    `tokens`: of its text. `ready`: how many gens one after the other it takes until it is there. `item`: what is known
    of any one of its items, if it is a list.
    """

    tokens: Tokens = UNKNOWN
    ready: int = 0
    item: Abstract = None

    def later(self, ready: int) -> Unknown:
        """The same, not before `ready`."""
        return replace(self, ready=max(self.ready, ready))


Piece: TypeAlias = "str | Unknown"  # text that is known, and text that is not
TextSize = Callable[[str], int]  # tokens of a text by itself


def leaves(value: Abstract) -> Iterable[Unknown]:
    """The unknown parts."""
    if isinstance(value, Unknown):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)


def is_known(value: Abstract) -> bool:
    """Whether nothing in it is unknown."""
    return next(iter(leaves(value)), None) is None


def known(value: Abstract) -> Value:
    """The value itself, where `is_known`."""
    return cast("Value", value)


def ready(value: Abstract) -> int:
    """When all of it is there."""
    return max((leaf.ready for leaf in leaves(value)), default=0)


def pieces_of(value: Abstract) -> list[Piece]:
    """What `@{}` inserts. The items of lists and records are written as JSON, so their size is an estimate."""
    if is_known(value):
        return [text_of(known(value))]
    if isinstance(value, Unknown):
        return [value]
    return list(_json_pieces(value))


def _json_pieces(value: Abstract) -> Iterable[Piece]:
    if is_known(value):
        yield text_of(known(value)) if not isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    elif isinstance(value, Unknown):
        yield Unknown(value.tokens.about(), value.ready)
    else:
        yield from _container_pieces(value)


def _container_pieces(value: Abstract) -> Iterable[Piece]:
    entries = (
        list(value.items()) if isinstance(value, dict) else [(None, item) for item in cast("list[Abstract]", value)]
    )
    yield "{" if isinstance(value, dict) else "["
    for index, (key, item) in enumerate(entries):
        yield ("," if index else "") + ("" if key is None else json.dumps(key, ensure_ascii=False) + ":")
        yield from _json_pieces(item)
    yield "}" if isinstance(value, dict) else "]"


def text_from(pieces: Sequence[Piece], count: TextSize) -> Abstract:
    """The text that pieces make: known if all of them are."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(cast("Sequence[str]", pieces))
    tokens = Tokens(0)
    for piece in pieces:
        tokens += piece.tokens if isinstance(piece, Unknown) else Tokens(count(piece)) if piece else Tokens(0)
    return Unknown(tokens.at_most(), max(piece.ready for piece in pieces if isinstance(piece, Unknown)))


def either(values: Sequence[Abstract], count: TextSize) -> Abstract:
    """One of several values, nobody knows which."""
    first = values[0]
    if all(is_known(value) for value in values) and all(equal(known(first), known(value)) for value in values[1:]):
        return first
    if isinstance(first, dict) and all(isinstance(value, dict) and value.keys() == first.keys() for value in values):
        records = cast("list[dict[str, Abstract]]", list(values))
        return {key: either([record[key] for record in records], count) for key in first}
    if isinstance(first, list) and all(isinstance(value, list) and len(value) == len(first) for value in values):
        lists = cast("list[list[Abstract]]", list(values))
        return [either(list(items), count) for items in zip(*lists, strict=True)]
    sizes = largest([size_of(value, count) for value in values]).at_most()
    return Unknown(sizes, max(map(ready, values)))


def size_of(value: Abstract, count: TextSize) -> Tokens:
    """Tokens of the value's text by itself."""
    text = text_from(pieces_of(value), count)
    return text.tokens if isinstance(text, Unknown) else Tokens(count(cast("str", text)) if text else 0)
