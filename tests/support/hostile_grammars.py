"""As a program: time and memory that a hostile constraint, or a hostile text for it, costs the language."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from frontend_lang import ProgramError, runtime
from frontend_lang.grammars import Grammar
from hostile_constraints import HOSTILE, _peak, constraint_of

_PATTERNS = [{"type": "string", "pattern": f"a.{{{n}}}b"} for n in range(5)]
MORE: dict[str, Any] = {
    "patterns in nested allOf": {"allOf": [{"allOf": _PATTERNS}, {"allOf": [*_PATTERNS, {"pattern": "(.*a){9}"}]}]},
    "doubling references": {
        "$defs": {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)} | {"a60": {}},
        "$ref": "#/$defs/a0",
    },
    "endless object": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    "two patterns": {"allOf": [{"pattern": "(a.{20}b){20}"}, {"pattern": "(b.{20}a){20}"}], "type": "string"},
    "many long patterns": {"properties": {f"p{n}": {"pattern": f"{n}" + "a?" * 1000 + "a" * 999} for n in range(20)}},
    "long pattern": {"type": "string", "pattern": r"\w?" * 1300},
    "300 branches": {"oneOf": [{"properties": {"k": {"const": n}}, "required": ["k"]} for n in range(300)]},
    "5,000 objects": {"enum": [{"a": n} for n in range(3000)]},
}
TEXTS = ["ab" * 50_000, '"' + "ab" * 50_000 + '"', "[" * 50_000, '{"a":' * 10_000, "1" * 50_000]


def measure(name: str) -> dict[str, Any]:
    """One constraint, and texts against it where it can be compiled."""
    if name in MORE:
        constraint: runtime.Constraint = runtime.JsonSchema(json.dumps(MORE[name]))
    else:
        found = constraint_of(name)
        (content,) = vars(found).values()
        constraint = getattr(runtime, type(found).__name__)(content)
    Grammar.of(runtime.Regex("warm"))
    before, begin = _peak(), time.perf_counter()
    outcome = _outcome(lambda: Grammar.of(constraint))
    took = [time.perf_counter() - begin]
    for text in TEXTS if outcome == "done" else []:
        begin = time.perf_counter()
        outcome += ", " + _outcome(lambda text=text: Grammar.of(constraint).matches(text))  # type: ignore[misc]
        took.append(time.perf_counter() - begin)
    return {"slowest_s": round(max(took), 3), "peak_growth_bytes": _peak() - before, "outcome": outcome}


def _outcome(action: Any) -> str:
    try:
        action()
    except ProgramError as error:
        return error.code
    return "done"


NAMES = [*HOSTILE, *MORE]

if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
