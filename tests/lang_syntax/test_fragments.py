"""A program that does not parse: what did parse is checked too, and nothing is said that is due to what is missing."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from frontend_lang.checking import check_source
from frontend_lang.sources import FolderSource, MappingSource

EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/*.rkv"))


def found(source: str, **files: str) -> list[tuple[str, int]]:
    modules = MappingSource({f"{name}.rkv": text for name, text in files.items()})
    return [(diagnostic.code, diagnostic.line) for diagnostic in check_source(source, modules=modules).diagnostics]


def test_names_types_and_options_are_checked_around_a_syntax_error() -> None:
    source = """text "@{nowhere}"
let y = = 3
gen answer with tempersture=1
if answer == missing {
  let z = (3
}
let w: strr = 3
def q(a) { return here }
def r(a: in t) { yield a }
"""
    expected = ["E0301", "E0201", "E0303", "E0301", "E0201", "E0403", "E0301", "E0201"]
    assert found(source) == list(zip(expected, [1, 2, 3, 4, 6, 7, 8, 9], strict=True))


@pytest.mark.parametrize(
    "source",
    [
        "let a = = 1\ntext a",
        "def f(x: in t) { return x }\nlet b = f(1, 2)\nuse f",
        "type T = {a: }\nlet b: T = 1",
        "import lib.rkv as l\nlet b = l.f(1)",
        "fork p in [1] with ) {\n  yield p\n}",
        "let all = map x in [1] { yield x } )\ntext all",
        'let a = "x @{= =} y"\nselect b from ["@{= =}", "c"]\ntext a',
        "for i in ??? {\n  if i > 1 { break }\n}",
        "def f(x) { if x > ( { return 1 } else { return 2 } }\nlet b = f(1)",
        "def f(x) {\n  if x ??? {\n    let y = 1\n  } elif x {\n    let y = 2\n  }\n  return y\n}",
        "def f(x) {\n  text x\n\ndef g() { return f(1) }\nlet a = g()\n",
        "gem x with max=)\n",
    ],
)
def test_nothing_is_said_that_may_be_due_to_what_is_lost(source: str) -> None:
    codes = {code for code, _ in found(source)}
    assert codes
    assert codes <= {"E0101", "E0102", "E0201", "E0202"}


def test_warnings_wait_until_the_program_parses() -> None:
    assert ("W0304", 1) in found("let len = 1\ntext len")
    assert found("let len = 1\ntext len\nlet b = = 1") == [("E0201", 3)]


def test_an_open_block_does_not_hide_the_errors_before_and_in_it() -> None:
    assert found("text nowhere\ndef f(x) {\n  text y\n  text x\n") == [("E0301", 1), ("E0202", 2), ("E0301", 3)]


def test_imports_of_a_broken_program_are_read_and_checked() -> None:
    source = 'import "lib.rkv" as l\nimport "no.rkv" as n\nlet a = = 1\nlet b = l.g()\n'
    assert found(source, lib="def f() { return q }") == [("E0703", 2), ("E0201", 3), ("E0317", 4), ("E0301", 1)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_characters_too_much_give_syntax_errors_alone(path: Path) -> None:
    """Between words, where they cannot make another program of it."""
    source = path.read_text("utf-8")
    noise = random.Random(path.stem)
    places = [match.start() for match in re.finditer(r"(?<=\S) (?=\S)", source)]
    for _ in range(25):
        place = noise.choice(places)
        report = check_source(source[:place] + " ) ??? " + source[place:], str(path), modules=FolderSource(path.parent))
        assert report.ok or {item.code for item in report.diagnostics} <= {"E0101", "E0102", "E0104", "E0201", "E0202"}
