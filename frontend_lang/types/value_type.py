"""What a `gen` of a type needs: the constraint, and how the text becomes a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from frontend_lang.errors import ProgramError
from frontend_lang.runtime import Constraint
from frontend_lang.types.words import shortened
from frontend_lang.values import Value

MAX_SHOWN_TEXT = 60


@dataclass(frozen=True)
class ValueType:
    """A type that can be generated. `description` is the type as it is written, in short.

    `constraint` is None where any text will do. A text that the constraint allows is parsed without error, unless
    `max` cut it off, a number is beyond its range or a key of an open record is repeated.
    """

    description: str
    constraint: Constraint | None
    _read: Callable[[str], Value] = field(repr=False)

    def parse(self, text: str) -> Value:
        """The value that the text stands for. Raises E0609 with the text and what was expected."""
        try:
            return self._read(text)
        except ProgramError as error:
            raise not_parsed(text, self.description, error.message) from None


def not_parsed(text: str, description: str, reason: str) -> ProgramError:
    """E0609 about a generated text."""
    shown = shortened(repr(text), MAX_SHOWN_TEXT)
    cut = "" if "64 bits" in reason or "range of a float" in reason else "a larger `max` if the text was cut off; "
    hint = f"{cut}try again with `until`; raw(x) is the text itself"
    return ProgramError("E0609", f"{shown} is no {description}: {reason}", hint)
