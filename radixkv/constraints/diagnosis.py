"""What llguidance says about a grammar, as our error: which kind, which keyword, which place."""

from __future__ import annotations

import re
from typing import Final

from radixkv.constraint import Choice, Constraint, JsonSchema, Lark, Regex
from radixkv.constraints.grammar import field_of
from radixkv.constraints.schema_diagnosis import BORDERS, diagnose_schema, shown_pattern
from radixkv.errors import ConstraintError, ConstraintKind

_REGEX: Final = re.compile(r"regex parse error:\n(?P<pattern>.*?)\n(?P<blank> *)\^[ ^]*\nerror: (?P<why>.*)")
_LOOKAROUND: Final = re.compile(r"lookarounds not supported.* in regex /(?P<pattern>.*?)/(?=\n|$)", re.DOTALL)
_PLACE: Final = re.compile(r"(?:at )?(?P<line>\d+)\((?P<column>\d+)\): ")
_BUDGET: Final = ("too large", "too complex", "too many", "limit", "max is", "fuel", "too big", "too deep", "recursion")
_TOO_MANY: Final = (
    ("too many items", "it can go on in too many ways at once; perhaps it refers to itself without an end"),
    ("fuel", "its patterns take too much time; perhaps a repeat is too large"),
    ("states", "its patterns need too many states; perhaps a repeat is too large"),
)


def diagnose(constraint: Constraint, message: str) -> ConstraintError:
    """The error that a message of the compiler, or a warning that something was ignored, is to a caller."""
    if isinstance(constraint, JsonSchema) and (found := diagnose_schema(constraint.schema, message)) is not None:
        return found
    field = field_of(constraint)
    why = _bad_pattern(constraint, message)
    if why is not None:
        return ConstraintError(ConstraintKind.INVALID, field, why)
    first = message.strip().splitlines()[0] if message.strip() else "no cause given"
    if any(sign in first.lower() for sign in _BUDGET):
        return outgrown(field, first)
    return ConstraintError(ConstraintKind.INVALID, field, _placed(constraint, first))


def over_budget(field: str, detail: str) -> ConstraintError:
    """The error of what takes too much."""
    return ConstraintError(ConstraintKind.BUDGET, field, f"over budget: {shown_pattern(detail, 300)}")


def outgrown(field: str, message: str) -> ConstraintError:
    """The error of what takes too much, as the compiler or a matcher says it."""
    lowered = message.lower()
    return over_budget(field, next((words for sign, words in _TOO_MANY if sign in lowered), message))


def dead_end(constraint: Constraint, prefix: str = "") -> ConstraintError:
    """The error of a constraint that no text satisfies."""
    after = f" after {prefix!r}" if prefix and not isinstance(constraint, Choice) else ""
    return ConstraintError(ConstraintKind.INVALID, field_of(constraint), f"no text at all satisfies it{after}")


def _bad_pattern(constraint: Constraint, message: str) -> str | None:
    """What is wrong with a pattern, and where: the character of a regex, the line of a grammar."""
    broken, border = _REGEX.search(message), _LOOKAROUND.search(message)
    if broken is not None:
        place = f"character {len(broken['blank']) - 4 + 1}: " if isinstance(constraint, Regex) else ""
        return _placed(constraint, message, f"{place}{broken['why']}, in {shown_pattern(broken['pattern'])}")
    return None if border is None else _placed(constraint, message, f"{BORDERS}, in {shown_pattern(border['pattern'])}")


def _placed(constraint: Constraint, message: str, why: str | None = None) -> str:
    """The message with the line and column of a Lark grammar; other constraints have none of their own."""
    place = _PLACE.match(message)
    rest = shown_pattern(message[place.end() if place else 0 :], 300) if why is None else why
    if place is None or not isinstance(constraint, Lark):
        return rest
    return f"line {place['line']}, column {place['column']}: {rest}"
