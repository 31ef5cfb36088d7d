"""Each keyword of JSON Schema is kept or refused; none is dropped."""

from __future__ import annotations

import json

import pytest

from frontend_lang import ProgramError
from frontend_lang.grammars import Grammar, check_pattern
from frontend_lang.json_schemas import prepared_schema
from frontend_lang.runtime import JsonSchema
from typed_values import walked_text


def grammar(schema: object) -> Grammar:
    return Grammar.of(JsonSchema(json.dumps(schema)))


def refused(schema: object) -> ProgramError:
    with pytest.raises(ProgramError) as caught:
        grammar(schema)
    return caught.value


TREE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}, "required": ["kids"]}
KINDS = [
    {"type": "object", "properties": {"k": {"const": "a"}, "v": {"type": "integer"}}, "required": ["k"]},
    {"type": "object", "properties": {"k": {"enum": ["b", "c"]}}, "required": ["k"]},
]


@pytest.mark.parametrize(
    ("schema", "fits", "others"),
    [
        ({"type": "integer", "minimum": 3, "exclusiveMaximum": 6}, ["3", "5"], ["2", "6", "x", "3.0"]),
        ({"type": "number", "multipleOf": 0.5}, ["1.5", "2"], ["1.25"]),
        ({"type": ["integer", "null"], "minimum": 3}, ["3", "null"], ["1", '"a"']),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ['"日本"', '"abc"'], ['"a"', '"abcd"']),
        ({"type": "string", "pattern": "a+"}, ['"xaay"'], ['"b"']),
        ({"type": "string", "pattern": "^a$|^b$"}, ['"a"', '"b"'], ['"ab"']),
        ({"type": "string", "format": "date"}, ['"2020-01-31"'], ['"2020-13-01"']),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, ["[1]"], ["[]", "[1,2,3]"]),
        ({"type": "array", "uniqueItems": False}, ["[1,1]"], ["1"]),
        ({"prefixItems": [{"type": "integer"}], "items": False, "type": "array"}, ["[1]"], ["[1,2]", '["a"]']),
        ({"type": "object", "minProperties": 2, "maxProperties": 2}, ['{"a":1,"b":2}'], ["{}", '{"a":1}']),
        ({"type": "object", "patternProperties": {"^a": {"type": "integer"}}}, ['{"a1":1}'], ['{"a1":"x"}']),
        ({"allOf": [{"minimum": 3}, {"maximum": 5}], "type": "integer"}, ["4"], ["2", "6"]),
        ({"anyOf": [{"minimum": 3}, {"maximum": 1}], "type": "integer"}, ["0", "4"], ["2"]),
        ({"const": {"a": [1, None]}}, ['{"a":[1,null]}'], ['{"a":[1]}']),
        ({"$ref": "#/$defs/x", "minimum": 3, "$defs": {"x": {"maximum": 9}}, "type": "integer"}, ["4"], ["1", "10"]),
        (TREE, ['{"kids":[{"kids":[]}]}'], ['{"kids":[{}]}', "{}"]),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, ["1", '"a"'], ["null"]),
        ({"oneOf": [{"const": 1}, {"const": 2}]}, ["1", "2"], ["3"]),
        ({"oneOf": KINDS}, ['{"k":"a","v":1}', '{"k":"c"}'], ['{"k":"d"}']),
        ({"title": "t", "x-mine": 1, "$comment": "c", "default": 3, "examples": [1], "type": "null"}, ["null"], ["1"]),
        (True, ["1", "[null]"], ["x"]),
    ],
)
def test_a_keyword_is_kept(schema: object, fits: list[str], others: list[str]) -> None:
    automaton = grammar(schema)
    assert [automaton.matches(text) for text in fits] == [True] * len(fits)
    assert [automaton.matches(text) for text in others] == [False] * len(others)


