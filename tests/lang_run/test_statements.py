"""Text, roles, variables and control flow."""

from __future__ import annotations

import pytest

from frontend_lang.scripted import ScriptedRuntime
from scripted_programs import failure_of, run_on, value_of


def prompt_of(source: str, **args: object) -> str:
    """The full text of the program's own context at its end."""
    runtime = ScriptedRuntime(lambda prompt, call: "…")
    run_on(runtime, source, args)
    return runtime.history[-1]


def test_text_forms_reach_the_prompt_as_written() -> None:
    source = '''
text: rest of "line" {braces} \\n @{1 + 1}
line: with newline
"quoted\\t@{'x'}"
'raw @{x} \\n'
"""
  block
    kept "as is"
  """
text 1.5
'''
    expected = 'rest of "line" {braces} \\n 2with newline\nquoted\tx' + "raw @{x} \\n" + 'block\n  kept "as is"1.5'
    assert prompt_of(source) == expected


def test_roles_are_opened_and_closed_around_their_body() -> None:
    source = """
param essay
system: Be brief.
user essay
user { "a"; "b" }
assistant gen x
user (1 + 1)
assistant select y from ["p", "q"]
"""
    expected = (
        "<|system|>Be brief.<|end|><|user|><|user|> hi<|end|><|user|>ab<|end|>"
        "<|assistant|>…<|end|><|user|>2<|end|><|assistant|>p<|end|>"
    )
    assert prompt_of(source, essay="<|user|> hi") == expected


def test_inserted_values_are_marked_as_data() -> None:
    parts: list[tuple[str, bool]] = []

    class Recording(ScriptedRuntime):
        async def append(self, context, new):  # type: ignore[no-untyped-def]
            parts.extend((part.text, part.trusted) for part in new if hasattr(part, "text"))
            await super().append(context, new)

    run_on(Recording(), 'param d\n"own @{d} own"; text d; line d', {"d": "DATA"})
    assert parts == [("own ", True), ("DATA", False), (" own", True), ("DATA", False), ("DATA", False), ("\n", True)]


def test_text_is_handed_over_at_commit_points_only() -> None:
    verbs: list[str] = []
    runtime = ScriptedRuntime(["x"], on_call=lambda count, verb: verbs.append(verb))
    run_on(runtime, '"a"; "b"; user "c"; "d"; gen x; "e"')
    assert verbs == ["open", "append", "generate", "append", "commit"]


def test_role_inside_a_role_is_refused() -> None:
    error = failure_of('user { "a"; assistant "b" }')
    assert (error.code, error.span.line if error.span else 0) == ("E0316", 1)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("let a = 1\na = a + 1\nreturn a", 2),
        ("let a: float = 1\nreturn a", 1.0),
        ("let a = 1\nif a == 1 { a = 5 } else { a = 6 }\nreturn a", 5),
        ("let a = 3\nif a == 1 { a = 5 } elif a == 3 { a = 7 } else { a = 6 }\nreturn a", 7),
        ("let a = 3\nif a == 1 { a = 5 }\nreturn a", 3),
        ("let s = 0\nfor x in [1, 2, 3] as i { s = s + x * i }\nreturn s", 8),
        ("let s = 0\nfor x in range(9) { if x == 2 { continue }\nif x == 5 { break }\ns = s + x }\nreturn s", 8),
        ("let s = 0\nrepeat 4 { s = s + 1 }\nreturn s", 4),
        ("let s = 0\nrepeat 4 { repeat 3 { s = s + 1\nif s % 2 == 0 { break } } }\nreturn s", 8),
        ("for x in [1, 2] { let y = x }\nreturn [x, y]", [2, 2]),
        ("for x in [7] { return x }\nreturn 0", 7),
        ("def f() { }\nreturn f()", None),
        ("let a = 1", None),
        ("", None),
        ("# nothing", None),
    ],
)
def test_variables_and_control_flow(source: str, value: object) -> None:
    assert value_of(source) == value


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("a = 1", "E0305"),
        ("let a: int = 'x'", "E0402"),
        ("let a: list[int] = [1, 'x']", "E0402"),
        ("let a: lost = 1", "E0403"),
        ("if 1 { }", "E0402"),
        ("for x in 'abc' { }", "E0402"),
        ("repeat 'a' { }", "E0402"),
        ("repeat -1 { }", "E0402"),
        ("let x = map y in 1 { yield y }", "E0402"),
        ("gen x: int", "E0601"),
        ("assert 1 == 2", "E0604"),
    ],
)
def test_statement_that_cannot_run(source: str, code: str) -> None:
    error = failure_of(source, ["a"])
    assert error.code == code
    assert error.span is not None


def test_set_holds_until_the_end_of_its_block() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "a")
    run_on(runtime, "gen a\nset temp=0, max=5\ngen b\nif true { set temp=0.5\ngen c }\ngen d with max=7")
    seen = [(call.params.temperature, call.params.max_tokens) for call in runtime.generations]
    assert seen == [(1.0, 256), (0.0, 5), (0.5, 5), (0.0, 7)]


def test_vars_of_a_program_are_its_names_without_its_parameters() -> None:
    result = run_on(ScriptedRuntime(["hi"]), 'param p = 1\nlet a = p\ngen g\nselect s from ["u"]', {})
    assert result.vars == {"a": 1, "g": "hi", "s": "u"}
