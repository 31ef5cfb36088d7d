"""Constraints made to take time or memory; as a program, measures one of them in a fresh process."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from radixkv.constraint import Choice, Constraint, JsonSchema, Lark, Regex

_LAUGHS = {f"a{level}": {"allOf": [{"$ref": f"#/$defs/a{level + 1}"}] * 4} for level in range(12)}
_DEEP: dict[str, Any] = {f"a{level}": {"prefixItems": [{"$ref": f"#/$defs/a{level + 1}"}] * 10} for level in range(12)}
HOSTILE: dict[str, Constraint | dict[str, Any]] = {
    "unclosed class": Regex("["),
    "unclosed group": Regex("(a"),
    "large repeat": Regex("a{99999}"),
    "nested plus": Regex("(a+)+$"),
    "nested repeats": Regex("((a{1000}){1000}){10}"),
    "optional 3,000": Regex("a?" * 3000 + "a" * 500),
    "optional 30,000": Regex("a?" * 30_000 + "a" * 5000),
    "repeat of optional": Regex("(a?){3000}a{3000}"),
    "exponential states": Regex(".*a.{20}"),
    "more exponential states": Regex(".*a.{200}b"),
    "unicode classes": Regex(r"(\p{L}|\p{N}){1,2000}"),
    "deep groups": Regex("(" * 20_000 + "a" + ")" * 20_000),
    "deep and large schema": JsonSchema('{"items":' * 7000 + "{}" + "}" * 7000),
    "large multiple": {"type": "integer", "multipleOf": 99_999_999},
    "intersected patterns": {"allOf": [{"type": "string", "pattern": f"a.{{{n}}}b"} for n in range(10, 40)]},
    "pattern of repeats": {"type": "string", "pattern": "^(a{1000}){1000}$"},
    "1,500 properties": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(1500)}},
    "5,000 values": {"enum": [f"v{n}" for n in range(5000)]},
    "500 objects": {"anyOf": [{"properties": {f"k{n}": {}}, "required": [f"k{n}"]} for n in range(500)]},
    "product of alternatives": {
        "allOf": [{"anyOf": [{"properties": {f"k{i}{j}": {}}} for j in range(4)]} for i in range(12)]
    },
    "laughs of allOf": {"$defs": _LAUGHS | {"a12": {"type": "string"}}, "$ref": "#/$defs/a0"},
    "laughs of arrays": {"$defs": _DEEP | {"a12": {"type": "string"}}, "$ref": "#/$defs/a0"},
    "nested arrays": {"type": "array", "maxItems": 10**9, "items": {"type": "array", "maxItems": 10**6}},
    "endless reference": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    "ambiguous grammar": Lark('start: s\ns: s s | "a" | ""'),
    "nested grammar": Lark('start: a{1,1000}\na: b{1,1000}\nb: c{1,1000}\nc: "x"'),
    "deep grammar": Lark("start: " + "(" * 20_000 + '"a"' + ")" * 20_000),
    "10,000 options": Choice(tuple(f"{n:05}" for n in range(10_000))),
}
STEPS = 200


def constraint_of(name: str) -> Constraint:
    """The constraint of that name."""
    found = HOSTILE[name]
    return JsonSchema(json.dumps(found)) if isinstance(found, dict) else found


def measure(name: str) -> dict[str, Any]:
    """Time and memory of compiling a constraint and of following it, both through the engine's own classes."""
    from radixkv.constraints import ConstraintCompiler, TokenVocabulary
    from radixkv.errors import ConstraintError

    words = [bytes([97 + n % 26, 97 + n // 26 % 26, 97 + n // 676]) for n in range(17_000)]
    tokens = [*(bytes([byte]) for byte in range(256)), b"<eos>", *words]
    compiler = ConstraintCompiler(TokenVocabulary(tokens, [256], [256], lambda text: list(text.encode())))
    compiler.compile(Regex("warm"))
    before, begin, slowest, outcome = _peak(), time.perf_counter(), 0.0, "compiled"
    compiled_in = 0.0
    try:
        compiled = compiler.compile(constraint_of(name))
        compiled_in = time.perf_counter() - begin
        slowest, outcome = _follow(compiled.matcher.copy(), compiled.constrained.complete)
    except ConstraintError as error:
        compiled_in, outcome = time.perf_counter() - begin, f"{error.kind.value}: {error.detail[:80]}"
    finally:
        compiler.close()
    return {
        "compile_s": round(compiled_in, 3),
        "slowest_step_s": round(slowest, 4),
        "peak_growth_bytes": _peak() - before,
        "outcome": outcome,
    }


def _follow(matcher: Any, complete: bool) -> tuple[float, str]:
    slowest = 0.0
    for step in range(STEPS):
        allowed = matcher.allowed
        places = [n for n in range(len(allowed)) if allowed[n]]
        if complete or not places:
            return slowest, "compiled, ended"
        place = places[step * 7919 % len(places)]
        bits = int(allowed[place])
        token_id = place * 8 + (bits & -bits).bit_length() - 1
        begin = time.perf_counter()
        following = matcher.advance(token_id)
        slowest = max(slowest, time.perf_counter() - begin)
        if following.error is not None:
            return slowest, f"compiled, then {following.error}"
        complete = following.complete
    return slowest, "compiled"


def _peak() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
