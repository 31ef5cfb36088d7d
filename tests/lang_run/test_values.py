"""Text forms, JSON, equality, operators and builtins."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend_lang import operators
from frontend_lang.builtins import BUILTINS
from frontend_lang.errors import ProgramError
from frontend_lang.values import Value, equal, from_json, from_python, json_text, text_of, vote_key
from scripted_programs import failure_of, value_of

NAMES = "let l = [1, 2, 3]; let r = {a: 5, n: {b: 5}}; let one = 1"
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
FINITE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("'a b'", "a b"),
        ("12", "12"),
        ("-1.5", "-1.5"),
        ("2.0", "2.0"),
        ("true", "true"),
        ("none", "none"),
        ("[1, 'x', none]", '[1,"x",null]'),
        ("{a: 1, 'b c': [true]}", '{"a":1,"b c":[true]}'),
        ("'é'", "é"),
    ],
)
def test_text_form_of_an_inserted_value(expression: str, text: str) -> None:
    assert value_of(f'return "<@{{{expression}}}>"') == f"<{text}>"


@given(FINITE)
def test_json_is_compact_and_reads_back(value: object) -> None:
    written = json_text(from_python(value))
    assert written == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert equal(from_json(written), from_python(value))


@given(VALUES, VALUES)
def test_equality_is_structural_and_keeps_bool_and_number_apart(a: object, b: object) -> None:
    assert equal(from_python(a), from_python(a))
    assert equal(from_python(a), from_python(b)) == equal(from_python(b), from_python(a))
    assert not equal(True, 1)
    assert equal(1, 1.0)
    assert not equal([1], [True])


def _doubled(times: int) -> Value:
    value: Value = [1]
    for _ in range(times):
        value = [value, value]
    return value


def _nested(depth: int) -> Value:
    value: Value = []
    for _ in range(depth):
        value = [value]
    return value


def test_values_that_are_graphs_do_not_explode() -> None:
    wide, deep = _doubled(40), _nested(5000)
    uses: list[Callable[[], object]] = [
        lambda: json_text(wide, limit=1000),
        lambda: text_of(wide, limit=1000),
        lambda: equal(wide, _doubled(40)),
        lambda: json_text(deep),
        lambda: equal(deep, _nested(5000)),
        lambda: from_json("[" * 5000 + "]" * 5000),
    ]
    for use in uses:
        with pytest.raises(ProgramError) as caught:
            use()
        assert caught.value.code in ("E0406", "E0808")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("7 // 2", 3),
        ("-7 % 3", 2),
        ("7 / 2", 3.5),
        ("1 + 0.5", 1.5),
        ("'a' + 'b'", "ab"),
        ("[1] + [2]", [1, 2]),
        ("1 < 2", True),
        ("'a' >= 'b'", False),
        ("2 in [1, 2]", True),
        ("'x' not in 'abc'", True),
        ("'k' in {k: 1}", True),
        ("1 == true", False),
        ("none == none", True),
        ("not (1 == 2) and (false or true)", True),
        ("if 1 > 2 then 'a' else 'b'", "b"),
        ("l[-1]", 3),
        ("'abcd'[1:3]", "bc"),
        ("l[:2]", [1, 2]),
        ("r.n.b", 5),
        ("r['a']", 5),
        ("[x * x for x in range(4) if x != 2]", [0, 1, 9]),
        ("{a: 1, a: 2}", {"a": 2}),
        ("int('-9223372036854775807') - 1", -(2**63)),
    ],
)
def test_expression(expression: str, value: object) -> None:
    result = value_of(f"{NAMES}\nreturn {expression}")
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("1 + 'a'", "E0402"),
        ("true + 1", "E0402"),
        ("'a' * 3", "E0402"),
        ("1 < 'a'", "E0402"),
        ("true < false", "E0402"),
        ("1 in 2", "E0402"),
        ("-'a'", "E0402"),
        ("not 1", "E0402"),
        ("1 and true", "E0402"),
        ("if 1 then 2 else 3", "E0402"),
        ("1 / 0", "E0407"),
        ("1 // 0", "E0407"),
        ("1.0 % 0", "E0407"),
        ("int('9223372036854775807') + 1", "E0408"),
        ("999999999999999999 * 999999999999999999", "E0408"),
        ("l[3]", "E0404"),
        ("l['a']", "E0402"),
        ("r.b", "E0405"),
        ("r[1]", "E0402"),
        ("one.a", "E0402"),
        ("l['x':]", "E0402"),
        ("int('x')", "E0406"),
        ("int('1.5')", "E0406"),
        ("int('99999999999999999999')", "E0408"),
        ("float('one')", "E0406"),
        ("int(float('nan'))", "E0406"),
        ("len(1)", "E0402"),
        ("mean([])", "E0410"),
        ("min([])", "E0410"),
        ("max([1, 'a'])", "E0402"),
        ("sum(['a'])", "E0402"),
        ("split('a', '')", "E0402"),
        ("range(1, 2, 0)", "E0401"),
        ("range(10000000)", "E0808"),
        ("concat('a')", "E0402"),
        ("json(float('nan'))", "E0406"),
        ("strip()", "E0307"),
        ("strip('a', 'b')", "E0307"),
        ("strip(x='a')", "E0307"),
        ("nothing", "E0301"),
        ("nothing(1)", "E0304"),
        ("probs('a')", "E0307"),
    ],
)
def test_wrong_expression_is_an_error_with_a_place(expression: str, code: str) -> None:
    error = failure_of(f"{NAMES}\nreturn {expression}")
    assert error.code == code
    assert error.span is not None
    assert (error.file, error.span.line) == ("program.rkv", 2)
    assert error.message


def test_error_points_at_the_innermost_expression() -> None:
    error = failure_of("return [1, 2 + (3 / 0)]")
    assert error.span is not None
    assert (error.span.col, error.span.end_col) == (17, 22)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("len('äb')", 2),
        ("len([1, 2])", 2),
        ("len({a: 1})", 1),
        ("str(1.5)", "1.5"),
        ("int(' 42 ')", 42),
        ("int(-2.9)", -2),
        ("int(true)", 1),
        ("float('1e3')", 1000.0),
        ("float(2)", 2.0),
        ("strip('  a ')", "a"),
        ("lower('ÄB')", "äb"),
        ("split('a,b', ',')", ["a", "b"]),
        ("split(' a  b ')", ["a", "b"]),
        ("concat([1, 'a', none], sep='-')", "1-a-none"),
        ("concat([])", ""),
        ("json({a: [1]})", '{"a":[1]}'),
        ("mean([1, 2])", 1.5),
        ("mean([true, false])", 0.5),
        ("sum([1, 2])", 3),
        ("sum([])", 0),
        ("min(3, 1)", 1),
        ("max(['a', 'b'])", "b"),
        ("range(3)", [0, 1, 2]),
        ("range(3, 0, -1)", [3, 2, 1]),
    ],
)
def test_builtin(call: str, value: object) -> None:
    result = value_of(f"return {call}")
    assert result == value
    assert type(result) is type(value)


@given(SCALARS, SCALARS, st.sampled_from(["+", "-", "*", "/", "//", "%"]))
def test_arithmetic_gives_a_value_or_a_language_error(a: object, b: object, sign: str) -> None:
    try:
        result = operators.binary(sign, from_python(a), from_python(b))
    except ProgramError as error:
        assert error.code in ("E0402", "E0407", "E0408", "E0808")  # noqa: PT017
    else:
        assert from_python(result) is not None or result is None


@given(st.text() | FINITE)
def test_int_and_float_parse_or_say_why_not(x: object) -> None:
    for name in ("int", "float"):
        try:
            number = BUILTINS[name].call([from_python(x)], {})
        except ProgramError as error:
            assert error.code in ("E0402", "E0406", "E0408")  # noqa: PT017
        else:
            assert isinstance(number, (int, float))


def test_string_limit() -> None:
    source = 'let s = "abcdefgh"\nrepeat 17 { s = s + s }\nreturn len(s)'
    assert value_of(source) == 1 << 20
    assert failure_of(source.replace("17", "18")).code == "E0808"
    assert failure_of('let s = "abcdefgh"\nrepeat 17 { s = s + s }\nreturn "@{s}@{s}"').code == "E0808"


def test_vote_key_folds_text_and_keeps_types_apart() -> None:
    assert vote_key(" Yes ") == vote_key("yes")
    assert vote_key({"a": 1, "b": 2}) == vote_key({"b": 2, "a": 1})
    assert vote_key(1) == vote_key(1.0)
    assert len({vote_key("1"), vote_key(1), vote_key(True), vote_key(None)}) == 4
    assert vote_key(math.inf) != vote_key(-math.inf)


def test_text_that_is_no_number_has_a_hint_that_this_version_can_follow() -> None:
    error = failure_of('return int("x")')
    assert error.code == "E0406"
    assert "select" in (error.hint or "")
    assert "gen" not in (error.hint or "")
