"""Colours: what the Pygments lexer and the TextMate grammar make of programs."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from pygments.lexers import load_lexer_from_file
from pygments.token import Comment, Keyword, Name, Number, Punctuation, String, Token

from formatting_checks import assert_highlights
from frontend_lang.highlighting import RkvLexer
from frontend_lang.syntax.words import KEYWORDS

ROOT = Path(__file__).parents[2]
PROGRAMS = [*(ROOT / "tests/lang_syntax/programs").glob("*.rkv"), *(ROOT / "examples").glob("*.rkv")]
GRAMMAR = json.loads((ROOT / "docs/editors/rkv.tmLanguage.json").read_text("utf-8"))


def kind_of(source: str, text: str) -> object:
    """The kind of the first token that is this text."""
    return next(token for token, found in assert_highlights(source) if found == text)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_a_program_has_no_unknown_token(path):
    found = assert_highlights(path.read_text("utf-8"))
    assert not [text for token, text in found if token is Token.Text]
    assert any(token in Keyword for token, _ in found)


@pytest.mark.parametrize("text", ['"a @{x.y} b"', '"""\n a @{x.y}\n"""', "text: r @{x.y}"])
def test_what_is_inserted_into_text_is_code(text):
    found = assert_highlights(text)
    assert (String.Interpol, "@{") in found
    assert (Name, "x") in found
    assert (Name.Attribute, "y") in found


def test_raw_text_has_no_holes_and_marks_are_text():
    assert not [text for token, text in assert_highlights('\'@{x}\' r"""@{y}""" "@@{z}"') if token is String.Interpol]
    assert kind_of('"@@{z}"', "@@{") is String.Escape
    assert kind_of(r'"a\n"', r"\n") is String.Escape


def test_a_role_opens_text_to_the_end_of_the_line_and_in_a_record_it_is_a_name():
    assert kind_of('user: say } "x # y\n', "user") is Keyword.Namespace
    assert kind_of('user: say } "x # y\n', ' say } "x # y') is String
    assert kind_of("let a = {user: 1}", "user") is Name.Attribute
    assert kind_of("let a = {user: 1}", "1") is Number.Integer
    assert kind_of("f([{text: 1}])", "text") is Name.Attribute
    assert kind_of("if a { user: {b}\n}", " {b}") is String
    assert kind_of("let text: str = 1", "text") is Name.Variable
    assert kind_of("return row.text", "text") is Name.Attribute


@pytest.mark.parametrize(
    ("source", "text", "kind"),
    [
        ("# c", "# c", Comment.Single),
        ("gen x with max=1", "gen", Keyword),
        ("def f() {}", "f", Name.Function),
        ("type T = int", "T", Name.Class),
        ("param a: int", "int", Keyword.Type),
        ("let a = 10s", "10s", Number),
        ("let a = 1.5e3", "1.5e3", Number.Float),
        ("let a = re'x y'", "re'x y'", String.Regex),
        ("fork 2 {} join vote", "vote", Name.Builtin),
        ("assistant { }", "{", Punctuation),
    ],
)
def test_words_have_their_kind(source, text, kind):
    assert kind_of(source, text) is kind


HOSTILE = [
    "(",
    "{",
    '"',
    "'",
    '"""',
    'r"""',
    '"@{',
    "user: @{",
    "@{'",
    '\\"',
    "a",
    " ",
    "re'",
    "x: ",
    "\ud800",
    "join ",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_is_plain_text_and_quick(piece):
    assert_highlights(piece * (40_000 // len(piece)))
    assert_highlights('"@{' + piece * (40_000 // len(piece)))


def test_pygments_finds_the_lexer_under_its_name():
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pygments.lexers"]
    assert EntryPoint("rkv", points["rkv"], "pygments.lexers").load() is RkvLexer
    assert RkvLexer.aliases == ["rkv"]
    path = ROOT / "frontend_lang/highlighting/lexer.py"
    assert load_lexer_from_file(str(path), "RkvLexer").name == RkvLexer.name


# --- the TextMate grammar ---


def rules(node: object) -> list[dict[str, object]]:
    """All rules of the grammar, at any depth."""
    if isinstance(node, list):
        return [rule for item in node for rule in rules(item)]
    if not isinstance(node, dict):
        return []
    here = [node] if node.keys() & {"match", "begin", "include"} else []
    return here + [rule for item in node.values() for rule in rules(item)]


def test_every_rule_of_the_grammar_is_reached_and_every_include_exists():
    repository = GRAMMAR["repository"]
    reached: set[str] = set()
    waiting = [GRAMMAR["patterns"]]
    while waiting:
        names = {str(rule["include"])[1:] for rule in rules(waiting.pop()) if "include" in rule} - reached
        reached |= names
        waiting += [repository[name] for name in names]
    assert reached == set(repository)


def test_patterns_of_the_grammar_are_regular_expressions():
    for rule in rules(GRAMMAR):
        for key in rule.keys() & {"match", "begin"}:
            groups = re.compile(str(rule[key])).groups
            captures = rule.get("captures") or rule.get("beginCaptures") or {}
            assert all(int(number) <= groups for number in captures)
        if "end" in rule:
            re.compile(f"{rule['begin']}|{rule['end']}")  # \1 of the end is a group of the beginning


def test_the_grammar_knows_all_keywords():
    patterns = [re.compile(str(rule["match"])) for rule in rules(GRAMMAR) if "match" in rule]
    names = [GRAMMAR["repository"][key] for key in ("call", "attribute", "key")]
    keywords = [pattern for pattern in patterns if pattern.pattern not in {rule["match"] for rule in names}]
    assert [word for word in KEYWORDS if not any(pattern.fullmatch(word) for pattern in keywords)] == []
