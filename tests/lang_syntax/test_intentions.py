"""What was meant: a message names the mistake and not only the token at which the grammar gave up."""

from __future__ import annotations

import pytest

from frontend_lang.checking import check_source
from frontend_lang.diagnostics import Diagnostic
from frontend_lang.syntax import parse
from frontend_lang.syntax.words import FOREIGN_WORDS, KEYWORDS, close_word


def findings(source: str) -> tuple[Diagnostic, ...]:
    return check_source(source, "p.rkv").diagnostics


def hint_of(source: str) -> str:
    return findings(source)[0].hint or ""


@pytest.mark.parametrize(
    ("source", "word", "place", "hint"),
    [
        ('let y = select m from ["a"]', "select", (1, 9), "write `select m`; it binds m itself"),
        ('let y = select m from ["a", "b"]', "select", (1, 9), "write `select m`"),
        ('let y = select m from [\n  "a",\n  "b",\n]', "select", (1, 9), "write `select m`"),
        ('return select q from ["a", "b"]', "select", (1, 8), "write `select q`"),
        ("let y = gen a: int(min=1, max=3)", "gen", (1, 9), "write `gen a`"),
        ("return gen a: int", "gen", (1, 8), "write `gen a`"),
        ("let z = assistant gen k", "gen", (1, 9), "write `assistant gen k`; it binds k itself"),
        ("let z = assistant gen k: int", "gen", (1, 9), "write `assistant gen k`; it binds k itself"),
        ("let y = [gen a]", "gen", (1, 10), "write `gen a`"),
        ("let y = len(gen a)", "gen", (1, 13), "write `gen a`"),
        ('user "x @{gen a}"', "gen", (1, 11), "write `gen a`"),
        ("let z = assistant: hi", "assistant", (1, 9), "write the text in quotes"),
        ('let z = user "hi"', "user", (1, 9), "`user …` stands on a line of its own"),
    ],
)
def test_a_statement_is_no_value(source, word, place, hint):
    found = findings(source)[0]
    assert (found.code, found.message) == ("E0205", f"`{word}` is a statement, not a value")
    assert (found.line, found.col) == place
    assert hint in (found.hint or "")


def test_words_in_text_are_no_statements():
    assert "is a statement" not in findings('let a = "b = gen c" )')[0].message
    assert "begins no statement" not in findings('user """\nusr x @{a b}\n"""')[0].message
    assert "is a keyword" not in findings("user: a ==\nlet b = )")[0].message
    assert "is a keyword" not in findings("let a = 1  # so a ==\nlet b = )")[0].message


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("type T = {a: int b: str}", "separate fields with `,`"),
        ("type T = {a: int\n b: str}", "separate fields with `,`"),
        ("type T = {a: int; b: str}", "separate fields with `,`"),
        ("type T = {a: int\n type: str}", "separate fields with `,`"),
        ("let r = {a: 1 b: 2}", "separate fields with `,`"),
        ('let r = {a: "x"\n "b": 2}', "separate fields with `,`"),
        ("let r = [1 2]", "separate items with `,`"),
        ("let r = max(1 2)", "separate what stands in `(…)` with `,`"),
        ("def f(a b) { }", "separate what stands in `(…)` with `,`"),
        ("gen x: int(min=1 max=2)", "separate what stands in `(…)` with `,`"),
    ],
)
def test_a_comma_is_missing(source, hint):
    assert hint_of(source) == hint


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_a_hint_never_proposes_the_word_itself(word):
    for source in (word, f"{word} 2 {{ }}", f"{word} if 2 {{ }}", f"let a = 1\n{word}", f"let a = {word}"):
        assert all(f"did you mean `{word}`" not in (found.hint or "") for found in findings(source))


@pytest.mark.parametrize("source", ["else if 2 { }", "else { }", "elif 2 { }"])
def test_what_follows_an_if_says_so(source):
    (found,) = findings(source)
    assert "follows the `}` of an `if`" in (found.hint or "")
    assert "`elif`" in (found.hint or "") or "else {" in source


