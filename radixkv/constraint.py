"""Constraints on generated text, as plain data. `radixkv.constraints` compiles them.

They cross from callers to the engine and are compared by value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from radixkv.errors import InvalidRequest
from radixkv.tokens import TokenArray, token_array


@dataclass(frozen=True)
class Regex:
    """The text matches `pattern` whole. Syntax of Rust's regex crate: no look-around, no back-references."""

    pattern: str

    def __post_init__(self) -> None:
        _check_text("regex", self.pattern)


@dataclass(frozen=True)
class JsonSchema:
    """The text is compact JSON, without whitespace between tokens, valid under `schema`.

    The schema is JSON text, or a dict, which becomes JSON text.
    """

    schema: str

    def __init__(self, schema: str | Mapping[str, object]) -> None:
        object.__setattr__(self, "schema", _schema_text(schema))
        _check_text("json_schema", self.schema)


@dataclass(frozen=True)
class Lark:
    """The text parses under a grammar in llguidance's dialect of Lark."""

    grammar: str

    def __post_init__(self) -> None:
        _check_text("lark", self.grammar)


@dataclass(frozen=True)
class Choice:
    """The text is one of `options`; a list becomes a tuple."""

    options: tuple[str, ...]

    def __post_init__(self) -> None:
        options: object = self.options
        if not isinstance(options, list | tuple) or not options:
            raise InvalidRequest("choice", options, "a list of at least one text")
        for index, option in enumerate(options):
            _check_text(f"choice[{index}]", option)
            if not option:
                raise InvalidRequest(f"choice[{index}]", option, "a text that is not empty")
        object.__setattr__(self, "options", tuple(options))


Constraint: TypeAlias = Regex | JsonSchema | Lark | Choice


@dataclass(frozen=True)
class Constrained:
    """A constraint that was compiled once already, with what that told.

    `prefix`: text that the output begins with and the caller does not see, since it was there before (re-opened).
    `opening`: tokens with which every output begins. `complete`: nothing can follow the opening.
    """

    constraint: Constraint
    prefix: str = ""
    opening: TokenArray = field(default_factory=token_array)
    complete: bool = False


def _schema_text(schema: object) -> object:
    if not isinstance(schema, Mapping):
        return schema
    try:
        return json.dumps(schema, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest("json_schema", schema, f"what JSON can write ({error})") from None


def _check_text(field: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidRequest(field, value, "a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{field}, character {error.start}", value[error.start], "no lone surrogate") from None
