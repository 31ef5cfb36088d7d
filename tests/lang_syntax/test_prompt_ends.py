"""W0402: a prompt that ends with a space where a gen begins, wherever the two stand."""

from __future__ import annotations

import pytest

from frontend_lang.checking import check_source
from frontend_lang.diagnostics import Diagnostic


def warned(source: str) -> list[Diagnostic]:
    return [found for found in check_source(source).diagnostics if found.code == "W0402"]


@pytest.mark.parametrize(
    "source",
    [
        '"x "\ngen a',
        '"x\\t"\ngen a',
        "text 'x '\ngen a",
        '"x "\ngen a: str',
        'assistant { "x "; gen a }',
        'assistant { "x "\n fork 2 { gen a } }',
        '"x "\nlet b = fork 2 { gen a }',
        'def f() { "x "; return fork { p { gen a } } }',
        'repeat 2 { gen a; "x " }',
        'for y in [1] { "x " }\ngen a',
        'if true { "x " }\ngen a',
        'if true { "y" } else { "x " }\ngen a',
        '"x "\nif true { gen a }',
        'try { "x " } catch e { gen a }',
        'try { "x "; gen a } catch e { }',
        'map y in [1] { "x "; gen a\n yield a }',
        'let b = map y in [1] { "x "; gen a }',
        'test "t" { "x "; gen a }',
        'fork 2 { "x "; gen a }',
        '"x "\nfork 2 { "y" }\ngen a',
        '"x "\n""\ngen a',
        '"x "\nlet b = 1\nset max=3\ngen a',
        'select b from ["c"]\n"x "\ngen a',
        'text """\n  y\n  x \n  """\ngen a',
    ],
)
def test_it_is_warned_of_at_the_space(source):
    (found,) = warned(source)
    offset = sum(len(line) + 1 for line in source.split("\n")[: found.line - 1]) + found.col - 1
    assert source[offset] in " t"  # the t of an escaped tab
    assert source[offset - 1] in "x\\"
    assert "gen `a`" in found.message


@pytest.mark.parametrize(
    "source",
    [
        '"x"\ngen a',
        '"x "\nselect a from ["b"]',
        '"x "\nselect a from ["b"]\ngen c',
        '"x "\ngen a: int',
        '"x "\ngen a: "b" | "c"',
        'user "x "\nassistant gen a',
        'line "x "\ngen a',
        "text: x \ngen a",
        '"x @{1} @{2}"\ngen a',
        '"x "\n"y"\ngen a',
        '"x "\nuse f()\ngen a\ndef f() { "y" }',
        'def f() { "x " }\ngen a',
        '"x "\nmap y in [1] { gen a\n yield a }',
        '"x "\nfork 2 { gen_it() } join vote keep\ngen a\ndef gen_it() { return 1 }',
        'fork 2 { "x " }\ngen a',
        'let b = "x "\ngen a',
    ],
)
def test_where_it_does_not_matter_it_is_not(source):
    assert warned(source) == []


def test_the_hint_is_what_to_write():
    assert warned('"Answer: "\ngen a')[0].hint == (
        '`select` and typed gen re-open the last token; write "Answer:", the model writes the space itself'
    )
    assert "end the text before the space" in (warned('" "\ngen a')[0].hint or "")


def test_loops_in_loops_are_gone_through_once_for_each_ending():
    depth = 60  # twice per level would never end
    source = "repeat 2 { " * depth + '"a "; gen b; "c "' + " }" * depth
    assert len(warned(source)) == 1
