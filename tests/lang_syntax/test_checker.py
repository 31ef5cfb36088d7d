"""What the checker finds, and that it finds nothing in correct programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontend_lang.builtins import PARAMETERS
from frontend_lang.checker import check
from frontend_lang.checker.options import GEN_OPTIONS
from frontend_lang.checking import check_source
from frontend_lang.diagnostics import Diagnostic
from frontend_lang.sources import FolderSource
from frontend_lang.syntax import parse

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.rkv"))


def findings(source: str, **options: bool) -> list[Diagnostic]:
    result = parse(source)
    assert result.diagnostics == ()
    assert result.program is not None
    return check(result.program, **options)


def codes(source: str, **options: bool) -> list[tuple[str, int]]:
    return [(found.code, found.line) for found in findings(source, **options)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_clean(path):
    report = check_source(path.read_text("utf-8"), path.name, modules=FolderSource(path.parent))
    assert report.diagnostics == ()


def test_there_are_examples():
    assert {"demo", "judge", "chat", "sentiment", "tot", "skeleton"} <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize(
    ("source", "code", "line", "words"),
    [
        # names
        (
            "def f() {\n select label from ['a']\n return strip(lable)\n}",
            "E0301",
            3,
            "did you mean `label` (select, line 2)?",
        ),
        ("let a = b", "E0301", 1, None),
        ("let a = 'x'\ntext: @{aa}", "E0301", 2, "did you mean `a`"),
        ("param k = 1\ndef f() { return k }", "E0301", 2, "a def sees its parameters only"),
        ("let a = b\nlet b = 1", "E0301", 1, "let, line 2"),
        ("let a = strp('x')", "E0301", 1, "did you mean `strip`?"),
        ("fork 2 { gen a }\nlet b = a", "E0301", 2, None),
        ("let a = [x for x in [1]]\nlet b = x", "E0301", 2, None),
        ("def f() { return 1 }\nlet a = f", "E0304", 2, "call it"),
        ("let a = 1\nlet b = a(2)", "E0304", 2, "only defs, tools and builtins"),
        ("let a = \nlet b = 2", "E0205", 2, "finish the statement"),
        ("let if = 2", "E0205", 1, "rename"),
        # declarations
        ("def f() { return 1 }\ndef f() { return 2 }", "E0302", 2, "line 1"),
        ("param a = 1\nparam a = 2", "E0302", 2, "line 1"),
        ("def f(a, a) { return a }", "E0302", 1, "rename"),
        ("a = 1", "E0305", 1, "let a"),
        ("let total = 1\ntotl = 2", "E0305", 2, "did you mean `total`?"),
        ("if true { def f() { return 1 } }", "E0206", 1, None),
        ("if true { param a = 1 }", "E0206", 1, None),
        # branches and jumps
        ("let n = 0\nfork 2 {\n n = 1\n}", "E0312", 3, "yield the value"),
        ("fork 2 { return 1 }", "E0314", 1, "use `yield`"),
        ("repeat 2 { fork 2 { break } }", "E0314", 1, None),
        ("for x in [1] { fork { a { continue } } }", "E0314", 1, None),
        ("break", "E0311", 1, None),
        ("def f() { continue }", "E0311", 1, None),
        ("yield 1", "E0310", 1, "use `return`"),
        ("repeat 2 { yield 1 }", "E0310", 1, None),
        ("user { assistant gen a }", "E0316", 1, None),
        ("assistant { fork 2 { user: hi\n } }", "E0316", 1, None),
        # calls
        ("def f(a) { return a }\nlet b = f()", "E0307", 2, "it is f(a)"),
        ("def f(a) { return a }\nlet b = f(1, 2)", "E0307", 2, None),
        ("def f(a) { return a }\nlet b = f(c=1)", "E0307", 2, "it is f(a)"),
        ("def f(word) { return word }\nlet b = f(wrd=1)", "E0307", 2, "did you mean `word`?"),
        ("def f(a, b) { return a }\nlet c = f(a=1, 2)", "E0307", 2, None),
        ("def f(a) { return a }\nlet b = f(1, a=2)", "E0309", 2, None),
        ("let a = len()", "E0307", 1, "len(x)"),
        ("let a = len('x', 'y')", "E0307", 1, None),
        ("let a = usage(1)", "E0307", 1, None),
        ("let a = probs('x')", "E0307", 1, "select"),
        ("use strip('x')", "E0304", 1, None),
        # options
        ("gen a with temprature=1", "E0303", 1, "known: max"),
        ("gen a with topp=1", "E0303", 1, "did you mean `top_p`?"),
        ("gen a with max=5000", "E0401", 1, None),
        ("gen a with max=0", "E0401", 1, None),
        ("gen a with temp=-1", "E0401", 1, None),
        ("gen a with top_p=1.5", "E0401", 1, None),
        ("gen a with max='x'", "E0402", 1, None),
        ("gen a with stop=[1]", "E0402", 1, None),
        ("gen a with max=1, max=2", "E0309", 1, None),
        ("select a from ['x'] with norm='mean'", "E0401", 1, "tokens"),
        ("select a from ['x'] with temp=1", "E0303", 1, None),
        ("fork 2 with on_error='ignore' { }", "E0401", 1, None),
        ("fork 2 with widht=2 { }", "E0303", 1, "did you mean `width`?"),
        ("set max=5000", "E0401", 1, None),
        # joins
        ("fork 2 { } join best", "E0315", 1, "by"),
        ("fork 2 { } join all by 1", "E0315", 1, None),
        ("fork 2 { } join votes", "E0301", 1, "did you mean `vote`?"),
        ("def pick(a, b) { return a }\nfork 2 { } join pick", "E0307", 2, None),
        ("fork { a { } a { } }", "E0309", 1, None),
        # types
        ("param a: strr = 'x'", "E0403", 1, "did you mean `str`?"),
        # layout
        ('usr "hi"', "E0203", 1, "did you mean `user`?"),
        ("gem x with max=3", "E0203", 1, "did you mean `gen`?"),
        ("let a = 'x'\na", "E0203", 2, "text a"),
        ("let a = {b: 1}\na.b", "E0203", 2, "text"),
        ("while = 1\nlet a = 2 let b = 3", "E0305", 1, None),
        ("let a = 2 let b = 3", "E0204", 1, "add `;`"),
        ("if true { } gen b", "E0204", 1, None),
        # warnings
        ("let text = 1", "W0206", 1, "rename"),
        ("let len = 1", "W0304", 1, None),
        ("if true {\n user: {x} }\n}", "W0211", 2, "own line"),
        ("let a = 1\nlet b = a\n(2)", "E0304", 2, None),
        ("def f(x) { return x }\nlet b = f\n(2)", "W0212", 3, "that line"),
        ("let a = [1]\nlet b = a\n[0]", "W0212", 3, None),
        ("user: hi\ntext: bare", "W0305", 2, "into a role"),
        ("text: bare\nfork 2 { user: hi\n }", "W0305", 1, None),
        ("fork 2 { } join first", "W0308", 1, "best, vote"),
    ],
)
def test_a_mistake_is_found_with_its_line_and_a_way_out(source, code, line, words):
    found = findings(source)
    assert (code, line) in [(item.code, item.line) for item in found]
    hints = [item.hint or "" for item in found if item.code == code]
    assert words is None or any(words in hint for hint in hints)


@pytest.mark.parametrize("source", ["gen a with model='x'", "set model='x'"])
def test_another_model_per_gen_is_not_in_this_version(source):
    assert [code for code, _ in codes(source)] == ["E0299"]


@pytest.mark.parametrize(
    "source",
    [
        "gen a: str with max=4096, temp=0, top_p=1, top_k=5, min_p=0.1, stop=['a'], seed=1, timeout=2s until a != ''",
        "gen a with max=3, tries=5 until len(a) > 2",
        "set max=3, temp=0",
        "select a from ['x', 'y'] with norm='prior'\nlet p = probs(a)['x']",
        "let n = 3\nfork n as i with width=2, on_error='drop', temp=1 { yield i } join vote",
        "fork 2 { gen a } join best by len(a) keep",
        "fork 2 { gen a } join concat by '\\n'",
        "def pick(r) { return r.a }\nfork { a { yield 1 } b { yield 2 } } join pick",
        "fork x in [1, 2] as i { yield x + i } join all",
        "for x in range(3) as i { if x > 1 { break } else { continue } }",
        "repeat 3 { if true { let last = 1 }\n last = 2 }",
        "let n = 0\nrepeat 2 { n = n + 1 }",
        "let u = usage()\nreturn u.cached_tokens",
        "def f(a, b=2) { return a + b }\nlet c = f(1, b=3) + f(a=1)",
        "def f() { user: hi\n gen_it() }\ndef gen_it() { gen a; return a }",
        "def f(n) { if n > 0 { return f(n - 1) }\n return 0 }",
        "def greet(name) { user: Hi @{name}\n }\nuse greet('Ann')\nassistant gen r",
        "param a: str | none = none\nparam b: list[{x: int, y?: float}] = []\nparam c: 'x' | 'y' = 'x'",
        "let a = [x for x in [1, 2] if x not in [1]]\nlet b = a[0:1] + a[1:]",
        "let a = min([1, 2]) + max(1, 2) + sum(range(0, 3))",
        "let a = if true then 1 else 2",
        "let a = 1; let b = 2",
        'user "x @{str(1)}"\nassistant { "Sure:"; gen a }',
        "let r = {user: 1, text: 2}\nreturn r.text",
        "# nothing\n",
        "fork 2 { let a = 1\n a = 2\n yield a }",
        "repeat 2 { fork 2 { repeat 2 { break } } }",
    ],
)
def test_correct_programs_are_clean(source):
    assert codes(source) == []


def test_one_mistyped_keyword_is_one_error():
    assert codes("gem x with max=3") == [("E0203", 1)]
    assert codes("let a = fork 3 { 'x' } jion all") == [("E0203", 1)]


def test_a_console_may_echo_a_name():
    assert codes("let a = 1\na", interactive=True) == []
    assert codes("b", interactive=True) == [("E0301", 1)]


def test_entry_rules():
    two = "def a() { return 1 }\ndef b() { return 2 }"
    assert codes(two) == []
    (found,) = findings(two, runnable=True)
    assert found.code == "E0306"
    assert "a, b" in found.message
    assert codes("def a() { return 1 }", runnable=True) == []
    assert codes(two + "\nlet x = a()", runnable=True) == []
    assert check_source(two, "dir/b.rkv", None).ok
    assert [item.code for item in check_source(two, "x.rkv", "c").diagnostics] == ["E0306"]
    assert check_source(two, "x.rkv", "b").ok


def test_findings_are_in_source_order():
    found = findings("let a = b\nlet c = d\ngen e with x=1\nlet text = 1")
    assert [(item.line, item.code) for item in found] == [(1, "E0301"), (2, "E0301"), (3, "E0303"), (4, "W0206")]


def test_every_documented_gen_option_is_known_to_the_runtime_side():
    good = {"stop": "'x'", "timeout": "1s", "temp": "1", "model": "'m'"}
    for name in GEN_OPTIONS:
        assert [code for code, _ in codes(f"gen a with {name}={good.get(name, '1')}")] == ["E0299"] * (name == "model")


def test_every_builtin_can_be_called_with_what_it_needs():
    for name, builtin in PARAMETERS.items():
        arguments = ["x"] * builtin.required
        assert codes(f"select x from ['a', 'b']\nlet a = {name}({', '.join(arguments)})") == []


def test_the_json_form_of_a_check():
    report = check_source("fork 3 { gen a with max=10 }", "x.rkv")
    assert report.to_dict() == {"ok": True, "diagnostics": [], "worst_case": {"branches": 3, "tokens": 30}}
    failed = check_source("let a = b", "x.rkv")
    assert failed.to_dict()["worst_case"] == {"branches": None, "tokens": None}
    assert failed.summary() == "failed: 0 defs · 1 error · 0 warnings"


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("let x = gen y", "E0205", "write `gen y`; it binds y itself"),
        ("let x = select y from ['a']", "E0205", "it binds y itself"),
        ("def f() { 'x' }\nlet x = use f()", "E0205", "write `f(…)` alone"),
        ("assistant gen x max=3", "E0204", "with max=…"),
        ("gen x with max=0", "E0401", "max is 1 to 4096"),
        ("fork 2 with width=0 { gen a }", "E0401", "at least 1; at most 64 branches"),
        ("gen x with temp=3000", "E0401", "0.0 to 100.0"),
        ("let x = None", "E0301", "write `none`"),
        ("let x = True", "E0301", "write `true`"),
        ("let x = False", "E0301", "write `false`"),
        ("return null", "E0301", "write `none`"),
        ("gen x with temperature=1", "E0303", "write `temp`"),
        ("gen x with max_tokens=1", "E0303", "write `max`"),
        ("gen x with stop_sequences=['a']", "E0303", "write `stop`"),
        ("print('x')", "E0301", "there is no `print`"),
    ],
)
def test_a_habit_from_elsewhere_is_one_error_that_says_what_to_write(source, code, words):
    (found,) = findings(source)
    assert found.code == code
    assert words in (found.hint or "")


def test_options_that_are_refused_are_not_offered():
    (found,) = findings("gen x with foo=1")
    assert "model" not in (found.hint or "")
    assert "tries" in (found.hint or "")
