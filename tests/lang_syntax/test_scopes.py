"""Names in maps, tries, tests, tools and builtins that look at how a name was bound."""

from __future__ import annotations

import pytest

from frontend_lang.checking import check_source
from frontend_lang.diagnostics import Diagnostic

TOOL = "tool wiki(q: str, lang: str = 'en') -> str\n"


def findings(source: str) -> list[Diagnostic]:
    return list(check_source(source).diagnostics)


def codes(source: str) -> list[tuple[str, int]]:
    return [(found.code, found.line) for found in findings(source)]


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        # map: a branch in a fresh context
        ("let n = 0\nmap x in [1] {\n n = 1\n}", "E0312", "yield the value"),
        ("map x in [1] { return x }", "E0314", "use `yield`"),
        ("repeat 2 { map x in [1] { break } }", "E0314", None),
        ("map x in [1] { yield x }\nreturn x", "E0301", None),
        ("map row in [1] { yield roww }", "E0301", "did you mean `row` (map, line 1)?"),
        ("assistant { map x in [1] { user: a\n assistant { user: b\n } } }", "E0316", None),
        ("map x in [1] with widht=3 { yield x }", "E0303", "did you mean `width`?"),
        ("map x in [1] with stream=1 { yield x }", "E0402", None),
        ("map x in [1] with on_error='skip' { yield x }", "E0401", "drop"),
        ("map x in [1] with max=9999 { yield x }", "E0401", None),
        ("map x in 3 { yield x }", "E0402", "range(3)"),
        # tools
        ("tool f(a)\ntool f(b)", "E0302", "line 1"),
        ("tool f(a)\ndef f(b) { return b }", "E0302", "line 1"),
        ("tool f(a, a)", "E0302", "rename"),
        ("tool f(a) with dok='x'", "E0303", "did you mean `doc`?"),
        ("tool f(a) with doc=1", "E0402", None),
        ("tool f(a) with timeout=0s", "E0401", None),
        ("tool f(a) with doc='a', doc='b'", "E0309", None),
        ("tool f(a)\nlet b = f", "E0304", "call it: f(…)"),
        ("tool f(a)\nuse f(1)", "E0304", "text f(…)"),
        ("tool f(a)\nfork 2 { } join f", "E0304", "call it in a def"),
        ("tool f(a) -> str\nlet b = f()", "E0307", "it is f(a)"),
        (TOOL + "let a = invoke('wikki', 'x')", "E0301", "did you mean `wiki`?"),
        (TOOL + "let a = invoke('wiki')", "E0307", "it is wiki(q, lang=…)"),
        (TOOL + "let a = invoke('wiki', 1, 2, 3)", "E0307", "it is wiki"),
        (TOOL + "let a = invoke('wiki', 'a', language='x')", "E0307", "did you mean `lang`?"),
        ("let a = invoke('wiki', 'x')", "E0301", "declare it: tool wiki(…)"),
        ("let a = invoke()", "E0307", "invoke(tool, …)"),
        # builtins that look at a name
        *[(f"let a = 'x'\nreturn {name}(a)", "E0611", "after `gen x`") for name in ("raw", "prob", "logprob")],
        *[(f"fork x in ['a'] {{ yield {name}(x) }}", "E0611", None) for name in ("tokens", "finish")],
        *[(f"return {name}('x')", "E0307", "after `gen x`") for name in ("raw", "prob", "logprob", "tokens", "finish")],
        ("gen a\nreturn probs(a)", "E0608", "select x from"),
        ("def f(x) { return raw(x) }", "E0611", "gen x"),
        ("return raw(a)", "E0301", None),
        # tests
        ("let a = 1\ntest 't' { assert a == 1 }", "E0301", "declare `a` in it"),
        ("test 't' with mok=[] { }", "E0303", "did you mean `mock`?"),
        ("test 't' with seed=-1 { }", "E0401", None),
        ("test 't' { assert f(1) == 2 }", "E0301", None),
        ("if true { test 't' { } }", "E0206", None),
        # values
        ("assert 1", "E0402", "bool"),
        ("check 'x', 'y'", "E0402", "bool"),
        ("for x in range(1001) { }", "E0503", "smaller"),
        ("fork x in range(5000) { }", "E0503", "smaller"),
        ("let x = 'a'\nreturn x.strip()", "E0304", "write strip(…)"),
    ],
)
def test_a_mistake_is_found_once_with_a_way_out(source, code, words):
    (found,) = [item for item in findings(source) if item.severity == "error"]
    assert found.code == code
    assert words is None or words in f"{found.message} {found.hint}"


