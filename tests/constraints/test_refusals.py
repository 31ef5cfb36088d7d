"""Refused constraints are explained in the words of those who wrote them, with the place; never in the library's."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from radixkv.constraint import Constraint, JsonSchema, Lark, Regex
from radixkv.constraints import ConstraintCompiler
from radixkv.errors import ConstraintError, ConstraintKind

INVALID, UNSUPPORTED, BUDGET = ConstraintKind.INVALID, ConstraintKind.UNSUPPORTED, ConstraintKind.BUDGET
INTERNAL = re.compile(r"ff_tokens|Some\(|SearchRegex|WordUnicode|anyOf is|retriever|Unsatisfiable|f64|at \d+\(\d+\)")


def refusal(compiler: ConstraintCompiler, constraint: Constraint) -> ConstraintError:
    with pytest.raises(ConstraintError) as failure:
        compiler.compile(constraint)
    assert INTERNAL.search(str(failure.value)) is None, str(failure.value)
    return failure.value


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (Regex(r"\b\w+\b"), r"borders such as `\b`, are not supported, in \b\w+\b"),
        (Regex("a^b"), "`^` and `$` inside it"),
        (Regex("(?P<n>a)(?P<n>b)"), "character 5: duplicate capture group name, in (?P<n>a)(?P<n>b)"),
        (Lark("start: x"), 'line 1, column 8: unknown name: "x"'),
        (Lark('start: "a"\nstart: "b"'), "line 2, column 8: duplicate rule"),
        (Lark('start: a\na: "x" /[/'), "unclosed character class, in ["),
        (Lark(r"start: /a\b/"), r"line 1, column 8: `^` and `$` inside it, and borders"),
    ],
)
def test_a_pattern_or_a_grammar_is_explained_where_it_is_wrong(
    compiler: ConstraintCompiler, constraint: Constraint, words: str
) -> None:
    error = refusal(compiler, constraint)
    assert error.kind is INVALID
    assert words in error.detail
    assert not words.startswith("`^`") or error.detail.endswith("in a^b")


@pytest.mark.parametrize(
    ("schema", "place", "kind", "words"),
    [
        ({"minimum": 1e40}, "`minimum` at #/properties/a~1b", UNSUPPORTED, "within 9*10^18"),
        ({"type": "integer", "minimum": 2**63 - 1}, "`minimum` at #/pr", UNSUPPORTED, f"from 0: {2**63 - 1};"),
        ({"type": "number", "exclusiveMaximum": -1e19}, "`exclusiveMaximum` at #/pr", UNSUPPORTED, "within 9*10^18"),
        ({"type": "integer", "minimum": 1e40, "maximum": 1e40}, "`minimum` at #/pr", UNSUPPORTED, "within 9*10^18"),
        ({"type": "integer", "maximum": -1e40, "minimum": -1e40}, "`minimum` at #/pr", UNSUPPORTED, "within 9*10^18"),
        ({"type": "number", "maximum": 1e40}, "`maximum` at #/pr", UNSUPPORTED, "within 9*10^18"),
        ({"type": "integer", "minimum": 2**53 + 1}, "`minimum` at #/pr", UNSUPPORTED, "beyond what is exact (2^53)"),
        ({"const": {"a": [2**80 + 1]}}, "`const` at #/pr", UNSUPPORTED, "beyond what is exact (2^53)"),
        ({"enum": [1, -(2**53) - 1]}, "`enum` at #/pr", UNSUPPORTED, "beyond what is exact (2^53)"),
        ({"$ref": "http://example.com/x"}, "`$ref` at #/pr", UNSUPPORTED, "leads out of the schema"),
        ({"$ref": "#/$defs/no"}, "`$ref` at #/pr", INVALID, '"#/$defs/no" refers to nothing'),
        ({"type": "strin"}, "`type` at #/pr", INVALID, 'string, or a list of them, found "strin"'),
        ({"type": 3}, "`type` at #/pr", INVALID, "found 3"),
        ({"minLength": -1}, "`minLength` at #/pr", INVALID, "an integer that is not negative, found -1"),
        ({"maxItems": "1"}, "`maxItems` at #/pr", INVALID, 'an integer that is not negative, found "1"'),
        ({"minimum": "1"}, "`minimum` at #/pr", INVALID, 'needs a number, found "1"'),
        ({"multipleOf": -3}, "`multipleOf` at #/pr", INVALID, "needs a number above 0, found -3"),
        ({"properties": {"a": 1}}, "`properties` at #/pr", INVALID, '"a": a schema is an object, true or false'),
        ({"properties": []}, "`properties` at #/pr", INVALID, "needs an object, found []"),
        ({"items": 3}, "`items` at #/pr", INVALID, "a schema is an object, true or false, found 3"),
        ({"items": [3]}, "`items` at #/pr", INVALID, "item 0: a schema is an object, true or false, found 3"),
        ({"anyOf": [1]}, "`anyOf` at #/pr", INVALID, "item 0: a schema is an object, true or false, found 1"),
        ({"anyOf": {}}, "`anyOf` at #/pr", INVALID, "needs a list, found {}"),
        ({"enum": 3}, "`enum` at #/pr", INVALID, "needs a list, found 3"),
        ({"required": "a"}, "`required` at #/pr", INVALID, 'needs a list of names, found "a"'),
        ({"pattern": "["}, "`pattern` at #/pr", INVALID, "unclosed character class, in ["),
        ({"pattern": r"a\b"}, "`pattern` at #/pr", INVALID, r"borders such as `\b`, are not supported, in a\b"),
        ({"patternProperties": {"[": {}}}, "`patternProperties` at #/pr", INVALID, "unclosed character class, in ["),
        ({"type": "string", "format": "bogus"}, "`format` at #/pr", UNSUPPORTED, '"bogus" is no format that is known'),
    ],
)  # fmt: skip
def test_a_keyword_of_a_schema_is_named_with_its_json_pointer(
    compiler: ConstraintCompiler, schema: dict[str, Any], place: str, kind: ConstraintKind, words: str
) -> None:
    error = refusal(compiler, JsonSchema({"properties": {"a/b": schema}, "required": ["a/b"]}))
    assert place in error.detail
    assert words in error.detail
    assert error.kind is kind


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string", "minLength": 5, "maxLength": 2}, "`minLength` at #: minLength 5 is more than maxLength 2"),
        ({"enum": []}, "keyword `enum` at #: no text at all satisfies an empty list"),
        ({"anyOf": []}, "keyword `anyOf` at #: no text at all satisfies an empty list"),
        ({"type": "string", "pattern": "^aaa$", "maxLength": 2}, "keywords `pattern` and `maxLength` at #: no text"),
        ({"allOf": [{"type": "string", "pattern": "^aaa$"}, {"maxLength": 2}]}, "patterns, formats and lengths"),
        ({"type": "string", "pattern": "^a$", "format": "date"}, "keywords `pattern` and `format` at #: no text"),
        ({"type": "integer", "multipleOf": 3, "minimum": 1, "maximum": 2}, "keyword `multipleOf` at #: no text"),
        ({"type": "integer", "const": "a"}, "no text at all satisfies it: incompatible types"),
        ({"$schema": "bogus"}, 'keyword `$schema` at #: "bogus" is no dialect'),
        ({"const": int("9" * 310)}, "the number 99999999999999999999… is too large"),
    ],
)
def test_a_schema_that_nothing_fits_says_what_excludes_what(
    compiler: ConstraintCompiler, schema: dict[str, Any], words: str
) -> None:
    error = refusal(compiler, JsonSchema(json.dumps(schema)))
    assert words in error.detail
    assert error.kind is INVALID


@pytest.mark.parametrize(
    "constraint",
    [JsonSchema('{"type": "array", "minItems": 1, "items": {"$ref": "#"}}'), Lark('start: a\na: "x" a')],
)
def test_what_never_ends_is_over_budget_with_a_guess_why(compiler: ConstraintCompiler, constraint: Constraint) -> None:
    error = refusal(compiler, constraint)
    assert error.kind is BUDGET
    assert "perhaps it refers to itself without an end" in error.detail


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
        {"type": "integer", "minimum": 5, "exclusiveMinimum": True},
        {"properties": {"a": {"enum": []}}},
        {"properties": {"type": {"type": "string"}, "enum": {"items": [True, {}]}}, "required": []},
        {"enum": [{"type": "strin", "minLength": -1}]},
        {"$defs": {"a": True}, "$ref": "#/$defs/a"},
    ],
)
def test_what_looks_odd_and_is_right_is_taken(compiler: ConstraintCompiler, schema: dict[str, Any]) -> None:
    assert compiler.compile(JsonSchema(schema)).bytes_kept >= 0
