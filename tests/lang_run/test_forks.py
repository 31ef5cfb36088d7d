"""Branches: what they see, what they are worth, how they fail, what is left of them."""

from __future__ import annotations

import asyncio

import pytest

from frontend_lang import Limits, ProgramError, run_async
from frontend_lang.runtime import ContextId
from frontend_lang.scripted import ScriptedCall, ScriptedRuntime
from scripted_programs import failure_of, parsed, run_on, value_of


@pytest.mark.parametrize("before", ["", '""', 'text ""', 'let x = ""\ntext x'])
def test_r150_fork_before_any_text(before: str) -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "xy")
    result = run_on(runtime, f'{before}\nreturn fork 3 as b {{ "n=@{{b}} "\ngen x with max=2 }} join all')
    assert result.value == ["n=0 xy", "n=1 xy", "n=2 xy"]
    assert runtime.history[-1] == ""


def test_branch_goes_on_from_the_parents_text_and_leaves_the_parent_untouched() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: prompt[-1])
    run_on(runtime, 'user "P"\nassistant { "a"; fork x in ["u", "v"] { text x\ngen g }; "z" }')
    assert sorted(runtime.prompts) == ["<|user|>P<|end|><|assistant|>a" + x for x in ("u", "v")]
    assert runtime.history[-1] == "<|user|>P<|end|><|assistant|>az<|end|>"


def test_value_of_a_branch_is_its_yield_or_else_its_text() -> None:
    assert value_of('"p"\nreturn fork 2 as i { "t@{i}"\nif i == 1 { yield {n: i} } }') == ["t0", {"n": 1}]
    source = 'return fork 1 { user "q"; assistant gen a; fork 2 as i { "x@{i}" yield i } join best by i keep }'
    assert value_of(source, ["A"]) == ["qAx1"]


def test_branch_reads_outer_names_but_its_own_vanish() -> None:
    source = "let a = 1\nlet r = fork 2 as i { let a = a + i\nlet b = a\nyield b }\nreturn [a, r]"
    assert value_of(source) == [1, [1, 2]]
    assert failure_of("fork 1 { let b = 1 }\nreturn b").code == "E0301"
    assert failure_of("let a = 1\nfork 1 { a = 2 }").code == "E0312"


@pytest.mark.parametrize("jump", ["return 1", "break", "continue"])
def test_jump_may_not_leave_a_branch(jump: str) -> None:
    assert failure_of(f"repeat 2 {{ fork 1 {{ {jump} }} }}").code == "E0314"


def test_named_arms_give_a_record() -> None:
    source = 'return fork { pro { "+"; gen t; yield t } con { "-"; gen t; yield t } }'
    assert value_of(source, lambda prompt, call: "yes" if prompt == "+" else "no") == {"pro": "yes", "con": "no"}


def test_options_are_defaults_for_the_gens_in_the_branches() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "a")
    run_on(runtime, "set temp=0.1\nfork 1 with temp=0.9, max=3, timeout=5s, width=2 { gen a }\ngen b")
    assert [(call.params.temperature, call.params.max_tokens) for call in runtime.generations] == [(0.9, 3), (0.1, 256)]
    assert runtime.generations[0].params.timeout_s is None


def test_fork_statement_without_join_waits_for_all() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "a")
    run_on(runtime, "fork 5 { gen a }")
    assert len(runtime.generations) == 5


def test_branches_of_a_fork_run_at_once_within_its_width() -> None:
    peak = _peak_of("fork 10 with width=4 { gen a }", Limits())
    assert peak == 4


def test_live_branches_of_the_run_are_bounded_however_forks_nest() -> None:
    assert _peak_of("fork 6 { fork 6 { fork 3 { gen a } } gen b }", Limits(live_branches=5)) <= 5
    source = (
        "def f(n: int) -> str { fork 3 { gen a } return 'x' }\nfork 8 as i { let p = f(i)\nlet q = f(i)\nyield p + q }"
    )
    assert _peak_of(source, Limits(live_branches=2)) <= 2
    assert _peak_of("fork 6 { fork 6 { gen a } }", Limits(live_branches=1)) == 1


def _peak_of(source: str, limits: Limits) -> int:
    """The largest number of generations that ran at once."""
    running = peak = 0

    class Counting(ScriptedRuntime):
        async def generate(self, context, params, constraint=None):  # type: ignore[no-untyped-def, override]
            nonlocal running, peak
            running += 1
            peak = max(peak, running)
            try:
                async for item in super().generate(context, params, constraint):
                    yield item
            finally:
                running -= 1

    runtime = Counting(lambda prompt, call: "a b", delay=lambda verb, context: 0.0005)
    run_on(runtime, source, limits=limits)
    return peak


