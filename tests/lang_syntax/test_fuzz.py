"""Whatever the source, only a program or diagnostics come out, and everything that does can be shown."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from frontend_lang.checker import check, worst_case
from frontend_lang.checking import check_source
from frontend_lang.diagnostics import render
from frontend_lang.syntax import ast, parse

HERE = Path(__file__).parent
SEEDS = [
    path.read_text("utf-8") for path in [*(HERE / "programs").glob("*.rkv"), *HERE.parents[1].glob("examples/*.rkv")]
]
SNIPPETS = (
    *(
        '"',
        "'",
        '"""',
        "@{",
        "@@{",
        "}",
        "{",
        "(",
        ")",
        "[",
        "]",
        ";",
        ":",
        "=",
        ",",
        ".",
        "\\",
        "#",
        "\n",
        "\r\n",
        "\t",
    ),
    *(
        "user",
        "user: ",
        "gen a ",
        "select b from ",
        "fork 2 ",
        "join best by ",
        "keep",
        "let ",
        "if ",
        "else ",
        "return ",
    ),
    *(
        "yield 1",
        "break",
        "def f(",
        "->",
        "1",
        "1.5",
        "10s",
        "re'",
        "none",
        "not ",
        " in ",
        "with ",
        "until ",
        "\0",
        "é",
        "😀",
    ),
    *("map x in ", "type T = ", "try ", "catch e ", "import ", "\u2028", "\ufeff", "\x1b", "999999999999999999999"),
)


def mutant(chance: random.Random) -> str:
    """One of the programs with one to three pieces cut, doubled, moved, replaced or put in."""
    source = chance.choice(SEEDS)
    if chance.random() < 0.5:  # a part of a program is quicker to parse, and broken at both ends
        start = chance.randrange(len(source))
        source = source[start : start + chance.randint(20, 300)]
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(source) + 1)
        end = min(len(source), start + chance.choice((0, 1, 1, 3, 10, 40)))
        piece = chance.choice(("", chance.choice(SNIPPETS), source[start:end] * 2, chance.choice(SEEDS)[start:end]))
        source = source[:start] + piece + source[end:]
    return source


def assert_answer(source: str) -> None:
    result = parse(source, "mutant.rkv")
    assert (result.program is None) == bool(result.diagnostics)
    assert len(result.diagnostics) <= 20
    found = list(result.diagnostics)
    if result.program is not None:
        found += check(result.program, runnable=True)
        worst_case(result.program)
        assert all(node.span.start <= node.span.end <= len(result.source) for node in ast.walk(result.program))
    for diagnostic in found:
        assert 1 <= diagnostic.line <= diagnostic.end_line <= result.source.count("\n") + 1
        assert diagnostic.col >= 1
        assert "^" in render(diagnostic, result.source)


def fuzz(count: int, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(count):
        source = mutant(chance)
        try:
            assert_answer(source)
        except Exception as error:
            raise AssertionError(f"failed for {source!r}") from error


def test_3000_mutants_of_the_programs_get_an_answer():
    fuzz(3_000, seed=20)


@pytest.mark.slow
def test_100000_mutants_of_the_programs_get_an_answer():
    fuzz(100_000, seed=21)


@pytest.mark.parametrize(
    "source", ["\0", "\ud800", "\x1b[2J", "((((", '"' * 7, "@{" * 99, "{" * 999, "'" * 3, "r'''", "\u2028let"]
)
def test_odd_sources_get_an_answer(source):
    assert_answer(source)
    assert isinstance(check_source(source).to_dict(), dict)