@pytest.mark.parametrize(
    ("schema", "code", "words"),
    [
        ({"properties": {"a": {"not": {}}}}, "E0506", "/properties/a/not: the keyword 'not'"),
        *[({key: {}}, "E0506", f"/{key}: the keyword {key!r}") for key in ("if", "contains", "propertyNames")],
        *[({key: {}}, "E0506", f"/{key}") for key in ("dependentRequired", "dependentSchemas", "dependencies")],
        *[({key: False}, "E0506", f"/{key}") for key in ("unevaluatedProperties", "unevaluatedItems", "nullable")],
        ({"type": "integer", "maximum": -1e40}, "E0506", "/maximum: the number -1e+40 is beyond 64 bits"),
        ({"items": {"minimum": 1e40, "maximum": 1e40}}, "E0506", "/items/minimum: the number 1e+40 is beyond 64 bits"),
        ({"type": "number", "minimum": 9e18}, "E0506", "so far from 0 cannot be generated"),
        ({"items": {"type": "strin"}}, "E0504", "/items/type: needs one of array, boolean, integer, null, number"),
        ({"type": ["string", 3]}, "E0504", "/type: needs one of"),
        ({"type": []}, "E0504", "no text at all fits the schema: an empty list leaves it no value"),
        ({"enum": []}, "E0504", "no text at all fits the schema: an empty list leaves it no value"),
        ({"type": "string", "pattern": "^aa$", "maxLength": 1}, "E0504", "patterns, formats and lengths exclude"),
        ({"type": "integer", "const": "a"}, "E0504", "its parts want values of different types"),
        ({"type": "integer", "multipleOf": 3, "minimum": 1, "maximum": 2}, "E0504", "is a multiple of multipleOf"),
        ({"type": "number", "exclusiveMinimum": 5, "exclusiveMaximum": 5}, "E0504", "5 is equal to exclusiveMaximum 5"),
        ({"type": "integer", "exclusiveMinimum": 5, "exclusiveMaximum": 6}, "E0504", "no integer within the bounds"),
        ({"type": "object", "required": ["c"], "additionalProperties": False}, "E0504", "the property 'c' is required"),
        ({"$schema": "bogus"}, "E0504", "its $schema is no dialect"),
        ({"items": {"uniqueItems": True}}, "E0506", "/items/uniqueItems"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "E0506", "'oneOf' with branches that may overlap"),
        ({"oneOf": [{"const": 1}, {"const": 1.0}]}, "E0506", "may overlap"),
        ({"format": "weird"}, "E0506", "/format: the format 'weird'"),
        ({"$ref": "http://x/y"}, "E0506", "leads out of the schema"),
        ({"items": {"$id": "http://a/b"}}, "E0506", "$id inside"),
        ({"x-guidance": {"lenient": True}, "type": "string"}, "E0506", "x-guidance"),
        ({"exclusiveMinimum": True, "minimum": 3}, "E0506", "/exclusiveMinimum: a bound is a number"),
        ({"const": 2**53 + 1}, "E0506", "2^53"),
        ({"type": "integer", "maximum": 2**53 + 1}, "E0506", "/maximum"),
        ({"patternProperties": {"^a": {}, "^ab": {}}}, "E0506", "not disjoint"),
        ({"type": "string", "pattern": "^(?<bad$"}, "E0504", "/pattern: bad pattern: invalid capture group"),
        ({"$ref": "#/nope"}, "E0504", "refers to nothing"),
        ({"minLength": 3, "maxLength": 1}, "E0504", "minLength 3 is more than maxLength 1"),
        ({"minItems": -1}, "E0504", "/minItems"),
        ({"items": 3}, "E0504", "/items: a schema is an object"),
        ({"type": "frog"}, "E0504", "frog"),
        ({"properties": []}, "E0504", "/properties: needs an object"),
        ({"required": "a"}, "E0504", "/required: needs a list"),
        ({"enum": []}, "E0504", ""),
        (False, "E0504", "is an object"),
        ({"$ref": "#"}, "E0507", "refers to itself"),
        ({**TREE, "properties": {"kids": {"$ref": "#"}}}, "E0507", "refers to itself"),
        ({"type": "integer", "multipleOf": 99_999_989}, "E0505", "multipleOf"),
    ],
)
def test_r136_a_keyword_that_cannot_be_kept_is_named_with_its_place(schema: object, code: str, words: str) -> None:
    error = refused(schema)
    assert (error.code, words in error.message) == (code, True), error.message


