"""Syntax errors: code, place, hint, how they look, and that one does not hide the next."""

from __future__ import annotations

import pytest

from frontend_lang.diagnostics import Diagnostic, render
from frontend_lang.syntax import parse


def codes(source: str) -> list[tuple[str, int]]:
    return [(found.code, found.line) for found in parse(source).diagnostics]


@pytest.mark.parametrize(
    ("source", "code", "place", "words"),
    [
        ("usr: hi", "E0201", (1, 1), "did you mean `user`?"),
        ("text = 3", "E0205", (1, 1), "rename"),
        ("if a {\n gen = 2\n}", "E0205", (2, 2), "rename"),
        ("let a = ", "E0201", (1, 9), None),
        ("let a = [1, 2", "E0202", (1, 9), "add `]`"),
        ("def f() {\n user: hi }\nlet a = 1", "E0202", (1, 9), "line 2"),
        ("let a = 1 }", "E0201", (1, 11), "remove it"),
        ("let a = (1 }", "E0201", (1, 12), "`(` on line 1 is still open"),
        ("if a { } else if b { }", "E0201", (1, 15), "write `elif`"),
        ("while x { }", "E0201", (1, 1), "repeat"),
        ("else { }", "E0201", (1, 1), "follows the `}` of an `if`"),
        ("let a = !b", "E0102", (1, 9), "write `not`"),
        ("let a = “b”", "E0102", (1, 9), "straight quotes"),
        ("let a = b && c", "E0102", (1, 11), "write `and`"),
        ("let ä = 1", "E0102", (1, 5), "names begin"),
        ("let s = 'it's'", "E0101", (1, 14), "apostrophe"),
        ("let a: = 1", "E0201", (1, 8), None),
        ("return\n", "E0201", (2, 1), None),
        ("fork { }", "E0201", (1, 8), None),
        ("gen a until a with tries=2", "E0201", (1, 15), "options stand before `until`"),
        ("gen a\nuntil a\nwith tries=2", "E0201", (3, 1), "options stand before `until`"),
        ('gen a: list(of=("a" | "b"))', "E0201", (1, 16), "types have no parentheses"),
        ("def f(a: (int)) { }", "E0201", (1, 10), "types have no parentheses"),
        ("import s.rkv as t", "E0201", (1, 1), 'import "lib.rkv" as lib'),
    ],
)
def test_one_error_with_its_place_and_a_way_out(source, code, place, words):
    found = parse(source).diagnostics[0]
    assert (found.code, (found.line, found.col)) == (code, place)
    assert words is None or words in (found.hint or "")


def test_what_could_stand_there_is_said_in_words():
    assert parse("let a: = 1").diagnostics[0].message == "unexpected `=`, expected a type"
    assert parse("let a = ;").diagnostics[0].message == "unexpected `;`, expected an expression, `fork` or `map`"
    assert parse("let 3 = 1").diagnostics[0].message == "unexpected `3`, expected a name"
    assert parse("test 3 { }").diagnostics[0].message == "unexpected `3`, expected text in quotes"


def test_one_pass_reports_all_errors():
    source = "let a = \nlet b = 2\nlet c = )\ndef f( { return 1 }\nlet d = [1, 2\nlet e = 3\nuser 'unclosed\nlet g = &"
    # Line 2 is none: `let a = let b …` reads `let` as a name, and is found when line 1 alone is wrong.
    assert codes(source) == [("E0201", 3), ("E0201", 4), ("E0201", 6), ("E0101", 7), ("E0102", 8)]


def test_at_most_20_errors_are_reported():
    assert len(parse("let a = )\n" * 500).diagnostics) == 20


def test_a_broken_head_does_not_turn_the_brace_that_follows_into_an_error():
    source = "def f() {\n  if x ??? {\n    user: hi\n  }\n  let q = 1\n}\nlet z = &"
    assert codes(source) == [("E0201", 2), ("E0102", 7)]


def test_an_error_inside_a_record_ends_with_the_record():
    assert [line for _, line in codes("let r = { a: 1, b ??? }\nlet s = &\n")] == [1, 2]


