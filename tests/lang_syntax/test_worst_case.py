"""Upper bounds on branches and new tokens."""

from __future__ import annotations

import pytest

from frontend_lang.checker import worst_case
from frontend_lang.syntax import parse


def bounds(source: str, entry: str | None = None) -> tuple[int | None, int | None]:
    program = parse(source).program
    assert program is not None
    cost = worst_case(program, entry)
    return cost.branches, cost.tokens


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", (0, 0)),
        ("gen a", (0, 256)),
        ("gen a with max=10", (0, 10)),
        ("gen a with max=10 until a != ''", (0, 30)),
        ("gen a with max=10, tries=5 until a != ''", (0, 50)),
        ("set max=7\ngen a\ngen b", (0, 14)),
        ("if true { set max=7 }\ngen a", (0, 256)),
        ("repeat 3 { gen a with max=10 }", (0, 30)),
        ("for x in [1, 2] { gen a with max=10 }", (0, 20)),
        ("for x in range(2, 5) { gen a with max=10 }", (0, 30)),
        ("fork 8 with temp=0.8 { gen why with max=300; gen a with max=6 } join vote", (8, 2448)),
        ("fork 4 with max=5 { gen a\n fork 2 { gen b } }", (4 + 8, 20 + 40)),
        ("fork { a { gen x with max=1 } b { gen x with max=2 } }", (2, 3)),
        ("if true { gen a with max=10 } elif false { fork 2 { gen b with max=1 } }", (2, 10)),
        ("def f() { gen a with max=10; return a }\nlet x = [f() for i in range(4)]", (0, 40)),
        ("def f(s) { gen a with max=10; return a }\nfork 3 { gen t with max=1 } join best by f(t)", (3, 33)),
        ("def f(r) { gen a with max=10; return a }\nfork 3 { gen t with max=1 } join f", (3, 13)),
        ("def f() { gen a }\nset max=5\nuse f()", (0, 5)),
        ("def f() { gen a }\nset max=5\nf()", (0, 256)),
        ("user: @{[1, 2]}\nassistant gen a with max=10", (0, 10)),
    ],
)
def test_bounds_are_products_of_what_is_written(source, expected):
    assert bounds(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("param n = 2\nrepeat n { gen a with max=10 }", (0, None)),
        ("param n = 2\nfork n { gen a with max=10 }", (None, None)),
        ("param n = 2\ngen a with max=n", (0, None)),
        ("def f(n) { gen a; f(n) }\nf(1)", (0, None)),
        ("def f(n) { gen a; g(n) }\ndef g(n) { fork 2 { use f(n) } }\nf(1)", (None, None)),
        ("def f(n) { fork 2 { let b = 1 } join f }\nf(1)", (None, 0)),
        ("def f() { gen a; use f() }\nuse f()", (0, None)),
        ("param n = 2\nrepeat n { let a = 1 }\ngen b with max=3", (0, 3)),
    ],
)
def test_without_a_written_bound_there_is_none(source, expected):
    assert bounds(source) == expected


def test_the_entry_decides_and_without_one_the_dearest_counts():
    source = "def a() { gen x with max=1 }\ndef b() { fork 2 { gen x with max=2 } }"
    assert bounds(source, "a") == (0, 1)
    assert bounds(source, "b") == (2, 4)
    assert bounds(source) == (2, 4)


@pytest.mark.parametrize(
    "source",
    [
        "def f(n) { return if n < 2 then 1 else f(n - 1) }\nlet a = f(9)",
        "def f() { use f() }\nf()",
        "def f(n) { return g(n) }\ndef g(n) { return f(n) }\nf(1)",
    ],
)
def test_recursion_that_neither_generates_nor_forks_costs_nothing(source):
    assert bounds(source) == (0, 0)


def test_defs_that_use_defs_twice_are_added_up_once_each():
    chain = "\n".join(f"def f{i}() {{ use f{i + 1}(); use f{i + 1}() }}" for i in range(40))
    assert bounds(f"{chain}\ndef f40() {{ gen a with max=1 }}\nuse f0()") == (0, 2**40)
