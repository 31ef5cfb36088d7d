"""What the grammar compiler says of a JSON schema that has no text, in our words."""

from __future__ import annotations

import re

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")

_UNSATISFIABLE = "Unsatisfiable schema: "
_COUNTED = re.compile(r"(\w+) \((\S+)\) is (greater than|equal to) (\w+) \((\S+)\)")
_CAUSES = (
    ("anyOf is empty", "an empty list leaves it no value"),
    ("Regex is empty", "its patterns, formats and lengths exclude each other"),
    ("incompatible types", "its parts want values of different types"),
    ("multiple of", "no number within the bounds is a multiple of multipleOf"),
    ("no integer values", "there is no integer within the bounds"),
)
_REQUIRED = re.compile(r"required property '(.*)' is unsatisfiable")


def why_nothing_fits(message: str) -> str | None:
    """Why no text at all fits a schema; None where the message says something else."""
    if _UNSATISFIABLE not in message:
        return None
    why = message.split(_UNSATISFIABLE)[-1]
    counted, required = _COUNTED.search(why), _REQUIRED.search(why)
    if counted is not None:
        low, least, relation, high, most = counted.groups()
        return f"{low} {least} is {relation.replace('greater', 'more')} {high} {most}"
    if required is not None:
        return f"the property {required[1]!r} is required and can have no value"
    return next((words for sign, words in _CAUSES if sign in why), why.splitlines()[0][:200])


def unknown_type(value: object) -> str | None:
    """What is wrong with the value of `type`."""
    names = value if isinstance(value, list) else [value]
    bad = [name for name in names if name not in TYPES]
    return f"needs one of {', '.join(TYPES)}, or a list of them, found {bad[0]!r}" if bad else None
