"""What llguidance says about a grammar, as our error: which kind, which keyword, which place."""

from __future__ import annotations

import re
from typing import Final

from radixkv.constraint import Choice, Constraint, JsonSchema, Regex
from radixkv.constraints.grammar import field_of
from radixkv.constraints.schema import place_of, schema_of, unsupported
from radixkv.errors import ConstraintError, ConstraintKind

_KEYS: Final = re.compile(r'Unimplemented keys: \["([^"]+)"')
_REGEX: Final = re.compile(r"regex parse error:\n(?P<pattern>.*?)\n(?P<blank> *)\^+ *\nerror: (?P<why>.*)")
_BUDGET: Final = ("too large", "too complex", "too many", "limit", "max is", "fuel", "too big", "too deep", "recursion")


def diagnose(constraint: Constraint, message: str) -> ConstraintError:
    """The error that a message of the compiler, or a warning that something was ignored, is to a caller."""
    field = field_of(constraint)
    if isinstance(constraint, JsonSchema) and (found := _keyword(constraint, message)) is not None:
        return found
    broken = _REGEX.search(message)
    if broken is not None:
        place = f"character {len(broken['blank']) - 4 + 1}: " if isinstance(constraint, Regex) else ""
        return ConstraintError(ConstraintKind.INVALID, field, f"{place}{broken['why']}, in {_shown(broken['pattern'])}")
    first = message.strip().splitlines()[0] if message.strip() else "no cause given"
    if any(sign in message for sign in _BUDGET):
        return over_budget(field, first)
    return ConstraintError(ConstraintKind.INVALID, field, _shown(first, 300))


def over_budget(field: str, detail: str) -> ConstraintError:
    """The error of what takes too much."""
    return ConstraintError(ConstraintKind.BUDGET, field, f"over budget: {_shown(detail, 300)}")


def dead_end(constraint: Constraint, prefix: str = "") -> ConstraintError:
    """The error of a constraint that no text satisfies."""
    after = f" after {prefix!r}" if prefix and not isinstance(constraint, Choice) else ""
    return ConstraintError(ConstraintKind.INVALID, field_of(constraint), f"no text at all satisfies it{after}")


def _keyword(constraint: JsonSchema, message: str) -> ConstraintError | None:
    """The keyword that the compiler names, and where it stands."""
    schema = schema_of(constraint.schema)
    keys = _KEYS.search(message)
    if keys is not None:
        return unsupported(keys[1], place_of(schema, keys[1]), "is not supported")
    if "oneOf" in message:
        return unsupported(
            "oneOf", place_of(schema, "oneOf"), "is supported only where its branches exclude each other; try `anyOf`"
        )
    if "Unknown format" in message:
        return unsupported("format", place_of(schema, "format"), f"is not supported: {message.strip()}")
    for keyword in ("pattern", "minProperties", "patternProperties", "multipleOf", "$ref"):
        if keyword in message or (keyword == "pattern" and "regex parse error" in message):
            broken = _REGEX.search(message)
            why = f"{broken['why']}, in {_shown(broken['pattern'])}" if broken else _shown(message, 300)
            kind = ConstraintKind.INVALID
            return ConstraintError(kind, "json_schema", f"keyword `{keyword}` at {place_of(schema, keyword)}: {why}")
    return None


def _shown(text: str, length: int = 80) -> str:
    line = " ".join(text.replace("<non-verbose/>", "").split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
