"""Calls of defs: fresh contexts, `use`, overlap, arguments, depth."""

from __future__ import annotations

import pytest

from frontend_lang import Limits, ProgramError
from frontend_lang.runtime import ContextId
from frontend_lang.scripted import ScriptedCall, ScriptedRuntime
from scripted_programs import failure_of, run_on, value_of

ECHO = """def f(x: str) -> str {
  user x
  assistant gen a
  return a
}
"""


def echo(prompt: str, call: ScriptedCall) -> str:
    """What stands in the last user turn."""
    return prompt.rsplit("<|user|>", 1)[1].split("<|end|>")[0]


def test_call_runs_in_a_fresh_context() -> None:
    runtime = ScriptedRuntime(echo)
    result = run_on(runtime, ECHO + 'user "outer"\nlet a = f("inner")\nassistant gen b\nreturn [a, b]')
    assert result.value == ["inner", "outer"]
    assert sorted(runtime.prompts) == ["<|user|>inner<|end|><|assistant|>", "<|user|>outer<|end|><|assistant|>"]


def test_r158_use_runs_in_this_context_with_names_of_its_own() -> None:
    source = (
        'def greet(name: str) { let own = name\n"Hello @{own}. " }\nuse greet(name="Ann")\ngen r with max=2\nreturn r'
    )
    runtime = ScriptedRuntime(["r s t"])
    result = run_on(runtime, source)
    assert (result.value, runtime.prompts) == ("r s", ["Hello Ann. "])
    assert result.vars == {"r": "r s"}
    assert failure_of(source.replace("return r", "return own"), ["r"]).code == "E0301"


def test_def_does_not_see_names_of_the_program() -> None:
    assert failure_of("let a = 1\ndef f() { return a }\nreturn f()").code == "E0301"


def test_def_that_only_computes_opens_no_context() -> None:
    verbs: list[str] = []
    runtime = ScriptedRuntime(on_call=lambda count, verb: verbs.append(verb))
    assert (
        run_on(runtime, "def add(a: int, b: int = 2) -> int { return a + b }\nreturn add(1) + add(1, b=5)").value == 9
    )
    assert verbs == []


def test_set_holds_inside_use_but_not_inside_calls() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "a")
    run_on(runtime, "def f() { gen a\nreturn a }\nset temp=0\nuse f()\nf()")
    assert [call.params.temperature for call in runtime.generations] == [0.0, 1.0]


def test_calls_bound_by_let_overlap() -> None:
    started: list[str] = []
    ended: list[str] = []

    class Watching(ScriptedRuntime):
        async def generate(self, context, params, constraint=None):  # type: ignore[no-untyped-def, override]
            started.append(context)
            async for item in super().generate(context, params, constraint):
                yield item
            ended.append(f"{len(started)} started")

    runtime = Watching(echo, delay=lambda verb, context: 0.002)
    source = (
        ECHO + 'let a = f("1")\nlet b = f("2")\nlet c = [f(x) for x in ["3", "4"]]\nreturn concat([a, b, concat(c)])'
    )
    assert run_on(runtime, source).value == "1234"
    assert ended[0] == "4 started"


def test_promise_is_awaited_where_its_value_is_used() -> None:
    source = ECHO + 'let a = f("1")\nlet b = f(a)\nlet n: int = int(b)\nif b == "1" { return "@{a}@{n + 1}" }'
    assert value_of(source, echo) == "12"


def test_overlapping_calls_fail_as_if_they_had_run_one_after_the_other() -> None:
    source = "def n(x: str) -> int { user x\nassistant gen a\nreturn int(a) }\n"
    source += "let a = n('first')\nlet b = n('second')\nreturn 1 / 0"
    for slow in ("c1", "c2"):

        def delay(verb: str, context: ContextId, slow: str = slow) -> float:
            return 0.02 if context == slow else 0.0

        with pytest.raises(ProgramError) as caught:
            run_on(ScriptedRuntime(echo, delay=delay), source)
        assert caught.value.code == "E0406"
        assert "first" in caught.value.message


def test_call_that_nobody_uses_is_cancelled_when_its_def_returns() -> None:
    runtime = ScriptedRuntime(echo, delay=lambda verb, context: 30.0 if verb == "delta" else 0.0)
    assert run_on(runtime, ECHO + 'def g() -> int { let lost = f("x")\nreturn 1 }\nreturn g()').value == 1


def test_names_of_the_program_are_awaited_at_its_end() -> None:
    assert run_on(ScriptedRuntime(echo), ECHO + 'let a = f("x")').vars == {"a": "x"}


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("f()", "E0307"),
        ("f('a', 'b')", "E0307"),
        ("f('a', x='b')", "E0307"),
        ("f(y='b')", "E0307"),
        ("f(1)", "E0402"),
        ("g(1)", "E0304"),
    ],
)
def test_call_that_does_not_fit(call: str, code: str) -> None:
    assert failure_of(f"{ECHO}return {call}").code == code
    assert failure_of(f"{ECHO}let a = {call}\nreturn a").code == code


def test_result_must_fit_the_declared_type() -> None:
    assert value_of("def f() -> float { return 1 }\nlet a = f()\nreturn a") == 1.0
    assert failure_of("def f() -> int { return 'a' }\nreturn f()").code == "E0402"
    assert failure_of("def f() -> int { }\nlet a = f()\nreturn a").code == "E0402"
    assert failure_of("def f() { return 'a' }\nlet a: int = f()\nreturn a").code == "E0402"


def test_recursion_is_bounded_by_depth_not_by_pythons_stack() -> None:
    source = "def down(n: int) -> int { if n == 0 { return 0 }\nreturn 1 + down(n - 1) }\nreturn down(%d)"
    assert value_of(source % 31) == 31
    error = failure_of(source % 32)
    assert (error.code, error.path.count("down")) == ("E0806", 32)
    nested = "(" * 60 + "down(n - 1)" + ")" * 60
    assert value_of((source % 31).replace("down(n - 1)", nested)) == 31
    overlapping = source.replace("return 1 + down(n - 1)", "let r = down(n - 1)\nreturn 1 + r")
    assert value_of(overlapping % 31, limits=Limits(live_branches=1)) == 31
    used = "def down(n: int) { if n > 0 { use down(n - 1) } }\nuse down(%d)"
    assert failure_of(used % 32).code == "E0806"


def test_deepest_nesting_that_parses_runs() -> None:
    lists = "[" * 60 + "1" + "]" * 60
    assert str(value_of(f"return {lists}")) == lists
    blocks = "if true { " * 60 + "return 1 " + "}" * 60
    assert value_of(blocks) == 1
    assert value_of("return " + " + ".join(["1"] * 60)) == 60
