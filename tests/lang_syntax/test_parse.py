"""Whole programs: what they become, and that every source gets an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontend_lang.syntax import ast, parse

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.rkv"))


def program(source: str) -> ast.Program:
    result = parse(source)
    assert result.diagnostics == ()
    assert result.program is not None
    return result.program


def only(source: str) -> ast.Statement:
    (statement,) = program(source).statements
    return statement


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_program_of_the_specification_parses(path):
    assert program(path.read_text("utf-8")).statements


def test_there_are_twelve_of_them():
    assert len(PROGRAMS) == 12


@pytest.mark.parametrize("source", ["", "#", "# c\n", "\n\n", " \t ", ";", ";;\n;"])
def test_r161_sources_without_statements_parse(source):
    assert program(source).statements == ()


@pytest.mark.parametrize("source", ['gen("x")', '\ufeffgen("x")\r\n'])
def test_r161_what_is_no_program_is_our_own_error(source):
    result = parse(source)
    assert result.program is None
    assert [(found.code, found.line, found.col) for found in result.diagnostics] == [("E0201", 1, 4)]


@pytest.mark.parametrize(
    "source",
    ["let a = 1\r\nuser: hi\r\n", "\ufefflet a = 1\nuser: hi", "let\ta\t=\t1\n\tuser: hi\t", "let a = 1;user: hi"],
)
def test_r161_line_ends_byte_order_mark_and_tabs_do_not_matter(source):
    assert program(source) == program("let a = 1\nuser: hi\n")


def test_r164_1500_parentheses_work():
    statement = only("let a = " + "(" * 1500 + "1" + ")" * 1500)
    assert isinstance(statement, ast.Let)
    assert statement.value == ast.Constant(1, span=statement.span)


@pytest.mark.parametrize(
    "source",
    [
        "if a { " * 400 + "}" * 400,
        "let a = " + "[" * 5000 + "]" * 5000,
        "let a = " + "not " * 5000 + "b",
        "let a = " + "+".join("1" * 3000),
        "let a = b" + "(1)" * 3000,
        "let a: " + "list[" * 3000 + "int" + "]" * 3000 + " = 1",
        "let a = " + "if b then c else " * 3000 + "d",
    ],
)
def test_r164_deep_nesting_is_one_clean_error(source):
    assert [found.code for found in parse(source).diagnostics] == ["E0502"]


def test_r164_a_list_of_20000_items_works():
    statement = only("let a = [" + ", ".join("1" * 20_000) + "]")
    assert isinstance(statement, ast.Let)
    assert isinstance(statement.value, ast.ListLiteral)
    assert len(statement.value.items) == 20_000


def test_r164_text_up_to_the_limit_works_and_beyond_it_is_an_error():
    assert only('"' + "x" * 250_000 + '"')
    assert [found.code for found in parse('"' + "x" * 2**20 + '"').diagnostics] == ["E0501"]


def test_half_a_surrogate_pair_is_an_error():
    assert [found.code for found in parse('"\ud800"').diagnostics] == ["E0105"]


def test_numbers_beyond_64_bits_are_an_error():
    assert [found.code for found in parse("let a = " + "9" * 5000).diagnostics] == ["E0503"]


@pytest.mark.parametrize(
    ("source", "grouped"),
    [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("not a == b", "not (a == b)"),
        ("a or b and not c", "a or (b and (not c))"),
        ("-a.b + c[0]", "(-a.b) + c[0]"),
        ("a not in b + c", "a not in (b + c)"),
        ("if a then b else if c then d else e", "if a then b else (if c then d else e)"),
        ("-2 // 3 % 4", "((-2) // 3) % 4"),
    ],
)
def test_operators_bind_as_usual(source, grouped):
    assert program(f"let x = {source}") == program(f"let x = {grouped}")


def test_keywords_are_names_where_only_a_name_can_stand():
    source = "let text = 1\nlet r = {user: text, gen: 2}\nlet x = r.user + text\ngen line with max=3"
    assert [type(statement).__name__ for statement in program(source).statements] == ["Let", "Let", "Let", "Gen"]


def test_slices_and_their_missing_ends():
    value = program("let a = [b[1:], b[:2], b[:], b[1:2]]").statements[0]
    ends = [(node.start is None, node.stop is None) for node in ast.walk(value) if isinstance(node, ast.Slice)]
    assert ends == [(False, True), (True, False), (True, True), (False, False)]


def test_a_fork_without_join_joins_all():
    fork = only('fork 2 { "x" }')
    assert isinstance(fork, ast.CountFork)
    assert (fork.join.policy, fork.join.implicit, fork.join.keep) == ("all", True, False)


def test_fork_of_each_kind():
    each, arms, best = program(
        "fork x in xs as i with width=2, temp=1 { }\nfork { a { } b { } } join pick\nfork n { } join best by a.b keep"
    ).statements
    assert isinstance(each, ast.EachFork)
    assert (each.name, each.index, [option.name for option in each.options]) == ("x", "i", ["width", "temp"])
    assert isinstance(arms, ast.ArmsFork)
    assert ([arm.name for arm in arms.arms], arms.join.policy) == (["a", "b"], "pick")
    assert isinstance(best, ast.CountFork)
    assert best.join.keep


def test_durations_are_seconds():
    values = [node.seconds for node in ast.walk(program("set timeout=250ms, timeout=2s, timeout=3m, timeout=1h"))
              if isinstance(node, ast.Duration)]  # fmt: skip
    assert values == [0.25, 2.0, 180.0, 3600.0]


def test_sites_are_counted_per_kind_and_def_so_that_a_change_elsewhere_moves_none():
    def sites(source: str) -> list[str]:
        return [node.site for node in ast.walk(program(source)) if hasattr(node, "site")]

    tail = 'def g() { gen a; fork 2 { gen b; select c from ["x"] }; repeat 2 { f() } }'
    before = sites("gen a\ngen b\ndef f() { gen a }\n" + tail)
    after = sites("gen a\ngen b\ngen c\ndef f() { # more\n gen a; gen b }\n" + tail)
    assert before[:3] == ["gen1", "gen2", "f.gen1"]
    assert before[3:] == ["g.gen1", "g.fork1", "g.gen2", "g.select1", "g.loop1", "g.call1"]
    assert after[-6:] == before[-6:]


def test_every_span_is_inside_its_parents_and_gives_back_the_source():
    for path in PROGRAMS:
        tree = program(path.read_text("utf-8"))
        for node in ast.walk(tree):
            for child in ast.children(node):
                assert node.span.start <= child.span.start <= child.span.end <= node.span.end
                line = tree.source.split("\n")[child.span.line - 1]
                assert tree.source[child.span.start :].startswith(line[child.span.col - 1 :])


def test_layout_makes_no_difference_to_the_tree():
    tight = 'if a{"x"}elif b{fork 2{gen c with max=3}join all}else{user d}'
    loose = 'if a\n{\n"x" # c\n}\nelif b\n{ fork 2 {\n gen c\n with max = 3 } join\nall }\nelse { user\nd }\n'
    assert program(tight) == program(loose)