@pytest.mark.parametrize(
    "source",
    [
        "let k = 2\nlet a = map x in [1] as i with width=2, timeout=1m, on_error='none', stream=true, temp=0 {\n"
        " user: @{x} @{k} @{i}\n assistant gen t\n yield raw(t)\n}",
        "assistant { let a = map x in [1] { user: hi\n assistant gen t\n yield t } }",
        TOOL + "let a = wiki('x') + wiki(q='x', lang='no') + invoke('wiki', 'x') + invoke('wiki', q='x')",
        TOOL + "param name: str\nlet a = invoke(name, 'x', 3)",
        "select a from ['x', 'y']\ngen b\nreturn [raw(a), prob(a), probs(a), logprob(b), tokens(b), finish(b)]",
        "gen b\nfork 2 { yield raw(b) } join first",
        "let b = none\nrepeat 2 { if b != none { emit raw(b) }\n gen b }",
        "let b = ''\ngen b\nreturn raw(b)",
        "def raw(x) { return x }\nlet a = 1\nreturn raw(a)",
        "def f() { gen a; return a }\ntest 't' with mock=['a'], scores=[], tools={w: 1}, seed=3 { assert f() == 'a' }",
        "assert true, 'x'\ncheck true\nemit {a: 1}\nfail 'x'",
        "def range(n) { return [n] }\nfor x in range(5000) { }",
        "for x in [y for y in range(5000) if y < 3] { }",
        "set temp=0\nmap x in [1] { set max=3\n gen a\n yield a }",
    ],
)
def test_correct_programs_have_no_errors(source):
    assert [item for item in findings(source) if item.severity == "error"] == []


# --- try ---


@pytest.mark.parametrize(
    "source",
    [
        "try { let a = 1 } catch e { }\nreturn a",
        "try { let a = 1 } catch e { return a }",
        "try { let a = 1 } catch e { }\na = 2",
        "repeat 2 {\n try { gen a } catch e { }\n emit a\n}",
        "try { let b = 1 } catch e { let a = 2 }\nemit a",
        "try { try { gen a } catch e { } } catch e { }\nemit a",
        "try { let b = 1 } catch a { }\nemit a",
        "try { gen a } catch e { }\nfork 2 { yield a }",
    ],
)
def test_what_a_try_declares_may_have_no_value_after_it(source):
    found = [item for item in findings(source) if item.code == "W0301"]
    assert len(found) == 1
    assert "`a`" in found[0].message
    assert found[0].hint == "declare it before the `try`: let a = none"


@pytest.mark.parametrize(
    "source",
    [
        "let a = none\ntry { a = 1 } catch e { emit e.code }\nreturn a",
        "try { let a = 1; emit a } catch e { emit e }",
        "try { let a = 1 } catch e { fail e.message }\nreturn a",
        "try { let a = 1 } catch e { let a = 2 }\nreturn a",
        "def f() { try { gen a } catch e { return none }\n return a }",
        "repeat 2 { try { gen a } catch e { continue }\n emit a }",
        "try { return 1 } catch e { let a = 2 }\nreturn a",
        "try { let a = 1 } catch e { if true { fail 'x' } else { fail 'y' } }\nreturn a",
        "try { let a = 1 } catch e { }\nlet a = 2\nreturn a",
        "try { gen a } catch e { }\ntry { gen b } catch e { emit e }",
    ],
)
def test_what_surely_has_a_value_is_not_warned_of(source):
    assert findings(source) == []


# --- statements that nothing reaches ---


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("return 1\nlet a = 2", 2),
        ("def f() {\n return 1\n 'text'\n}", 3),
        ("repeat 2 {\n break\n gen a\n}", 3),
        ("fork 2 {\n yield 1\n gen a\n}", 3),
        ("map x in [1] {\n yield x\n gen a\n}", 3),
        ("if true { return 1 } else { fail 'x' }\nlet a = 2", 2),
        ("try { return 1 } catch e { return 2 }\nlet a = 2", 2),
        ("test 't' {\n fail 'x'\n assert true\n}", 3),
        ("assistant {\n return 1\n 'x'\n}", 3),
    ],
)
def test_a_statement_that_nothing_reaches_is_warned_of(source, line):
    assert codes(source) == [("W0313", line)]


@pytest.mark.parametrize(
    "source",
    [
        "return 1\ndef f() { return 1 }\ntype T = int\ntool g(a)\ntest 't' { }",
        "if true { return 1 }\nlet a = 2",
        "repeat 2 { if true { break }\n let a = 1 }",
        "try { return 1 } catch e { }\nlet a = 2",
        "fork 2 { yield 1 }\nlet a = 2",
    ],
)
def test_a_statement_that_may_be_reached_is_not(source):
    assert [item for item in findings(source) if item.code == "W0313"] == []
