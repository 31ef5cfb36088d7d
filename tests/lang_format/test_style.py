"""The one layout, rule by rule."""

from __future__ import annotations

import pytest

from formatting_checks import assert_formats
from frontend_lang import ProgramRejected
from frontend_lang.formatting import format_source

LONG = "a_name_of_forty_characters_in_all_letters"


def formats(before: str, after: str) -> None:
    assert assert_formats(before) == after
    assert format_source(after) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('user "Hi";assistant gen a;return a', 'user "Hi"\nassistant gen a\nreturn a\n'),
        ("if a{break}\nelse{continue}", "if a { break } else { continue }\n"),
        ("if a{break\n}", "if a {\n  break\n}\n"),
        ("repeat 2{}", "repeat 2 {}\n"),
        ("repeat 2 {\n\n}", "repeat 2 {}\n"),
        ("fork{a{}b{gen x;gen y}}join all", "fork { a {} b { gen x; gen y } } join all\n"),
        ("try{f()}\ncatch e{g()}", "try { f() } catch e { g() }\n"),
        ("user{\nuser: a } b\n}", "user {\n  user: a } b\n}\n"),
    ],
    ids=["semicolons", "if-else", "broken", "empty", "empty-lines", "arms", "try", "text-with-brace"],
)
def test_a_statement_has_its_line_and_a_block_on_one_line_stays_there(before, after):
    formats(before, after)


def test_a_semicolon_stays_where_a_name_would_else_be_taken_for_a_keyword():
    formats('let with = 1; with = 2; "x"; as', 'let with = 1;\nwith = 2\n"x";\nas\n')
    formats("fork { a {} } join all  # c\n; keep = 1", "fork { a {} } join all;  # c\nkeep = 1\n")
    formats("user: Hi\n; as = 1", "user: Hi\nas = 1\n")
    formats("if a { x = 1; else = 2\n}", "if a {\n  x = 1;\n  else = 2\n}\n")


def test_a_block_that_does_not_fit_is_broken_and_the_join_stays_behind_its_brace():
    inner = f"gen {LONG}; gen {LONG}"
    formats(
        f"fork 2 {{ {inner} }} join best by f(x) keep",
        f"fork 2 {{\n  gen {LONG}\n  gen {LONG}\n}} join best by f(x) keep\n",
    )


def test_the_blocks_of_one_statement_are_all_on_one_line_or_all_broken():
    formats(
        f"if a {{ x = 1 }} else {{ {LONG} = {LONG} + 100000 }}",
        f"if a {{\n  x = 1\n}} else {{\n  {LONG} = {LONG} + 100000\n}}\n",
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("let a=1+2*-3//(x-y)", "let a = 1 + 2 * -3 // (x - y)\n"),
        ("let a = ((( b )))", "let a = (b)\n"),
        ("let a=x [ 1 ] . b [ 1 : ] (c , d = 2 , )", "let a = x[1].b[1:](c, d=2)\n"),
        ("let a=b not   in c and not d", "let a = b not in c and not d\n"),
        ("let a = { b : 1 , 'c d' : [ ] , }", "let a = {b: 1, 'c d': []}\n"),
        ("let a=[x for x in y if z]", "let a = [x for x in y if z]\n"),
        ("let a=if b then c else d", "let a = if b then c else d\n"),
        ("type T={a ? :int|none,b:list[str]}", "type T = {a?: int | none, b: list[str]}\n"),
        ("param a:int( min = 1 )=2", "param a: int(min=1) = 2\n"),
        ("type T = list(of = str, max = 2)", "type T = list(of=str, max=2)\n"),
        ("gen x:m . T with max = 1 until x>1", "gen x: m.T with max=1 until x > 1\n"),
        ("tool t(a:str=1)->str with doc='d'", "tool t(a: str = 1) -> str with doc='d'\n"),
        ("set temp=0,max=1", "set temp=0, max=1\n"),
        ('assert a==b,"no"', 'assert a == b, "no"\n'),
    ],
    ids=lambda value: None if "\n" in value else value,
)
def test_spaces_stand_around_operators_and_after_commas(before, after):
    formats(before, after)


def test_what_does_not_fit_has_an_item_a_line():
    items = [f"{LONG}{number}" for number in range(3)]
    listed = "".join(f"  {item},\n" for item in items)
    formats(f"let a = [{', '.join(items)}]", f"let a = [\n{listed}]\n")
    formats(f"f({', '.join(items)})", f"f(\n{listed}\n)\n".replace("\n\n", "\n"))
    formats(
        f"def f({', '.join(items)}) -> str {{ return 1 }}", f"def f(\n{listed[:-2]}\n) -> str {{ return 1 }}\n"
    )  # no comma may follow the last parameter


