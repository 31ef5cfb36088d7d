"""What is wrong with values that are written out is found without a run."""

from __future__ import annotations

import pytest

from frontend_lang import ProgramRejected
from frontend_lang.api import load
from frontend_lang.checking import check_source
from frontend_lang.syntax.limits import MAX_ERRORS


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ('let x: int = "a"', "E0402", 'declared int, found str "a"'),
        ('param a: int = "x"', "E0402", "parameter `a` is declared int"),
        ("def f(a: int = none) { return a }", "E0402", "found none"),
        ("let x: list[int] = [1, 'a']", "E0402", "declared list[int]"),
        ("if 1 { }", "E0402", "`if` needs a bool, found int"),
        ("if true { } elif 'a' { }", "E0402", "found str"),
        ("gen x until 1", "E0402", "`until` needs a bool"),
        ("for x in 5 { }", "E0402", "`for` needs a list, found int"),
        ("fork x in 'abc' { gen a }", "E0402", "needs a list"),
        ("let a = [x for x in 3]", "E0402", "needs a list"),
        ("repeat 1001 { }", "E0503", "at most 1000"),
        ("repeat 'a' { }", "E0402", "`repeat` needs an int"),
        ("repeat -1 { }", "E0402", "not negative"),
        ("fork 5000 { gen a }", "E0503", "at most 4096"),
        ("select x from []", "E0607", "empty list"),
        ("select x from 'abc'", "E0402", "needs a list of options"),
        ("select x from ['a', '']", "E0607", "empty text"),
        ("let b = 'b'\nselect x from [b, '']", "E0607", "empty text"),
        ("return 1 / 0", "E0407", "by zero"),
        ("return 5 % 0", "E0407", "by zero"),
        ("return 'a' * 3", "E0402", "`*` of str and int"),
        ("return 'a' + 1", "E0402", "`+` of str and int"),
        ("return [1] + 'a'", "E0402", "`+` of list and str"),
        ("return true + none", "E0402", "`+` of bool and none"),
        ("return -'a'", "E0402", "`-` of str"),
        ("return -true", "E0402", "`-` of bool"),
        ("return not 1", "E0402", "`not` needs a bool"),
        ("param b = true\nreturn b and 'a'", "E0402", "`and` needs a bool, found str"),
        ("return 1 < 'a'", "E0402", "`<` of int and str"),
        ("return 1 in 'abc'", "E0402", "`in` of int and str"),
        ("let r = {a: 1, a: 2}", "E0309", "two fields `a`"),
        ("let r = {a: 1, 'a': 2}", "E0309", "two fields `a`"),
    ],
)
def test_a_literal_that_can_never_do_is_an_error(source, code, words):
    (found,) = check_source(source).diagnostics
    assert found.code == code
    assert words in found.message


@pytest.mark.parametrize(
    "source",
    [
        "let x: float = 1",
        "let x: int | none = none",
        "let x: 'a' | 'b' = 'b'",
        "let x: list[str] = []",
        "param n: int\nif n > 1 { }",
        "for x in [] { }",
        "repeat 1000 { }",
        "fork 4096 { gen a }",
        "let b = 'b'\nselect x from [b, 'c']",
        "let r = {a: 1, b: {a: 2}}",
        "let k = 'a'\nlet r = {'@{k}': 1, \"@{k}\": 2}",
        "return 'a' + 'b' == 1 or 'a' in 'abc' or 1 not in ['a'] or 1 < 1.5 or not true",
        "return [1, -1] + ['a']",
        "return 0 / 1",
        "gen x until len(x) > 2",
    ],
)
def test_a_literal_that_will_do_is_none(source):
    assert [found for found in check_source(source).diagnostics if found.severity == "error"] == []


def test_thousands_of_errors_are_cut_and_counted():
    source = "\n".join(f"a{i} = 1" for i in range(5000))
    report = check_source(source)
    assert len(report.diagnostics) == MAX_ERRORS
    assert "5000 errors (4980 more not shown)" in report.summary()
    assert report.to_dict()["omitted"] == 4980
    with pytest.raises(ProgramRejected) as caught:
        load(source)
    assert len(caught.value.diagnostics) == MAX_ERRORS


def test_as_many_errors_as_are_shown_are_not_cut():
    report = check_source("\n".join(f"a{i} = 1" for i in range(MAX_ERRORS)))
    assert (len(report.diagnostics), report.omitted) == (MAX_ERRORS, 0)
