"""Values are held against types; what does not fit is said with its place inside the value."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frontend_lang import ProgramError
from frontend_lang.modules import Module
from frontend_lang.syntax import parse
from typed_values import one_type, types_of

INVOICE = """
type Item = {name: str, qty: int(min=1), price: float}
type Invoice = {vendor: str(max=8), date: re'\\d{4}-\\d{2}', total: float, currency: 'EUR' | 'USD',
                items: list[Item], note?: str}
"""
GOOD: dict[str, Any] = {
    "vendor": "x",
    "date": "2020-01",
    "total": 3,
    "currency": "EUR",
    "items": [{"name": "a", "qty": 1, "price": 2}],
}


def misfit(source: str, value: Any, **module: Any) -> str:
    types, declared = one_type(source, **module)
    with pytest.raises(ProgramError) as caught:
        types.fit(value, declared, "`x`")
    assert caught.value.code == "E0402"
    return caught.value.message


def test_ints_become_floats_wherever_floats_are_declared() -> None:
    types, definitions = types_of(INVOICE)
    fitted = types.fit(GOOD, definitions["Invoice"], "x")
    assert (type(fitted["total"]), type(fitted["items"][0]["price"])) == (float, float)  # type: ignore[index,call-overload]
    assert type(GOOD["total"]) is int
    whole = one_type("list[int | float]")
    assert [type(item) for item in whole[0].fit([1, 2.5], whole[1], "x")] == [int, float]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"items": [GOOD["items"][0], {"name": "b", "qty": 0, "price": 1}]}, "; items[1].qty: int(min=1), found int 0"),
        ({"items": [{"name": "b", "price": 1}]}, "; items[0]: field `qty` is missing"),
        ({"vendor": "123456789"}, '; vendor: str(max=8), found str "123456789"'),
        ({"date": "2020"}, "; date: re'\\d{4}-\\d{2}', found str \"2020\""),
        ({"currency": "CHF"}, "; currency: 'EUR' | 'USD', found str \"CHF\""),
        ({"notes": "x"}, "field `notes` is not declared (did you mean `note`?)"),
        ({"note": None}, "; note: str, found none"),
    ],
)
def test_a_misfit_says_where_in_the_value_it_is(change: dict[str, Any], words: str) -> None:
    types, definitions = types_of(INVOICE)
    with pytest.raises(ProgramError) as caught:
        types.fit({**GOOD, **change}, definitions["Invoice"], "`x`")
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("source", "good", "bad"),
    [
        ("int(min=1, max=5)", [1, 5], [0, 6, 1.0, True, "1", None]),
        ("float(min=0)", [0, 0.5], [-0.1, float("nan"), "0"]),
        ("str(min=1, max=2)", ["a", "日本"], ["", "abc", 1]),
        ("list(of=int, min=1, max=2)", [[1], [1, 2]], [[], [1, 2, 3], ["a"], {}]),
        ("list", [[], [1, "a"]], ["a"]),
        ("record", [{}, {"a": 1}], [[]]),
        ("json", [None, 1, [{"a": [True]}]], []),
        ("'a' | 1 | none", ["a", 1, None], ["b", 2, True]),
        ("bool", [True], [1, "true"]),
        ("re'a+'", ["aa"], ["ab", "", 1]),
        ("{a?: int}", [{}, {"a": 1}], [{"a": None}, {"b": 1}]),
    ],
)
def test_each_type_takes_its_values_alone(source: str, good: list[Any], bad: list[Any]) -> None:
    types, declared = one_type(source)
    for value in good:
        assert types.fit(value, declared, "x") == value
    for value in bad:
        with pytest.raises(ProgramError):
            types.fit(value, declared, "x")


def test_a_union_names_the_part_where_one_option_alone_comes_near() -> None:
    assert "; a.b: int, found str" in misfit("{a: {b: int}} | none", {"a": {"b": "x"}})
    assert misfit("{a: int} | {a: str}", {"a": None}) == (
        "`x` is declared {a: int} | {a: str}, found record {\"a\":null}"
    )  # fmt: skip


def test_recursive_types_are_followed_to_the_depth_of_values() -> None:
    types, definitions = types_of("type Tree = {v: int, kids: list[Tree]}")
    tree: dict[str, Any] = {"v": 0, "kids": []}
    for _ in range(20):
        tree = {"v": 1, "kids": [tree]}
    assert types.fit(tree, definitions["Tree"], "x") is tree
    for _ in range(30):
        tree = {"v": 1, "kids": [tree]}
    with pytest.raises(ProgramError) as caught:
        types.fit(tree, definitions["Tree"], "x")
    assert caught.value.code == "E0808"


def test_a_value_that_would_take_exponential_time_is_refused() -> None:
    types, definitions = types_of("type T = {a: T} | {a: T, b?: int} | none")
    value: Any = "wrong"
    for _ in range(60):
        value = {"a": value}
    with pytest.raises(ProgramError) as caught:
        types.fit(value, definitions["T"], "x")
    assert caught.value.code == "E0808"


def fit(source: str, value: Any, **module: Any) -> Any:
    types, declared = one_type(source, **module)
    return types.fit(value, declared, "`x`")


def _pair(*names: str, **bounds: int) -> dict[str, object]:
    properties = {name: {"type": "integer", **bounds} for name in names}
    return {"type": "object", "properties": properties, "required": [*names], "additionalProperties": False}


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [_pair("b", "a", minimum=5), _pair("a", "b")]},
        {"allOf": [{"anyOf": [_pair("b"), _pair("b", "a", maximum=0), _pair("a", "b")]}]},
        {
            "anyOf": [{"$ref": "#/$defs/ba"}, {"$ref": "#/$defs/ab"}],
            "$defs": {"ba": _pair("b", "a", minimum=5), "ab": _pair("a", "b")},
        },
        {
            "anyOf": [
                {"type": "array"},
                {"type": "object", "properties": {"b": {"const": 1}, "a": {}}},
                _pair("a", "b"),
            ]
        },
    ],
)
def test_branches_that_name_keys_in_different_orders_are_told_apart_by_their_values(schema: dict[str, object]) -> None:
    files = {"s.json": json.dumps(schema)}
    assert fit("schema(file='s.json')", {"b": 2, "a": 1}, schemas=files) == {"b": 2, "a": 1}
    assert "its JSON fits up to" in misfit("schema(file='s.json')", {"b": 2, "a": "1"}, schemas=files)


def test_each_item_of_a_schema_has_the_order_of_its_own_place() -> None:
    items = {"type": "array", "prefixItems": [_pair("b", "a"), _pair("a", "b")], "items": _pair("b", "a")}
    value = [{"a": 1, "b": 2}, {"b": 1, "a": 2}, {"a": 1, "b": 2}]
    assert fit("schema(file='s.json')", value, schemas={"s.json": json.dumps(items)}) == value


def test_schema_files_judge_values_whatever_the_order_of_keys_and_the_form_of_numbers() -> None:
    properties = {"n": {"type": "integer"}, "x": {"type": "number", "minimum": 0.001}}
    schema = json.dumps({"type": "object", "properties": properties, "required": ["n"]})
    types, declared = one_type("schema(file='s.json')", schemas={"s.json": schema})
    for value in ({"n": 2.0}, {"x": 0.5, "n": 1}, {"x": 1e20, "n": 1}, {"n": 1, "more": "\x7f"}):
        assert types.fit(value, declared, "x") is value
    assert "its JSON fits up to" in misfit("schema(file='s.json')", {"n": 2.5}, schemas={"s.json": schema})
    assert "nan has no JSON form" in misfit("schema(file='s.json')", {"n": float("nan")}, schemas={"s.json": schema})


def test_types_of_imports_are_read_with_the_names_of_their_module() -> None:
    parsed = parse("type Id = int(min=1)\ntype User = {id: Id}").program
    assert parsed is not None
    types, declared = one_type("list[lib.User]", imports={"lib": Module(parsed)})
    assert types.fit([{"id": 1}], declared, "x") == [{"id": 1}]
    with pytest.raises(ProgramError) as caught:
        types.fit([{"id": 0}], declared, "x")
    assert "[0].id: int(min=1)" in caught.value.message
    other, unknown = one_type("lib.Usr", imports={"lib": Module(parsed)})
    with pytest.raises(ProgramError) as caught:
        other.fit(1, unknown, "x")
    assert (caught.value.code, caught.value.hint) == ("E0403", "did you mean `lib.User`?")


@pytest.mark.parametrize(
    ("source", "raw", "value"),
    [
        ("str(max=3)", "12", "12"),
        ("re'\\d+'", "12", "12"),
        ("'a' | 'b'", "a", "a"),
        ("int(min=1)", "12", 12),
        ("float", "12", 12.0),
        ("list[int]", "[1,2]", [1, 2]),
        ("list[int]", (1, 2), [1, 2]),
        ("str | none", '"a"', "a"),
    ],
)
def test_arguments_are_text_for_types_of_texts_and_json_for_others(source: str, raw: object, value: Any) -> None:
    types, declared = one_type(source)
    assert types.from_argument(raw, declared, "parameter `x`") == value


def test_an_argument_with_a_repeated_key_is_refused() -> None:
    types, declared = one_type("record")
    with pytest.raises(ProgramError, match="is given twice"):
        types.from_argument('{"a": 1, "a": 2}', declared, "parameter `x`")
