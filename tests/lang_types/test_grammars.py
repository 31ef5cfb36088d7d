"""Constraints that can be read are compiled within a budget; others are refused with their place."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from frontend_lang import ProgramError
from frontend_lang.grammars import ConstraintRefused, Grammar, escaped
from frontend_lang.runtime import Choice, Constraint, JsonSchema, Lark, Regex


def schema(value: object) -> JsonSchema:
    return JsonSchema(json.dumps(value))


def refused(constraint: Constraint) -> ProgramError:
    with pytest.raises(ProgramError) as caught:
        Grammar.of(constraint)
    return caught.value


@pytest.mark.parametrize(
    ("pattern", "fits", "others"),
    [
        (r"\d{4}", ["2020", "٣٣٣٣"], ["202", "20201", "x2020"]),
        ("a|b", ["a", "b"], ["ab", ""]),
        ("^a$", ["a"], ["aa"]),
        ("(?i)abc", ["ABC"], ["ab"]),
        (".", ["é", "日"], ["\n", "ab"]),
        ("a/b\nstart: x", ["a/b\nstart: x"], ["a"]),
        ('["/]+', ['"/"'], ["a"]),
        ("", [""], ["a"]),
        ("(a|aa)+$", ["a" * 5000], ["a" * 5000 + "b"]),
    ],
)
def test_a_pattern_matches_whole_texts(pattern: str, fits: list[str], others: list[str]) -> None:
    grammar = Grammar.of(Regex(pattern))
    assert [grammar.matches(text) for text in fits] == [True] * len(fits)
    assert [grammar.matches(text) for text in others] == [False] * len(others)


@pytest.mark.parametrize(
    ("pattern", "position", "words"),
    [
        ("[", 0, "unclosed character class"),
        ("ab(c", 2, "unclosed group"),
        ("x(?=a)b", 1, "look-around"),
        (r"(a)\1", 3, "backreferences"),
        (r"a\bb", None, "not supported"),
        ("a$b", None, "not supported"),
        ("a\\", 1, "single backslash"),
        (r"[^\s\S]", None, "no text at all"),
    ],
)
def test_r146_a_bad_pattern_is_refused_with_the_place_in_it(pattern: str, position: int | None, words: str) -> None:
    error = refused(Regex(pattern))
    assert isinstance(error, ConstraintRefused)
    assert (error.code, error.position) == ("E0504", position)
    assert words in error.message


def test_the_place_where_a_text_leaves_the_grammar_is_counted_in_characters() -> None:
    grammar = Grammar.of(Choice(("да нет", "yes")))
    assert grammar.reject_position("да не?") == 5
    assert grammar.reject_position("да") == 2
    assert grammar.reject_position("да нет") is None
    assert grammar.reject_position("\ud800") == 0


def test_a_choice_takes_any_characters_as_they_are() -> None:
    options = ("a.b", "[x]\n", "\\", '"', "😀")
    grammar = Grammar.of(Choice(options))
    assert all(map(grammar.matches, options))
    assert not grammar.matches("axb")
    assert Grammar.of(Regex(escaped("".join(options)))).matches("".join(options))
    assert refused(Choice(())).code == "E0504"


def test_a_lark_grammar_is_a_constraint_too() -> None:
    assert Grammar.of(Lark('start: "a"+ b\nb: /[0-9]/')).matches("aa7")
    assert refused(Lark('start: "a" b')).code == "E0504"
    assert refused(Lark('start: %json {"x-guidance": {"lenient": true}}')).code == "E0506"


def test_a_state_explosion_while_matching_is_an_error_and_no_mismatch() -> None:
    grammar = Grammar.of(Regex("[ab]*a[ab]{25}"))
    assert grammar.matches("ab" * 2000)
    with pytest.raises(ProgramError) as caught:
        grammar.matches("".join(random.Random(1).choices("ab", k=200_000)))
    assert caught.value.code == "E0505"


def test_threads_share_a_grammar() -> None:
    grammar = Grammar.of(Regex("(a|b)*"))
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda index: grammar.matches("ab" * 500) and not grammar.matches("c"), range(100)))


def test_equal_constraints_are_compiled_once() -> None:
    assert Grammar.of(Regex("x{3}")) is Grammar.of(Regex("x{3}"))


def test_a_text_under_an_ambiguous_grammar_is_given_up_in_time() -> None:
    grammar = Grammar.of(Lark('start: s\ns: s s | "a" | ""'))
    assert grammar.matches("a" * 20)
    with pytest.raises(ConstraintRefused, match="more states or time"):
        grammar.matches("a" * 20_000)
