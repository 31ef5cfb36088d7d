"""Typed reading of a model's settings, with errors that name the file and the field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from radixkv.errors import BadModelFile


@dataclass(frozen=True)
class Fields:
    """Settings read from `file`; None counts as absent.

    Every getter raises BadModelFile for a value of the wrong kind.
    """

    file: str
    values: Mapping[str, Any]

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def get(self, name: str) -> Any:
        """The raw value, None if absent."""
        return self.values.get(name)

    def count(self, name: str, default: int | None = None) -> int:
        """A positive integer."""
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.wrong(name, "a positive integer")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """A positive number."""
        value = self._value(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
            raise self.wrong(name, "a positive number")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._value(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def text(self, name: str, default: str | None = None) -> str:
        """A string."""
        value = self._value(name, default)
        if not isinstance(value, str):
            raise self.wrong(name, "a string")
        return value

    def ids(self, name: str) -> tuple[int, ...]:
        """Token ids: one, a list of them, or none; each once, in order."""
        value = self.values.get(name)
        listed = [] if value is None else value if isinstance(value, list) else [value]
        if any(isinstance(item, bool) or not isinstance(item, int) or item < 0 for item in listed):
            raise self.wrong(name, "a token id or a list of them")
        return tuple(dict.fromkeys(listed))

    def group(self, name: str) -> Fields:
        """A nested object, empty if absent."""
        value = self._value(name, {})
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return Fields(self.file, value)

    def wrong(self, name: str, expected: str) -> BadModelFile:
        """The error for a field."""
        value = self.values.get(name)
        return BadModelFile(self.file, f"field {name!r}", expected, "nothing" if value is None else repr(value))

    def _value(self, name: str, default: Any) -> Any:
        value = self.values.get(name)
        return default if value is None else value


def read_json_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises BadModelFile."""
    try:
        value = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        raise BadModelFile(str(path), "the file", "a JSON object", "no such file") from None
    except OSError as error:
        raise BadModelFile(str(path), "the file", "a JSON object", str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadModelFile(str(path), "the file", "a JSON object", f"text that is no JSON ({error})") from error
    if not isinstance(value, dict):
        raise BadModelFile(str(path), "the file", "a JSON object", f"a JSON {type(value).__name__}")
    return value