def test_a_keyword_that_stands_alone_is_one():
    assert hint_of("with") == "`with` is a keyword that goes on what stands before it"


@pytest.mark.parametrize(
    ("source", "place", "hint"),
    [
        ("asert 1 == 2", (1, 1), "did you mean `assert`?"),
        ("let x = 1\nretrun x + 1", (2, 1), "did you mean `return`?"),
        ('imprt "x.rkv" as x', (1, 1), "did you mean `import`?"),
        ("slect x from ['a', 'b']", (1, 1), "did you mean `select`?"),
        ("frok 3 { yield 1 } join all", (1, 1), "did you mean `fork`?"),
        ("tets 'one' with mock=[] { }", (1, 1), "did you mean `test`?"),
        ("whlie true { }", (1, 1), "there is no `while`"),
        ("if true { } esle { }", (1, 13), "did you mean `else`?"),
        ("if true { } elsif true { }", (1, 13), "write `elif`"),
        ("for i im [1] { }", (1, 7), "did you mean `in`?"),
        ("try { } cacth e { }", (1, 9), "did you mean `catch`?"),
        ("select x form ['a']", (1, 10), "did you mean `from`?"),
        ("let x = if true then 1 els 2", (1, 24), "did you mean `else`?"),
    ],
)
def test_a_misspelt_keyword_is_named_where_it_stands(source, place, hint):
    found = findings(source)[0]
    assert (found.line, found.col) == place
    assert hint in (found.hint or "")
    assert len(findings(source)) == 1


def test_letters_that_changed_places_count_least():
    assert close_word("frok", ("from", "fork")) == "fork"
    assert close_word("fork", ("fork",)) is None
    assert all(close_word(word, FOREIGN_WORDS) != word for word in FOREIGN_WORDS)


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("let x = 1\nx += 1", "write `x = x + …`"),
        ("let x = 1\nx //= 2", "write `x = x // …`"),
        ("let x = 1\nx++", "write `x = x + 1`"),
        ("assistant gen a: int(1, 5)", "bounds are named: int(min=1, max=5)"),
        ("gen a: str(10)", "bounds are named: str(max=80)"),
        ("gen a: list(str)", "bounds are named: list(of=str, max=5)"),
    ],
)
def test_habits_from_elsewhere(source, hint):
    assert hint_of(source) == hint


@pytest.mark.parametrize(
    "following", ['test "one" with mock=[] { }', "user: hi", "let b = 2", "def f() { }", "check 1"]
)
@pytest.mark.parametrize("last", ["assert 1 ==", "check 2 +", "let a =", "return 1 and", "emit", "let a = 1 -  # why"])
def test_a_value_is_missing_at_the_end_of_the_line_before(last, following):
    found = next(each for each in findings(f"{last}\n\n# then\n{following}") if each.code == "E0205")
    word, operator = following.split(" ")[0].rstrip(":"), last.split("#")[0].split()[-1]
    assert found.message == f"`{word}` is a keyword: a value is missing before it"
    assert (found.line, found.col) == (4, 1)
    assert found.hint == f"finish the statement before: `{operator}` on line 1 needs a value"


@pytest.mark.parametrize(
    "source",
    [
        """user "@{concat(['a', '}', '"'], '@{')} …\"""",
        'user "@{f("a")}"',
        'let a = "x @{d["k"]} y"',
        'let a = "x @{f("a", 2)} y" + )',
    ],
)
def test_a_quote_inside_a_hole_ends_the_text(source):
    found = parse(source).diagnostics[0]
    assert (found.code, found.message) == ("E0104", "`@{` is never closed in this text")
    assert found.col == source.index("@{") + 1
    assert "inside `@{…}` ends the text: write '…' there" in (found.hint or "")


def test_a_hole_that_is_open_for_another_reason_is_told_to_close():
    assert "close it" in (parse('user "@{f(1) and so on"').diagnostics[0].hint or "")
