"""Whatever the source, only a program or diagnostics come out, and everything that does can be shown."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from formatting_checks import assert_formats, assert_highlights
from frontend_lang.checker import worst_case
from frontend_lang.checking import check_source
from frontend_lang.sources import MappingSource
from frontend_lang.syntax import ast, parse

HERE = Path(__file__).parent
SEEDS = [
    path.read_text("utf-8") for path in [*(HERE / "programs").glob("*.rkv"), *HERE.parents[1].glob("examples/*.rkv")]
]
SEEDS += [
    """import "lib.rkv" as l
import "sentiment.rkv" as s
type T = {a: int(min=1, max=5), b?: list(of=l.T, max=2), c: "x" | "y" | none, d: schema(file='schema.json')}
tool t(q: str, n: int = 1) -> json with doc="d", timeout=2s
param p: list[T] | none = none
set temp=0
user: hi @{p}
assistant { "A: "; gen g: T with max=9 until g.a > 1; select h from ["u", "v"] with norm="sum" }
try { let r = invoke("t", raw(g)); emit r } catch e { check e.code != "", e.message }
let m = map x in range(3) as i with width=2, on_error="none" { user "@{x}"; assistant gen y; yield l.f(y, y=i) }
let v = fork { a { gen z } b { use l.f(1) } } join vote by prob(h) keep
test "t" with mock=["a"], seed=1 { assert s.sentiment("x") == "a" }
return if matches(g.c, re'x|y') then m else v
""",
]
# Modules that mutants import: a sound one, one with errors, a circle, and a schema.
MODULES = MappingSource(
    {
        "sentiment.rkv": (HERE / "programs" / "sentiment.rkv").read_text("utf-8"),
        "lib.rkv": "type T = {a: int}\ntool wiki(q)\ndef f(x, y=1) { gen a; return a }\n",
        "bad.rkv": "def f( {\nlet a = b",
        "wrong.rkv": "def f() { return nothing }",
        "circle.rkv": 'import "circle.rkv" as c\nimport "mutant.rkv" as m',
        "schema.json": '{"type": "integer", "maximum": 9}',
    }
)
SNIPPETS = (
    *('"', "'", '"""', "@{", "@@{", "}", "{", "(", ")", "[", "]", ";", ":", "=", ",", ".", "\\", "#", "|", "?"),
    *("\n", "\r\n", "\t", "\0", "é", "😀", "\u2028", "\ufeff", "\x1b", "1", "1.5", "10s", "999999999999999999999"),
    *("user", "user: ", "gen a ", "select b from ", "fork 2 ", "join best by ", "keep", "let ", "if ", "else "),
    *("return ", "yield 1", "break", "def f(", "->", "re'", "none", "not ", " in ", "with ", "until ", "set max=3"),
    *("map x in ", "map x in [1] { yield x }", "try ", "catch e ", "try { let q = 1 } catch e { }", "emit q", "fail "),
    *("type T = ", "type T = int(min=1)", ": int(max=3)", ": list(of=T, max=2)", ": {a: T, b?: 'x' | none}", "T | "),
    *("import ", 'import "lib.rkv" as l\n', 'import "bad.rkv" as b\n', 'import "circle.rkv" as c\n', "l.f(", ": l.T"),
    *('import "wrong.rkv" as w\n', "schema(file='schema.json')", "schema(file='no.json')", "use ", "range(3)"),
    *(
        "tool t(q: str) -> str with doc='x'\n",
        "invoke('t', ",
        "t(1)",
        "raw(",
        "probs(b)",
        "matches('a', re'b')",
        "jsonl(",
    ),
    *("assert ", "check a == 1, ", "test 't' with mock=['a'] { ", "test ", "param p: ", "continue", "repeat 3 { "),
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
    """Parse, link, check, add up and show: the answer is a program or errors with places that exist."""
    result = parse(source, "mutant.rkv")
    assert (result.program is None) == bool(result.diagnostics)
    assert len(result.diagnostics) <= 20
    report = check_source(source, "mutant.rkv", modules=MODULES, runnable=True)
    assert (report.program is None) == (result.program is None)
    for found in report.diagnostics:
        text = report.sources[found.file]
        assert 1 <= found.line <= found.end_line <= text.count("\n") + 1
        assert found.col >= 1
        assert "^" in report.shown(found)
    assert report.summary()
    if report.module is not None:
        worst_case(report.module)
        for node in ast.walk(report.module.program):
            assert 0 <= node.span.start <= node.span.end <= len(result.source)
        assert_formats(source)
    assert_highlights(source)


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
