"""What a typed gen is constrained to and how its text becomes a value."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frontend_lang import ProgramError
from frontend_lang.grammars import Grammar
from frontend_lang.runtime import Choice, Constraint, JsonSchema, Regex
from frontend_lang.scripted import ScriptedRuntime
from frontend_lang.types import ValueType
from scripted_programs import run_on
from typed_values import one_type, types_of


def generated(source: str, **module: Any) -> ValueType:
    types, declared = one_type(source, **module)
    return types.gen_type(declared)


@pytest.mark.parametrize(
    ("source", "constraint"),
    [
        ("str", None),
        ("str | 'a'", None),
        ("str(max=80)", Regex("(?s:.{0,80})")),
        ("str(min=2)", Regex("(?s:.{2,})")),
        ("re'a+'", Regex("a+")),
        ("'a' | 'b' | 'a'", Choice(("a", "b"))),
        ("'a.' | re'b+'", Regex("a\\x{2E}|(?:b+)")),
        ("int", Regex("-?(0|[1-9][0-9]{0,17})")),
    ],
)
def test_types_of_texts_are_generated_as_they_are(source: str, constraint: Constraint | None) -> None:
    assert generated(source).constraint == constraint


@pytest.mark.parametrize(
    ("source", "text", "value"),
    [
        ("str(max=3)", 'a"b', 'a"b'),
        ("'a' | 'b'", "b", "b"),
        ("int", "-12", -12),
        ("int(min=1, max=5)", "3", 3),
        ("float", "3", 3.0),
        ("bool", "true", True),
        ("none", "null", None),
        ("'a' | 1", '"a"', "a"),
        ("str | none", '"да"', "да"),
        ("json", '{"a":[1,null]}', {"a": [1, None]}),
        ("list(of=int, max=2)", "[1,2]", [1, 2]),
        ("{b: int, a?: list[bool]}", '{"b":1,"a":[true]}', {"b": 1, "a": [True]}),
    ],
)
def test_a_text_of_the_type_is_bound_as_its_value(source: str, text: str, value: Any) -> None:
    kind = generated(source)
    assert kind.constraint is not None
    assert Grammar.of(kind.constraint).matches(text)
    assert kind.parse(text) == value
    assert type(kind.parse(text)) is type(value)


def test_r141_the_fields_of_a_record_come_in_the_order_in_which_they_are_declared() -> None:
    constraint = generated("{z: bool, a: bool, m?: bool}").constraint
    assert constraint is not None
    grammar = Grammar.of(constraint)
    assert grammar.matches('{"z":true,"a":false}')
    assert grammar.matches('{"z":true,"a":false,"m":true}')
    assert not grammar.matches('{"a":false,"z":true}')
    assert not grammar.matches('{"z":true,"a":false,"x":1}')


@pytest.mark.parametrize(
    ("source", "text", "words"),
    [
        ("{a: int}", '{"a":', "not valid JSON"),
        ("{a: int(min=1)}", '{"a":0}', "a: int(min=1), found int 0"),
        ("record", '{"a":1,"a":2}', "the key 'a' is given twice"),
        ("float", "1e999", "beyond the range of a float"),
        ("json", "123456789012345678901234567890", "64 bits"),
        ("str(max=2)", "abc", "str(max=2)"),
        ("'a' | 'b'", "c", "'a' | 'b'"),
        ("json", "NaN", "no number of JSON"),
        ("json", "[" * 5000, ""),
    ],
)
def test_a_text_that_is_no_value_shows_itself_and_what_was_expected(source: str, text: str, words: str) -> None:
    with pytest.raises(ProgramError) as caught:
        generated(source).parse(text)
    assert caught.value.code == "E0609"
    assert repr(text)[:20] in caught.value.message
    assert words in caught.value.message


@pytest.mark.parametrize(
    "definitions",
    [
        "type T = {x: T}",
        "type T = T | int",
        "type T = U\ntype U = T",
        "type T = list(of=T, min=1)",
        "type T = {a: T} | T",
    ],
)
def test_a_type_without_an_end_is_refused_wherever_it_is_used(definitions: str) -> None:
    types, defined = types_of(definitions + "\ntype Use = list[T]")
    for action in (lambda: types.gen_type(defined["Use"]), lambda: types.fit([1], defined["Use"], "x")):
        with pytest.raises(ProgramError) as caught:
            action()
        assert caught.value.code == "E0507"


def test_a_recursive_type_with_an_end_is_generated() -> None:
    types, defined = types_of("type Tree = {v: int, left?: Tree, kids: list[Tree], up: Tree | none}")
    kind = types.gen_type(defined["Tree"])
    text = '{"v":1,"kids":[{"v":2,"kids":[],"up":null}],"up":null}'
    assert kind.constraint is not None
    assert Grammar.of(kind.constraint).matches(text)
    assert kind.parse(text) == json.loads(text)


def test_a_schema_file_is_a_part_of_other_types_with_its_own_references() -> None:
    schema = json.dumps(
        {"$id": "http://a/b", "$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}, "type": "array"}
    )
    kind = generated("{a: schema(file='s.json'), b: schema(file='s.json')}", schemas={"s.json": schema})
    assert isinstance(kind.constraint, JsonSchema)
    grammar = Grammar.of(kind.constraint)
    assert grammar.matches('{"a":[1],"b":[]}')
    assert not grammar.matches('{"a":["x"],"b":[]}')
    assert kind.parse('{"a":[1],"b":[]}') == {"a": [1], "b": []}


def test_a_program_binds_what_a_typed_gen_gives() -> None:
    source = "user: go\nassistant { gen a: {n: int(min=1), t: 'x' | 'y'}; gen b: int }\nreturn a.n + b"
    answers = ['{"n":2,"t":"y"}', "40"]
    assert run_on(ScriptedRuntime(answers), source).value == 42


def test_matches_holds_the_whole_text_against_a_pattern() -> None:
    source = "let p = re'a.'\nreturn [matches('ab', p), matches('xab', p), matches('xab', '.*a.'), matches('', re'')]"
    assert run_on(ScriptedRuntime(), source).value == [True, False, True, True]


def test_a_pattern_that_is_made_while_a_program_runs_is_refused_where_it_is_used() -> None:
    with pytest.raises(ProgramError) as caught:
        run_on(ScriptedRuntime(), "param p: str\nreturn matches('a', p)", {"p": "("})
    assert caught.value.code == "E0504"
    assert caught.value.span is not None
    assert caught.value.span.line == 2


def test_a_number_that_is_too_large_is_not_blamed_on_max() -> None:
    with pytest.raises(ProgramError) as caught:
        generated("json").parse("9" * 30)
    assert caught.value.hint is not None
    assert "larger `max`" not in caught.value.hint