def test_failing_branch_cancels_those_after_it_and_lets_those_before_it_end() -> None:
    def answer(prompt: str, call: ScriptedCall) -> str:
        return {"0": "7", "1": "x"}.get(prompt, "1 2 3 4 5 6 7 8")

    def delay(verb: str, context: ContextId) -> float:
        return 30.0 if context in ("c4", "c5") and verb == "delta" else 0.01 if context == "c2" else 0.0

    runtime = ScriptedRuntime(answer, delay=delay)
    with pytest.raises(ProgramError) as caught:
        run_on(runtime, 'fork 4 as i { "@{i}"\ngen a\nlet n = int(a) }')
    assert caught.value.code == "E0406"
    assert caught.value.path == "main[1]"
    assert "07" in runtime.history


def test_of_branches_that_fail_the_first_in_order_counts() -> None:
    def delay(verb: str, context: ContextId) -> float:
        return 0.01 if context == "c2" else 0.0

    with pytest.raises(ProgramError) as caught:
        run_on(ScriptedRuntime(lambda prompt, call: "x", delay=delay), 'fork 4 as i { "@{i}"\ngen a\nlet n = int(a) }')
    assert caught.value.path == "main[0]"


def test_on_error_drop_and_none() -> None:
    source = 'return fork x in ["1", "b", "3"] with on_error="%s" { yield int(x) }'
    assert value_of(source % "drop") == [1, 3]
    assert value_of(source % "none") == [1, None, 3]
    assert failure_of(source % "fail").code == "E0406"
    assert value_of('return fork x in ["1", "b"] with on_error="none" { yield int(x) } join concat by "-"') == "1"
    assert failure_of(source % "maybe").code == "E0401"


def test_limits_of_the_whole_run_are_not_swallowed_by_on_error() -> None:
    source = 'fork 2 with on_error="drop" { let s = 0\nrepeat 100 { s = s + 1 } }'
    assert failure_of(source, limits=Limits(steps=50)).code == "E0804"


def test_fork_timeout_fails_the_branches_that_have_not_ended() -> None:
    def delay(verb: str, context: ContextId) -> float:
        return 30.0 if verb == "delta" and context == "c3" else 0.0

    source = 'return fork 3 as i with timeout=50ms, on_error="%s" { gen a\nyield i + len(a) }'
    runtime = ScriptedRuntime(lambda prompt, call: "a", delay=delay)
    assert run_on(runtime, source % "none").value == [1, None, 3]
    with pytest.raises(ProgramError) as caught:
        run_on(ScriptedRuntime(lambda prompt, call: "a", delay=delay), source % "fail")
    assert caught.value.code == "E0803"


def test_losers_of_first_are_cancelled_and_released_before_the_program_goes_on() -> None:
    def delay(verb: str, context: ContextId) -> float:
        return 0.0 if context == "c4" or verb != "delta" else 30.0

    live: list[int] = []
    runtime = ScriptedRuntime(lambda prompt, call: "a" if call.context != "c1" else "end", delay=delay)
    runtime_live = ScriptedRuntime.live.fget  # type: ignore[attr-defined]

    async def watched() -> object:
        def seen(event) -> None:  # type: ignore[no-untyped-def]
            if event.event == "join":
                live.append(runtime_live(runtime))

        source = "let w = fork 8 as i { gen a\nyield [i, a] } join first\nreturn w"
        return (await run_async(parsed(source), runtime=runtime, on_event=seen)).value

    assert asyncio.run(watched()) == [2, "a"]
    assert live == [1]  # the parent; without `keep` nobody needs the winner's either
    assert runtime.live == 0


def test_branch_ends_as_the_text_of_a_cancelled_generation_never_existed() -> None:
    runtime = ScriptedRuntime(["a b c d"], delay=lambda verb, context: 30.0 if verb == "delta" else 0.0)
    with pytest.raises(ProgramError):
        run_on(runtime, '"p"\ngen a with timeout=20ms')
    assert runtime.history == ["p"]


def test_fork_of_nothing() -> None:
    assert value_of("return fork 0 { gen a }") == []
    assert value_of('return fork x in [] { yield x } join concat by ","') == ""
    for policy in ("first", "best by 1", "vote"):
        assert failure_of(f"return fork x in [] {{ yield x }} join {policy}").code == "E0605"


def test_number_of_branches_is_bounded() -> None:
    assert failure_of("fork 3 { fork 3 { } }", limits=Limits(branches=11)).code == "E0807"
    assert value_of("return len(fork 4096 as i { yield i })".replace("len(fork", "fork").replace("})", "}"))[-1] == 4095
    assert failure_of("fork 4097 { }").code == "E0807"


@pytest.mark.parametrize(("count", "code"), [("'a'", "E0402"), ("-1", "E0402"), ("(1.5)", "E0402"), ("([1])", "E0402")])
def test_count_must_be_an_int(count: str, code: str) -> None:
    assert failure_of(f"let n = {count}\nfork n {{ }}").code == code