@pytest.mark.parametrize(
    "text", ["", "{", '{"type": "string", "type": "integer"}', '{"minimum": NaN}', "[]", '"x"', "[" * 100]
)
def test_a_text_that_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        Grammar.of(JsonSchema(text))
    assert caught.value.code in ("E0504", "E0505")


def test_a_prepared_schema_stays_what_it_is() -> None:
    schema = json.dumps({"oneOf": KINDS, "anyOf": [{"type": "object"}], "uniqueItems": False})
    prepared = prepared_schema(schema, check_pattern)
    assert prepared_schema(prepared, check_pattern) == prepared
    assert "oneOf" not in prepared


@pytest.mark.parametrize("more", [None, True, False, {"type": "integer"}])
def test_r139_additional_properties_are_what_the_schema_says(more: object) -> None:
    schema: dict[str, object] = {"type": "object", "properties": {"a": {"type": "boolean"}}}
    if more is not None:
        schema["additionalProperties"] = more
    automaton = grammar(schema)
    texts = [text for text in (walked_text(automaton, seed) for seed in range(200)) if text is not None]
    assert len(texts) > 50
    others = [value for text in texts for key, value in json.loads(text).items() if key != "a"]
    assert bool(others) == (more is not False)
    if isinstance(more, dict):
        assert all(type(value) is int for value in others)


def test_r141_keys_come_in_the_order_of_the_schema() -> None:
    names = ["z", "a", "m"]
    automaton = grammar(
        {"type": "object", "properties": {name: {"type": "boolean"} for name in names}, "required": names}
    )
    assert automaton.matches('{"z":true,"a":true,"m":false}')
    assert not automaton.matches('{"a":true,"m":false,"z":true}')


def test_r142_text_under_a_schema_may_be_in_any_language() -> None:
    enum = grammar({"enum": ["да", "日本", "😀"]})
    assert all(enum.matches(json.dumps(text, ensure_ascii=False)) for text in ("да", "日本", "😀"))
    anything = grammar({"type": "string"})
    assert anything.matches('"да 日本 😀 \\n\\u0001"')
    assert anything.reject_position('"\ud800"') == 0
    assert not anything.matches('"\\ud800"')


def test_r144_there_is_no_whitespace_to_loop_on() -> None:
    automaton = grammar({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]})
    assert automaton.matches('{"age":3}')
    for text in ('{"age": 3}', '{\n"age":3}', ' {"age":3}', '{"age":3\n}'):
        assert not automaton.matches(text)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer"},
        {"type": "integer", "minimum": 1},
        {"type": ["integer", "null"], "exclusiveMinimum": -3},
        {"type": "integer", "multipleOf": 5},
    ],
)
def test_integers_stay_within_64_bits(schema: dict[str, object]) -> None:
    listed = grammar({"type": "array", "items": schema})
    assert [text for text in ("10", "9" + "0" * 18) if not listed.matches(f"[{text}]")] == []
    assert [text for text in ("9" + "0" * 17 + "5", "5" * 60) if listed.matches(f"[{text}]")] == []
    prepared = prepared_schema(json.dumps(schema), check_pattern)
    assert prepared_schema(prepared, check_pattern) == prepared


def test_tighter_bounds_of_integers_stay_as_they_are() -> None:
    prepared = json.loads(prepared_schema('{"type": "integer", "minimum": 1, "exclusiveMaximum": 4}', check_pattern))
    assert prepared == {"type": "integer", "minimum": 1, "exclusiveMaximum": 4}
