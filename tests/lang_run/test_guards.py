"""assert, check, emit, fail, try … catch, and what `set` reaches."""

from __future__ import annotations

import pytest

from frontend_lang import Limits
from frontend_lang.events import Event
from frontend_lang.scripted import ScriptedRuntime
from scripted_programs import failure_of, run_on, value_of


def events_of(source: str, kind: str, answers: object = (), **settings: object) -> list[Event]:
    told: list[Event] = []
    run_on(ScriptedRuntime(answers), source, on_event=told.append, **settings)  # type: ignore[arg-type]
    return [event for event in told if event.event == kind]


def test_assert_shows_both_sides_of_a_comparison() -> None:
    failure = failure_of('let points = ["a", "b"]\nassert len(points) == 3, "three points"')
    assert (failure.code, failure.message) == ("E0604", "three points: left is int 2, right is int 3")
    assert (failure.span.line, failure.path) == (2, "main")
    assert failure_of("assert  1\n  in [2]").message == "1 in [2]: left is int 1, right is list [2]"


def test_assert_that_holds_does_nothing_and_never_makes_its_message() -> None:
    assert value_of("assert 1 == 1, 1 / 0\nreturn 1") == 1


def test_assert_of_anything_but_a_comparison_shows_the_condition() -> None:
    assert failure_of("let ok = false\nassert ok and true").message == "ok and true"
    assert failure_of("assert 1").code == "E0402"


def test_checks_are_recorded_and_the_run_goes_on() -> None:
    result = run_on(ScriptedRuntime(), 'check 1 == 1\ncheck 2 < 1, "order"\nreturn "end"')
    assert result.value == "end"
    first, second = result.checks
    assert first == {"ok": True, "message": "1 == 1", "line": 1, "file": "program.rkv", "path": "main"}
    assert (second["ok"], second["message"]) == (False, "order: left is int 2, right is int 1")
    assert result.to_dict()["checks"] == [dict(check) for check in result.checks]


def test_order_of_checks_does_not_depend_on_which_branch_is_quicker() -> None:
    def delay(verb: str, context: str) -> float:
        return 0.02 if verb == "delta" and runtime.context_text(context).endswith("0") else 0  # type: ignore[arg-type]

    runtime = ScriptedRuntime(lambda prompt, call: "a", delay=delay)
    result = run_on(runtime, 'map x in [0, 1, 2] { "@{x}"\ngen a\ncheck a == "a", "row @{x}" }')
    assert [check["message"] for check in result.checks] == ["row 0", "row 1", "row 2"]


def test_check_and_emit_are_events() -> None:
    (check,) = events_of('check 2 == 1, "m"', "check")
    message = "m: left is int 2, right is int 1"
    assert check.data == {"ok": False, "message": message, "line": 1, "file": "program.rkv"}
    assert [event.data["value"] for event in events_of("emit 1\nemit {a: [2]}", "emit")] == [1, {"a": [2]}]


def test_emit_waits_for_its_value_and_keeps_the_order_of_the_program() -> None:
    source = 'def f(x: str) -> str { text x\ngen a\nreturn a }\nlet a = f("a")\nlet b = f("b")\nemit b\nemit a'
    told = events_of(source, "emit", lambda prompt, call: prompt + "!")
    assert [event.data["value"] for event in told] == ["b!", "a!"]


def test_fail_ends_the_program_with_its_message() -> None:
    failure = failure_of('fail "no answer in @{8} steps"')
    assert (failure.code, failure.message, failure.span.line) == ("E0610", "no answer in 8 steps", 1)
    assert failure_of("fail {why: 1}").message == '{"why":1}'


def test_catch_binds_what_went_wrong_and_where() -> None:
    source = "try {\n  let x = 1 / 0\n} catch e { return e }"
    assert value_of(source) == {
        "code": "E0407",
        "message": "`/` by zero",
        "line": 2,
        "col": 11,
        "branch": "main",
    }
    assert value_of('return fork 2 as i { try { fail "f" } catch e { yield e.branch } }') == ["main[0]", "main[1]"]


