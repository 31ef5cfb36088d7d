"""Compiling constraints: hostile ones against time and memory, what they allow, what is refused and where."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile_constraints import HOSTILE, constraint_of
from radixkv.constraint import Choice, Constraint, JsonSchema, Lark, Regex
from radixkv.constraints import ConstraintCompiler
from radixkv.errors import ConstraintError, ConstraintKind, InvalidRequest

EOS = 256
MAX_SECONDS = 2.0
MAX_BYTES = 256 * 2**20


def sample(compiler: ConstraintCompiler, constraint: Constraint, rng: random.Random, limit: int = 2000) -> bytes | None:
    """A text that a model without any preference gives; None where it does not end within `limit` tokens."""
    compiled = compiler.compile(constraint)
    tokens, matcher = compiler.vocabulary.tokens, compiled.matcher.copy()
    text = b"".join(tokens[token_id] for token_id in compiled.constrained.opening)
    complete = compiled.constrained.complete
    for _ in range(limit):
        if complete:
            return text
        ids = np.unpackbits(matcher.allowed, count=len(tokens), bitorder="little").nonzero()[0].tolist()
        closing = [token_id for token_id in ids if tokens[token_id][:1] in b'"}]' and token_id != EOS]
        token_id = EOS if EOS in ids else rng.choice(closing if closing and rng.random() < 0.3 else ids)
        if token_id == EOS:
            return text
        text += tokens[token_id]
        following = matcher.advance(token_id)
        assert following.error is None
        text += b"".join(tokens[forced] for forced in following.forced)
        complete = following.complete
    return None


@pytest.mark.parametrize("variant", [None, True, False, {"type": "integer"}])
def test_r139_additional_properties_absent_true_false_and_a_schema(
    compiler: ConstraintCompiler, variant: bool | dict[str, str] | None
) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    if variant is not None:
        schema["additionalProperties"] = variant
    rng = random.Random(5)
    texts = [sample(compiler, JsonSchema(json.dumps(schema)), rng) for _ in range(200)]
    values = [json.loads(text) for text in texts if text is not None]
    assert len(values) > 150
    for value in values:
        assert type(value["a"]) is int
        extra = {key: inner for key, inner in value.items() if key != "a"}
        assert not extra or variant is not False
        assert variant != {"type": "integer"} or all(type(inner) in (int, float) for inner in extra.values())
    assert any(len(value) > 1 for value in values) is (variant is not False)


def test_r142_strings_may_hold_any_utf_8_and_nothing_else(compiler: ConstraintCompiler) -> None:
    rng = random.Random(6)
    choice = JsonSchema(json.dumps({"enum": ["да", "日本", "😀"]}, ensure_ascii=False))
    assert {json.loads(sample(compiler, choice, rng) or b"") for _ in range(60)} == {"да", "日本", "😀"}
    free = [sample(compiler, JsonSchema('{"type": "string", "maxLength": 40}'), rng) for _ in range(100)]
    texts = [json.loads(text.decode("utf-8")) for text in free if text is not None]
    assert max(ord(char) for text in texts for char in text) > 0xFFFF
    assert any(0x400 <= ord(char) < 0x3000 for text in texts for char in text)


@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=6, unique=True))
@settings(max_examples=30, deadline=None)
def test_a_choice_gives_each_of_its_options_and_nothing_else(compiler: ConstraintCompiler, options: list[str]) -> None:
    constraint = Choice(tuple(options))
    rng = random.Random(7)
    assert {(sample(compiler, constraint, rng) or b"").decode() for _ in range(10)} <= set(options)
    for option in options:
        matcher = compiler.compile(constraint).matcher
        opening = bytes(compiler.compile(constraint).constrained.opening.tolist())
        assert option.encode().startswith(opening) or opening == b""
        assert matcher.allowed.any() or compiler.compile(constraint).constrained.complete


@pytest.mark.parametrize(
    ("constraint", "kind", "words"),
    [
        (Regex("["), ConstraintKind.INVALID, "character 1"),
        (Regex("ab(c"), ConstraintKind.INVALID, "character 3"),
        (Regex("a(?=b)"), ConstraintKind.INVALID, "look-around"),
        (Regex(r"(a)\1"), ConstraintKind.INVALID, "backreferences"),
        (Regex(r"[^\s\S]"), ConstraintKind.INVALID, "no text at all"),
        (Regex("a" * 70_000), ConstraintKind.BUDGET, "70000 bytes"),
        (Choice(("a",) * 10_001), ConstraintKind.BUDGET, "10001 options"),
        (Lark("start: x"), ConstraintKind.INVALID, "unknown name"),
        (Lark('start: %json {"not": {}, "x-guidance": {"lenient": true}}'), ConstraintKind.INVALID, "not"),
        (JsonSchema('{"type":'), ConstraintKind.INVALID, "line 1, column 9"),
        (JsonSchema("[]"), ConstraintKind.INVALID, "expected an object"),
        (JsonSchema('{"$ref": "#/$defs/x"}'), ConstraintKind.INVALID, "$defs/x"),
        (JsonSchema('{"$ref": "#"}'), ConstraintKind.INVALID, "no text at all"),
        (JsonSchema('{"maximum": 1e999}'), ConstraintKind.INVALID, "too large"),
        (JsonSchema('{"items":' * 70 + "{}" + "}" * 70), ConstraintKind.BUDGET, "deeper than 64"),
        (JsonSchema('{"x-guidance": {"lenient": true}, "not": {}}'), ConstraintKind.UNSUPPORTED, "`x-guidance` at #"),
        *(
            (
                JsonSchema(json.dumps({"properties": {"a/b": schema}})),
                ConstraintKind.UNSUPPORTED,
                f"`{keyword}` at #/pr",
            )
            for keyword, schema in {
                "not": {"not": {}},
                "if": {"if": {}, "then": {}},
                "contains": {"contains": {}},
                "uniqueItems": {"uniqueItems": True},
                "dependentRequired": {"dependentRequired": {"a": ["b"]}},
                "propertyNames": {"propertyNames": {}},
                "oneOf": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
                "format": {"type": "string", "format": "bogus"},
                "unevaluatedItems": {"unevaluatedItems": False},
            }.items()
        ),
    ],
)
def test_r136_a_constraint_that_cannot_be_kept_is_refused_by_name_and_place(
    compiler: ConstraintCompiler, constraint: Constraint, kind: ConstraintKind, words: str
) -> None:
    with pytest.raises(ConstraintError, match=re.escape(words)) as failure:
        compiler.compile(constraint)
    assert failure.value.kind is kind


def test_a_one_of_whose_branches_exclude_each_other_is_exact(compiler: ConstraintCompiler) -> None:
    rng = random.Random(8)
    schema = JsonSchema('{"oneOf": [{"type": "boolean"}, {"enum": ["a", "b"]}]}')
    assert {sample(compiler, schema, rng) for _ in range(40)} == {b"true", b"false", b'"a"', b'"b"'}


def test_what_asks_for_nothing_is_no_fault_of_a_schema(compiler: ConstraintCompiler) -> None:
    schema = JsonSchema('{"type": "array", "items": {"const": 1}, "minItems": 2, "maxItems": 2, "uniqueItems": false}')
    assert sample(compiler, schema, random.Random(9)) == b"[1,1]"


@pytest.mark.parametrize("value", [None, 3, [], ["a", 1], [""], "a\ud800"])
def test_values_that_are_no_constraint_are_named(value: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"choice|regex"):
        Regex(value) if isinstance(value, str) else Choice(value)


def test_a_schema_may_be_a_dict_and_constraints_are_names_of_the_package() -> None:
    import radixkv

    assert radixkv.JsonSchema({"type": "integer"}) == JsonSchema('{"type": "integer"}')
    assert (radixkv.Regex, radixkv.Lark, radixkv.Choice) == (Regex, Lark, Choice)
    with pytest.raises(InvalidRequest, match="what JSON can write"):
        radixkv.JsonSchema({"a": {1, 2}})
    with pytest.raises(InvalidRequest, match="a text"):
        JsonSchema(3)  # type: ignore[arg-type]


def test_a_constraint_is_compiled_once(compiler: ConstraintCompiler) -> None:
    first = compiler.compile(Regex("once[0-9]"))
    count = compiler.compiled
    assert compiler.compile(Regex("once[0-9]")) is first
    assert compiler.find(Regex("once[0-9]")) is first
    assert compiler.compiled == count
    assert compiler.find(Regex("never[0-9]")) is None


def test_a_harmless_constraint_is_tried_beside_a_hostile_one_and_a_refusal_is_remembered(
    compiler: ConstraintCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = Regex("(a?){3000}a{3000}b")
    trial = compiler._trial
    taken = trial._free.get()  # as if a hostile one ran there
    try:
        assert compiler.compile(Regex("beside[0-9]")) is not None
    finally:
        trial._free.put(taken)
    with pytest.raises(ConstraintError) as first:
        compiler.compile(hostile)
    assert first.value.kind is ConstraintKind.BUDGET
    monkeypatch.setattr(trial, "run", lambda grammar: pytest.fail("tried again"))
    with pytest.raises(ConstraintError, match=re.escape(first.value.detail)):
        compiler.compile(hostile)


@pytest.mark.parametrize("name", HOSTILE)
def test_r146_hostile_constraints_stay_within_time_and_memory(name: str) -> None:
    """Each in a fresh process: 2 s and 256 MiB for what is refused, for what compiles, and for 200 tokens under it."""
    command = [sys.executable, "-m", "hostile_constraints", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=None, cwd="tests/support")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["compile_s"] < MAX_SECONDS, figures
    assert figures["peak_growth_bytes"] < MAX_BYTES, figures
    assert figures["slowest_step_s"] < 1.0, figures
    assert constraint_of(name) is not None
