"""Whatever the layout of a program, formatting keeps what it means, its text and its comments, and is done at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from formatting_checks import assert_formats, tokens_of
from frontend_lang.formatting import format_source, printer

ROOT = Path(__file__).parents[2]
EVERY_CONSTRUCT = """\
let a = ((((1 + 2) * 3 - -4) // x[1:2]) % f(g(h(1, b=2)), [[], {}, [{a: 1}]]))
let t: list[{a?: int | none, b: "q"}] = []
def f(a, b: int(min=1) = 2, c: "x" | "y" | none = none) -> list(of=m.T, max=2) {
  return if a then b else if c then [x for x in y if z not in w and not q or r] else {}
}
fork 2 as i with width=2, temp=1 {} join vote by (a) keep
fork { a {} b { "x" } } join all
fork x in [1] as j { user \"\"\"
   block @{x}
     more
 \"\"\" ; text r\"\"\"raw\"\"\" ; line 'q' } join concat by ""
if a {} elif b { break } else { continue }
try {} catch e { fail e; emit {a: 1, 'b c': re'x y'} }
assert a == b, "no" check a
set temp=0, max=20, stop=["a", "b"]
user ((a)) assistant (b) assistant gen x: int(min=1) with max=1 until x > 1 and y
system: rest of } the line
test "t" with mock=["a", b] { }
import "a" as b
type T = {a: 1.5 | "x", b?: re'y'}
tool t() tool u(a: x.T = 1.5e3) -> str with timeout=10s, doc='a'
use f(1,) repeat 3 { } for q in r as s { yield true } param p = false select c from d with norm="sum"
x = map r in jsonl("x") as i with width=2 { yield r.a[0](1)(2) }
"""
PROGRAMS = {
    path.name: path.read_text("utf-8")
    for path in [*(ROOT / "tests/lang_syntax/programs").glob("*.rkv"), *(ROOT / "examples").glob("*.rkv")]
}
TOKENS = [tokens_of(source) for source in [EVERY_CONSTRUCT, EVERY_CONSTRUCT, *PROGRAMS.values()]]
GAPS = [
    *(" ", "\n", "\n\n\n", "  ", "\t", "\r\n", " # behind\n", "\n# own line\n", "\n\n  #x \n\n", "\n#a\n#b\n"),
    " #a\n#b\n",
]


@st.composite
def layouts(draw: st.DrawFn) -> str:
    """A program with anything between its tokens that may stand there."""
    tokens = draw(st.sampled_from(TOKENS))
    begin = draw(st.integers(0, len(tokens)))
    length = draw(st.sampled_from([1, 10, 100]))
    gaps = iter(draw(st.lists(st.sampled_from(GAPS), min_size=length, max_size=length)))
    parts: list[str] = []
    for index, token in enumerate(tokens):
        gap = next(gaps, " ") if index >= begin else " "
        after_rest = index and tokens[index - 1].type == "REST"
        parts += ["\n" if after_rest else "", gap, str(token)]
    return "".join([*parts, next(gaps, "\n") if tokens[-1].type != "REST" else "\n"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(layouts(), st.sampled_from([1, 20, 40, 60, 80, 100]))
def test_any_layout_of_any_width(source, width):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(printer, "WIDTH", width)
        assert_formats(source)


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_programs(source):
    assert_formats(source)


def test_every_construct():
    assert_formats(EVERY_CONSTRUCT)


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "examples").glob("*.rkv")))
def test_an_example_is_formatted(name):
    assert format_source(PROGRAMS[name]) == PROGRAMS[name]


@pytest.mark.parametrize("document", ["README.md", "docs/language.md"])
def test_programs_in_documents_are_formatted(document):
    sources = re.findall(r"^```rkv\n(.*?)^```", (ROOT / document).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert [source for source in sources if format_source(source) != source] == []


def test_work_grows_with_the_length_of_the_source(monkeypatch):
    words = 0
    texts = printer._texts

    def counted(doc, flat):
        nonlocal words
        for word in texts(doc, flat):
            words += 1
            yield word

    monkeypatch.setattr(printer, "_texts", counted)
    looked_at = []
    for count in (100, 200):
        words = 0
        format_source(f"let a = f({'{a: [1, 2], b: c(d)}, ' * count})")
        looked_at.append(words)
    assert looked_at[1] < 2.2 * looked_at[0]