def test_an_error_inside_a_block_leaves_the_block():
    assert codes("def f() { let a = & }\nlet b = 1\ndef g() { let c = & }") == [("E0102", 1), ("E0102", 3)]


@pytest.mark.parametrize(
    ("source", "incomplete"),
    [
        ("if a {", True),
        ('user """abc', True),
        ("let a =", True),
        ("let a = [1,", True),
        ('user "abc', False),
        ("let a = )", False),
        ("let a = 1", False),
        ('user "@{a +}"', False),
    ],
)
def test_a_console_can_tell_whether_more_lines_would_help(source, incomplete):
    assert parse(source).incomplete is incomplete


def test_rendering_has_place_line_caret_and_hint():
    shown = Diagnostic(
        "E0301", "unknown name `lable`", "sentiment.rkv", 8, 16, 8, 21, "did you mean `label` (select, line 7)?"
    )
    source = "\n" * 7 + "  return strip(lable)\n"
    assert render(shown, source) == (
        "error[E0301]: unknown name `lable`\n"
        "  --> sentiment.rkv:8:16\n"
        " 8 |   return strip(lable)\n"
        "   |                ^^^^^ did you mean `label` (select, line 7)?"
    )


def test_the_caret_stands_below_the_place_after_tabs_and_wide_characters():
    shown = render(Diagnostic("E0301", "m", "f", 1, 7, 1, 8), "\t日本\te\u0301x")
    line, caret = shown.split("\n")[2:]
    assert line == " 1 |     日本    e\u0301x"
    assert caret == "   | " + " " * (4 + 4 + 4 + 1) + "^"


def test_long_lines_are_cut_around_the_place():
    shown = render(Diagnostic("E0301", "m", "f", 1, 5001, 1, 5004), "a" * 5000 + "bad" + "c" * 5000)
    line, caret = shown.split("\n")[2:]
    assert len(line) < 130
    assert line[caret.index("^") : caret.rindex("^") + 1] == "bad"


def test_control_characters_of_a_program_do_not_reach_the_terminal():
    shown = render(parse("let a = \x1b[31m&", "f\x1b.rkv").diagnostics[0], "let a = \x1b[31m&")
    assert "\x1b" not in shown


def test_a_place_at_the_end_of_the_source_can_be_shown():
    found = parse("let a =\n").diagnostics[0]
    assert "^" in render(found, "let a =\n")


def test_to_dict_is_the_json_form():
    found = parse("let a = &", "x.rkv").diagnostics[0]
    assert found.to_dict() == {
        "code": "E0102",
        "severity": "error",
        "message": "unexpected character `&`",
        "file": "x.rkv",
        "line": 1,
        "col": 9,
        "end_line": 1,
        "end_col": 10,
        "hint": "write `and`",
    }


@pytest.mark.parametrize("source", ["let a = 1 < 2 < 3", "let a = 1 in [1] in [2]", 'text "@{1 == 1 == 1}"'])
def test_comparisons_do_not_chain_and_no_rule_of_the_grammar_is_named(source):
    (found,) = parse(source).diagnostics
    assert (found.code, found.message) == ("E0201", "comparisons do not chain")
    assert "`and`" in (found.hint or "")


def test_an_operator_is_expected_in_words_after_a_comparison():
    (found,) = parse("let a = (1 < 2 = 3)").diagnostics
    assert "an operator" in found.message
    assert "add" not in found.message


@pytest.mark.parametrize("source", ["import foo", "import foo as bar", "import foo.bar"])
def test_import_of_a_bare_name_says_how_to_write_it(source):
    found = parse(source).diagnostics[0]
    assert (found.code, found.hint) == ("E0201", 'import "lib.rkv" as lib')


@pytest.mark.parametrize(("written", "value"), [("1e-3", 1e-3), ("2E5", 2e5), ("1.5e+2", 150.0), ("0.25", 0.25)])
def test_numbers_may_have_an_exponent(written, value):
    program = parse(f"let a = {written}").program
    assert program is not None
    assert program.statements[0].value.value == value


def test_a_number_beyond_a_float_is_an_error():
    assert [found.code for found in parse("let a = 1e999").diagnostics] == ["E0408"]
