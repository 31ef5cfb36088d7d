"""What is wrong with a type is found before a run, at its place in the source."""

from __future__ import annotations

import pytest

from frontend_lang.checking import check_source
from frontend_lang.sources import MappingSource


@pytest.mark.parametrize(
    ("source", "code", "column", "words"),
    [
        ("gen x: int(min=5, max=3)", "E0401", 8, "min=5 is more than max=3"),
        ("gen x: int(mn=5)", "E0303", 12, "`int` has no bound `mn`"),
        ("gen x: int(min=1, min=2)", "E0309", 19, "option `min` is given twice"),
        ("gen x: int(min=0.5)", "E0401", 12, "an int that is written out"),
        ("let n = 1\ngen x: int(min=n)", "E0401", 12, "written out"),
        ("gen x: int(of=str)", "E0303", 15, "`int` has no bound `of`"),
        ("gen x: str(max=-1)", "E0401", 12, "from 0 to 1048576, found -1"),
        ("gen x: bool(min=1)", "E0403", 8, "`bool` takes no bounds"),
        ("gen x: schema(fil='x')", "E0303", 15, "`schema` has no bound `fil`"),
        ("gen x: flot", "E0403", 8, "unknown type `flot`"),
        ("let x: list(of=Foo) = []", "E0403", 16, "unknown type `Foo`"),
        ("gen x: dict[int]", "E0403", 8, "`dict` takes no type in brackets"),
        ("gen x: {a: int, a: str}", "E0309", 17, "two fields `a`"),
        ("gen x: re'ab(c'", "E0504", 13, "unclosed group"),
        ("type T = {x: re'['}", "E0504", 17, "unclosed character class"),
        ("let x = re'['", "E0504", 12, "unclosed character class"),
        ("let x = matches('a', '(')", "E0504", 22, "unclosed group"),
        ("let x = matches(pattern='(', text='a')", "E0504", 25, "unclosed group"),
        ("type T = {x: T}\ngen x: T\nlet y: T = 3", "E0507", 6, "type `T` contains itself"),
        ("gen x: float(min=0, max=1e300)", "E0506", 8, "beyond 64 bits"),
        ("gen x: int(min=1, max=9007199254740993)", "E0506", 8, "2^53"),
        ("let x: int(min=1) = 0", "E0402", 21, "declared int(min=1), found int 0"),
        ("let x: list[{a: str(max=1)}] = []\nlet y: re'a' = 'b'", "E0402", 16, "re'a', found str"),
        ("def f(a: int(min=1)) { return a }\nlet x = f(0)", "E0402", 11, "parameter `a` is declared int(min=1)"),
        ("def f(a: int) { return a }\nlet x = f(a='x')", "E0402", 13, "parameter `a` is declared int"),
        ("def f() -> str { return 3 }", "E0402", 25, "what `f` returns is declared str"),
    ],
)
def test_a_mistake_in_a_type_is_one_error_at_its_place(source: str, code: str, column: int, words: str) -> None:
    found = [item for item in check_source(source).diagnostics if item.severity == "error"]
    assert [(item.code, item.col) for item in found] == [(code, column)], [item.message for item in found]
    assert words in found[0].message


@pytest.mark.parametrize(
    "source",
    [
        "gen x: {a: int, b?: str, c: 'x' | 1, d: list(of=re'a+', max=3)}",
        "type T = {x: list[T], y: T | none}\ngen x: T",
        "gen x: '' | 'a'",
        "let x = matches('ab', re'a.')",
        "def matches(a: str, b: str) { return a }\nlet x = matches('a', '(')",
        "let x: float = 1\nlet y: list[float] = [1, 2.5]",
        "gen x: str(max=80)\ngen y: float(min=-1, max=1.5)\ngen z: none\ngen j: json",
    ],
)
def test_types_that_can_be_generated_pass(source: str) -> None:
    assert [item for item in check_source(source).diagnostics if item.severity == "error"] == []


@pytest.mark.parametrize(
    ("schema", "code", "words"),
    [
        ('{"items": {"not": {}}}', "E0506", "/items/not"),
        ('{"type": "string", "pattern": "["}', "E0504", "/pattern"),
        ("{", "E0504", "bad JSON schema"),
        ('{"multipleOf": 1000003}', "E0505", "multipleOf"),
    ],
)
def test_a_schema_file_is_compiled_before_the_run(schema: str, code: str, words: str) -> None:
    report = check_source("gen x: schema(file='s.json')", modules=MappingSource({"s.json": schema}))
    (found,) = report.diagnostics
    assert (found.code, found.col) == (code, 8)
    assert words in found.message


def test_a_missing_schema_and_a_missing_import_are_each_one_error() -> None:
    source = "import \"lib.rkv\" as lib\ngen x: schema(file='no.json')\ngen y: lib.Usr"
    report = check_source(source, modules=MappingSource({"lib.rkv": "type User = {id: int}"}))
    assert [(item.code, item.line) for item in report.diagnostics] == [("E0703", 2), ("E0317", 3)]


def test_a_schema_file_that_is_no_json_is_named() -> None:
    report = check_source("gen x: schema(file='s.json')", modules=MappingSource({"s.json": '{"type": }'}))
    assert "s.json: bad JSON schema" in report.diagnostics[0].message


def test_true_is_no_literal_type() -> None:
    (found,) = check_source("gen x: 'EUR' | 7 | true").diagnostics
    assert found.code == "E0403"
    assert "literal types" in (found.hint or "")