def test_try_that_does_not_fail_skips_its_handler_and_jumps_pass_through() -> None:
    assert value_of("let x = 1\ntry { x = 2 } catch e { x = 3 }\nreturn x") == 2
    assert (
        value_of("for i in range(9) { try { if i == 4 { break } } catch e { fail 'no' }\nlet last = i }\nreturn 1") == 1
    )
    assert value_of("def f() -> int { try { return 1 } catch e { return 2 } }\nreturn f()") == 1


def test_error_of_what_the_block_has_begun_comes_up_in_the_block() -> None:
    source = (
        'def f() -> str { fail "in f" }\ntry { let a = f()\nlet b = 1 } catch e { return e.message }\nreturn "missed"'
    )
    assert value_of(source) == "in f"


def test_error_of_what_was_begun_before_the_block_is_not_caught() -> None:
    source = 'def f() -> str { "x"\ngen a\nfail "in f" }\nlet a = f()\ntry { fail "here" } catch e { return e.message }'
    assert failure_of(source, ["y"]).message == "in f"


def test_earliest_error_in_the_order_of_the_program_is_the_one_that_is_caught() -> None:
    source = (
        'def f() -> str { "x"\ngen a\nfail "first" }\ntry { let a = f()\nfail "second" } catch e { return e.message }'
    )
    assert value_of(source, ["y"]) == "first"


def test_text_of_the_block_stays_as_far_as_it_was_done_and_its_role_is_closed() -> None:
    runtime = ScriptedRuntime(["A", "B"])
    source = 'try { user { "x"; gen a; fail "f"; "y" } } catch e { assistant { "z"; gen b } }'
    run_on(runtime, source)
    assert runtime.history[-1] == "<|user|>xA<|end|><|assistant|>zB<|end|>"


def test_role_around_the_try_stays_open() -> None:
    runtime = ScriptedRuntime()
    run_on(runtime, 'user { "a"; try { "b"; fail "f" } catch e { "c" }; "d" }')
    assert runtime.history[-1] == "<|user|>abcd<|end|>"


def test_failed_gen_can_be_caught_and_the_context_used_again() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "12" if call.index else "no number")
    source = '"n="\ntry { gen n: int } catch e { "?"\ngen n: int }\nreturn n'
    with pytest.raises(Exception) as caught:
        run_on(ScriptedRuntime(["x", "12"]), '"n="\ngen n: int')
    assert caught.value.code == "E0601"
    assert run_on(runtime, source).value == 12
    assert runtime.history[-1] == "n=?12"


def test_try_catches_failed_rows_and_tools_but_no_limit_of_the_run() -> None:
    assert value_of('try { map x in [1] { fail "row" } } catch e { return [e.message, e.branch] }') == [
        "row",
        "main[0]",
    ]
    endless = 'let n = 0\ntry { repeat 100 { n = n + 1 } } catch e { return "caught" }'
    assert failure_of(endless, limits=Limits(steps=50)).code == "E0804"
    tokens = 'try { "a"\ngen a } catch e { return "caught" }'
    assert failure_of(tokens, ["w w w w w w"], limits=Limits(tokens=2)).code == "E0809"


def test_error_in_the_handler_is_an_error() -> None:
    assert failure_of('try { fail "a" } catch e { fail "b: @{e.message}" }').message == "b: a"
    assert value_of('try { try { fail "a" } catch e { fail "b" } } catch e { return e.message }') == "b"


def test_try_in_a_loop_retries() -> None:
    source = """
    "Q: "
    for i in range(3) {
      try { gen a; assert a == "good"; return a } catch e { "\\n" }
    }
    """
    assert value_of(source, ["bad", "bad", "good"]) == "good"


@pytest.mark.parametrize("block", ["map x in [1] { %s }", "fork 1 { %s }", "repeat 1 { %s }", "try { %s } catch e { }"])
def test_set_holds_until_the_end_of_its_block(block: str) -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "a")
    source = "set max=9\n" + block % "set max=3\ngen a\nif true { set max=1\ngen b }\ngen c" + "\ngen d"
    run_on(runtime, source)
    assert [call.params.max_tokens for call in runtime.generations] == [3, 1, 3, 9]