def test_a_list_that_begins_with_a_newline_stays_broken():
    formats("let a = [\n1, 2]", "let a = [\n  1,\n  2,\n]\n")
    formats("let a = [1,\n2]", "let a = [1, 2]\n")


def test_the_brackets_of_a_single_list_or_record_are_enough():
    formats("f([\n1,\n{a:2}])", "f([\n  1,\n  {a: 2},\n])\n")
    formats("select a from b with x=[\n1]", "select a from b with x=[\n  1,\n]\n")


def test_long_operators_clauses_and_conditions_go_on_with_four_spaces():
    formats(
        f"let a = {LONG} + {LONG} - {LONG}",
        f"let a = {LONG}\n    + {LONG}\n    - {LONG}\n",
    )
    formats(
        f"gen x with max=1, stop={LONG} until {LONG} == x",
        f"gen x\n    with max=1, stop={LONG}\n    until {LONG} == x\n",
    )
    formats(f"let a = if {LONG} then {LONG} else 1", f"let a = if {LONG}\n    then {LONG}\n    else 1\n")
    formats(f"assert {LONG} == {LONG}, {LONG}", f"assert {LONG} == {LONG},\n    {LONG}\n")


def test_one_empty_line_between_statements_is_kept_and_defs_get_one():
    formats("a()\n\n\n\nb()\nc()", "a()\n\nb()\nc()\n")
    formats("# what\n\n\ndef f() {}\n# g\ndef g() {}\na()", "# what\n\ndef f() {}\n\n# g\ndef g() {}\n\na()\n")
    formats("def f() {\n\n  a()\n\n}", "def f() {\n  a()\n}\n")


COMMENTED = """\
# first
param a  # of a
let b = [  # opens
  1,  # one
  # two
  2,

  # three
  3,  # the last
  # none
]
if b {  # why
  # only a comment
} else {
  c()
  # after
}
let d  # odd
    = 1
# end
"""


def test_comments_stay_with_what_they_belong_to():
    assert assert_formats(COMMENTED) == COMMENTED


def test_a_comment_after_an_item_comes_after_its_comma():
    formats("let a = [1 # one\n, 2 # two\n]", "let a = [\n  1,  # one\n  2,  # two\n]\n")


def test_comments_between_the_parts_of_a_statement_are_on_its_level():
    source = "if a {\n  text b\n}  # why\n# one\nelif c {\n  text d\n}\n# other\nelse {\n  text e\n}\n"
    assert assert_formats(source) == source
    formats("try { f() }\n # x\ncatch e { }", "try {\n  f()\n}\n# x\ncatch e {}\n")
    formats("fork { a { } }\n # x\njoin pick", "fork {\n  a {}\n}\n# x\njoin pick\n")


def test_comments_of_a_program_without_statements_stay():
    formats("#!shebang \n\n\n\n# x", "#!shebang\n\n# x\n")
    formats("", "")
    formats(" \n\t", "")
    formats(" # c", "# c\n")


def test_text_is_left_alone_to_the_byte():
    source = (
        'user """\n   block @{ x }\n\t"quotes" \n """\n'
        'user:   rest @{ y }; "a"  \n'
        'text r""""\n  """ raw\n""""\n'
        "\"@{ a [ 'k' ] }\"\n"
    )
    assert assert_formats(source) == source


def test_a_mark_and_line_endings_of_other_systems_go():
    formats("\ufeffuser: Hi\r\n\r\n\r\nassistant gen a\r\n", "user: Hi\n\nassistant gen a\n")


def test_unicode_counts_characters():
    formats('line "日本語"; let a = "😀"', 'line "日本語"\nlet a = "😀"\n')


def test_parentheses_as_deep_as_a_source_is_large_are_no_problem():
    assert format_source(f"let a = {'(' * 20_000}1{')' * 20_000}") == "let a = (1)\n"


def test_the_deepest_program_is_formatted():
    for opener, closer in (("[", "]"), ("f(", ")"), ("(not ", ")"), ("{a: ", "}")):
        assert_formats(f"let a = {opener * 30}1{closer * 30}")
    assert_formats("if a { " * 62 + "}" * 62)


def test_a_program_that_does_not_parse_is_rejected_with_all_diagnostics():
    with pytest.raises(ProgramRejected) as error:
        format_source("let let\nlet = 1\nuser: ok", "bad.rkv")
    assert len(error.value.diagnostics) >= 2
    assert error.value.diagnostics[0].file == "bad.rkv"
