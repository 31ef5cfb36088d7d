"""The four ways to write text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend_lang.syntax import ast, parse
from frontend_lang.syntax.text import dedent


def template(written: str) -> ast.Template:
    result = parse(f"text {written}")
    assert result.diagnostics == ()
    assert result.program is not None
    statement = result.program.statements[0]
    assert isinstance(statement, ast.TextStatement)
    assert isinstance(statement.value, ast.Template)
    return statement.value


def shape(written: str) -> list[object]:
    """Literal pieces as they are, expressions as the source they were written as."""
    source = f"text {written}"
    return [
        part if isinstance(part, str) else ("@", source[part.span.start : part.span.end])
        for part in template(written).parts
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (r'"\"@{v}\""', ['"', ("@", "v"), '"']),
        ('"{{literal}}"', ["{{literal}}"]),
        ('"{@{v}}"', ["{", ("@", "v"), "}"]),
        (r'"a\\"', ["a\\"]),
        ("\"@{d['k']}\"", [("@", "d['k']")]),
        ('"""say "hi" and ""twice"" """', ['say "hi" and ""twice"" ']),
        ("'raw @{v} \\n'", ["raw @{v} \\n"]),
        ('""', []),
        ("''", []),
    ],
)
def test_r159_quotes_braces_and_backslashes_next_to_expressions_are_plain_text(written, expected):
    assert shape(written) == expected


@pytest.mark.parametrize(
    ("written", "code", "col"),
    [
        ('"abc', "E0101", 6),
        ("'it\\'s @{v}'", "E0102", 13),
        ("'it\\'s'", "E0101", 12),
        ('"""abc', "E0101", 6),
        ('"a @{v"', "E0104", 9),
        ('"a @{v', "E0101", 6),
        (r'"a\qb"', "E0103", 8),
        (r'"\u{110000}"', "E0103", 7),
        (r'"\u{d800}"', "E0103", 7),
        ('"@{}"', "E0201", 7),
        ('"@{a +}"', "E0201", 12),
        ('"ok" }', "E0201", 11),
    ],
)
def test_r159_broken_text_is_an_error_at_the_character(written, code, col):
    (found,) = parse(f"text {written}").diagnostics
    assert (found.code, found.line, found.col) == (code, 1, col)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (": hello", ["hello"]),
        (":   padded  ", ["padded"]),
        (':"quoted" and {braces} # no comment', ['"quoted" and {braces} # no comment']),
        (": a @{x} b @{y.z}!", ["a ", ("@", "x"), " b ", ("@", "y.z"), "!"]),
        (": @@{x} and @@@{x}", ["@{x} and @@{x}"]),
        (": mail me@home.org @ noon", ["mail me@home.org @ noon"]),
        (": @{ {a: '}'} }", [("@", "{a: '}'}")]),
        (':@{f("}")}', [("@", 'f("}")')]),
        (":", []),
    ],
)
def test_text_after_a_colon_runs_to_the_end_of_the_line(written, expected):
    assert shape(written) == expected


def test_escapes_in_double_quotes():
    assert template(r'"a\n\t\"\\\u{1F600}\u{e9}"').literal == 'a\n\t"\\😀é'


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('"""\n  a\n    b\n  """', "a\n  b"),
        ('"""\n    a\n  """', "  a"),  # the fence's line counts
        ('"""\n  a\n\n  b\n  """', "a\n\nb"),
        ('"""one\n  two"""', "one\ntwo"),
        ('"""\n"""', ""),
        ('"""\n\ta\n\tb\n\t"""', "a\nb"),
        ('""""\n he said """no"""\n """"', 'he said """no"""'),
        ('r"""\n  @{x} \\n\n  """', "@{x} \\n"),
        ('"""\\n"""', "\\n"),
    ],
)
def test_blocks_are_dedented_and_know_no_escapes(written, expected):
    assert template(written).literal == expected


def test_lines_inside_an_expression_are_not_lines_of_the_block():
    assert shape('"""\n    a @{f(\n1)}\n    b\n    """') == ["a ", ("@", "f(\n1)"), "\nb"]


def test_an_expression_at_the_start_of_a_line_keeps_the_lines_indentation_rule():
    assert shape('"""\n  @{x}\n    @{y}\n  """') == [("@", "x"), "\n  ", ("@", "y")]


def test_positions_inside_blocks_are_those_of_the_source():
    result = parse('let a = 1\nuser """\n  first\n  @{a} and @{bad.field + 2}\n  """')
    assert result.program is not None
    names = [node for node in ast.walk(result.program) if isinstance(node, ast.Name)]
    assert [(node.name, node.span.line, node.span.col) for node in names] == [("a", 4, 5), ("bad", 4, 14)]


def test_expressions_nest_through_text_of_other_kinds():
    assert shape("""\"\"\"a @{f("b @{g('c')}")}\"\"\"""") == ["a ", ("@", "f(\"b @{g('c')}\")")]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=60))
def test_any_line_of_text_means_itself_once_the_marker_is_doubled(text):
    expected = text.strip()
    assert template(": " + text.replace("@{", "@@{")).literal == expected


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=60))
def test_any_text_can_be_written_with_escapes(text):
    written = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("@{", "@@{")
    assert template(f'"{written}"').literal == text


@given(st.lists(st.text(alphabet="ab \t", max_size=6), max_size=6))
def test_dedenting_twice_changes_nothing_more_and_keeps_what_is_not_blank(lines):
    text = "\n" + "\n".join([*lines, "end"]) + "\n"
    once = dedent(text)
    assert "".join(once.split()) == "".join(text.split())
    assert dedent("\n" + once + "\n") == once
