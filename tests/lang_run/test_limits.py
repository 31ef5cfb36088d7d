"""Every limit ends a run with its own code."""

from __future__ import annotations

import pytest

from frontend_lang import Limits, ProgramError
from frontend_lang.scripted import ScriptedRuntime
from scripted_programs import failure_of, run_on, value_of


@pytest.mark.parametrize(
    ("source", "limits", "code"),
    [
        ("for x in range(1001) { }", Limits(), "E0805"),
        ("repeat 1001 { }", Limits(), "E0805"),
        ("repeat 11 { }", Limits(iterations=10), "E0805"),
        ("repeat 1000 { repeat 1000 { let x = 1 } }", Limits(), "E0804"),
        ("let x = [y for y in range(100000)]", Limits(), "E0804"),
        ("def f() { f() }\nf()", Limits(), "E0806"),
        ("fork 5 { }", Limits(branches=4), "E0807"),
        ("fork 2 { fork 2 { } }", Limits(branches=5), "E0807"),
        ("map x in [1, 2, 3] { yield x }", Limits(rows=2), "E0807"),
        ("let n = 5\nrepeat n { tool_like() }\ndef tool_like() { }", Limits(steps=8), "E0804"),
        ("map x in range(20) { repeat 20 { let y = 1 } }", Limits(steps=10), "E0804"),
        ("gen a with max=11", Limits(gen_max=10), "E0401"),
        ("let m = 11\nmap x in [1] with max=m { gen a }", Limits(gen_max=10), "E0401"),
        ("let s = 'x'\nrepeat 21 { s = s + s }", Limits(), "E0808"),
        ("let l = range(60000)\nlet m = l + l", Limits(), "E0808"),
        ("gen a\ngen b", Limits(tokens=1), "E0809"),
        ("map x in range(9) { gen a }", Limits(tokens=3), "E0809"),
    ],
)
def test_limit(source: str, limits: Limits, code: str) -> None:
    error = failure_of(source, lambda prompt, call: "a", limits=limits)
    assert error.code == code
    assert error.span is not None


def test_tool_calls_have_a_limit() -> None:
    source = "tool t(q)\nlet n = 0\nrepeat 3 { n = n + t(1) }\nreturn n"
    assert value_of(source, tools={"t": lambda q: q}, limits=Limits(tool_calls=3)) == 3
    error = failure_of(source, tools={"t": lambda q: q}, limits=Limits(tool_calls=2))
    assert (error.code, error.span.line if error.span else 0) == ("E0811", 3)


@pytest.mark.parametrize("code", ["E0804", "E0807", "E0809", "E0811"])
def test_a_limit_of_the_whole_run_is_not_caught(code: str) -> None:
    breaking = {
        "E0804": "repeat 99 { let x = 1 }",
        "E0807": "fork 5 { }",
        "E0809": "gen a\ngen b\ngen c",
        "E0811": "let x = t(1) + t(1)",
    }
    limits = Limits(steps=50, branches=4, tokens=2, tool_calls=1)
    source = f"tool t(q)\ntry {{ {breaking[code]} }} catch e {{ let y = e }}"
    error = failure_of(source, lambda prompt, call: "a b", tools={"t": lambda q: q}, limits=limits)
    assert error.code == code


def test_loops_and_steps_within_the_limits_run() -> None:
    assert value_of("let s = 0\nrepeat 1000 { s = s + 1 }\nreturn s") == 1000


def test_wall_clock_limit_stops_a_waiting_and_a_busy_run() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "a", delay=lambda verb, context: 30.0 if verb == "delta" else 0.0)
    with pytest.raises(ProgramError) as caught:
        run_on(runtime, "fork 3 { gen a }", limits=Limits(wall_s=0.05))
    assert caught.value.code == "E0802"
    busy = "repeat 1000 { repeat 1000 { let x = 1 } }"
    assert failure_of(busy, limits=Limits(wall_s=0.05, steps=10**9)).code == "E0802"


def test_limits_must_be_positive_and_are_capped_by_the_hosts() -> None:
    with pytest.raises(ValueError, match="iterations"):
        Limits(iterations=0)
    asked = Limits(iterations=5000, tokens=None, wall_s=3.0)
    assert asked.capped(Limits(tokens=100)) == Limits(iterations=1000, tokens=100, wall_s=3.0)


@pytest.mark.parametrize(
    "work",
    [
        "let y = sort(x)",
        "let y = unique(x)",
        "let y = [max(x), sum(x)]",
        "let t = json(x)",
        "let t = lower(s)",
        "let t = split(s)",
    ],
)
def test_large_builtins_count_as_many_steps(work: str) -> None:
    source = f"let x = range(50000)\nlet s = json(x)\nrepeat 1000 {{ {work} }}\nreturn 1"
    assert failure_of(source, limits=Limits(steps=3000)).code == "E0804"


def test_small_builtins_cost_no_steps_and_len_never() -> None:
    source = "let x = range(50000)\nrepeat 300 { let n = [len(x), max(1, 2)] }\nreturn 1"
    assert value_of(source, limits=Limits(steps=1000)) == 1


def test_the_wall_limit_acts_between_slow_statements() -> None:
    source = "let x = range(20000)\nlet n = 0\nrepeat 50 { if x == [0] + x[1:] { n = 1 } }\nreturn n"
    assert failure_of(source, limits=Limits(wall_s=0.05)).code == "E0802"


@pytest.mark.parametrize("verb", ["gen a with max=1", 'select a from ["x", "y"]', "fork 2 { let b = 1 }"])
def test_the_token_budget_holds_for_prompts_too(verb: str) -> None:
    prompt = " ".join(["word"] * 500)
    source = f'"{prompt}"\n{verb}\nreturn 1'
    assert failure_of(source, lambda prompt, call: "a", limits=Limits(tokens=20)).code == "E0809"
    assert value_of(source, lambda prompt, call: "a", limits=Limits(tokens=2000)) == 1
