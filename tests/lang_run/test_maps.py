"""map: values in order, few rows live, what a failing row does, and that nothing is left of the rest."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend_lang import Limits, ProgramError, run_async
from frontend_lang.runtime import ContextId
from frontend_lang.scripted import ScriptedRuntime
from frontend_lang.sources import MappingSource
from scripted_programs import failure_of, parsed, run_on, value_of

ECHO = 'return map x in xs with width={width}, on_error="{on_error}" {{ "@{{x}}"\ngen a\nassert a != "2!"\nyield a }}'


def echo(prompt: str, call: object) -> str:
    return f"{prompt}!"


class Gauge:
    """How many contexts a runtime has at most, and in which order generations end."""

    def __init__(self, delays: dict[str, float] | None = None) -> None:
        self.most = 0
        self._delays = delays or {}
        self.runtime = ScriptedRuntime(echo, delay=self._delay)

    def _delay(self, verb: str, context: ContextId) -> float:
        self.most = max(self.most, self.runtime.live)
        return self._delays.get(self.runtime.context_text(context), 0) if verb == "delta" else 0


def test_values_come_in_the_order_of_the_rows_whatever_ends_first() -> None:
    gauge = Gauge({"0": 0.02, "1": 0.01})
    source = 'return map x in [0, 1, 2] as i { "@{x}"\ngen a\nyield [i, a] }'
    assert run_on(gauge.runtime, source).value == [[0, "0!"], [1, "1!"], [2, "2!"]]


def test_value_of_a_row_is_its_yield_or_else_its_text() -> None:
    assert value_of('return map x in [1, 2] { "t@{x}"\nif x == 2 { yield {n: x} } }') == ["t1", {"n": 2}]


def test_no_rows_give_an_empty_list() -> None:
    assert value_of("return map x in [] { yield x }") == []


def test_rows_begin_in_fresh_contexts_without_a_role() -> None:
    runtime = ScriptedRuntime(echo)
    run_on(runtime, 'user: Hello\nassistant { "A"; let r = map x in [1] { user "q@{x}"\nassistant gen a }\ntext r[0] }')
    assert runtime.prompts == ["<|user|>q1<|end|><|assistant|>"]
    assert runtime.history[-1].startswith("<|user|>Hello<|end|><|assistant|>A")


def test_rows_read_outer_names_and_cannot_change_them() -> None:
    assert value_of("let a = 1\nreturn map x in [1, 2] { let a = a + x\nyield a }") == [2, 3]
    assert failure_of("let a = 1\nmap x in [1] { a = 2 }").code == "E0312"
    assert failure_of("map x in [1] { let b = 1 }\nreturn b").code == "E0301"


@pytest.mark.parametrize("jump", ["return 1", "break", "continue"])
def test_jump_may_not_leave_a_row(jump: str) -> None:
    assert failure_of(f"repeat 2 {{ map x in [1] {{ {jump} }} }}").code == "E0314"


def test_what_is_set_and_what_the_map_is_given_hold_in_its_rows() -> None:
    runtime = ScriptedRuntime(echo)
    run_on(runtime, "set temp=0.5, top_p=0.9\nmap x in [1] with temp=0.1, width=1 { set max=3\ngen a }\ngen b")
    asked = [(call.params.temperature, call.params.top_p, call.params.max_tokens) for call in runtime.generations]
    assert asked == [(0.1, 0.9, 3), (0.5, 0.9, 256)]


@pytest.mark.parametrize("width", [1, 3, 64])
def test_at_most_width_rows_are_live(width: int) -> None:
    gauge = Gauge()
    assert (
        len(run_on(gauge.runtime, f'return map x in range(200) with width={width} {{ "@{{x}}"\ngen a }}').value) == 200
    )
    assert gauge.most == width


def test_failing_row_is_none_or_left_out() -> None:
    xs = "let xs = [1, 2, 3]\n"
    assert value_of(xs + ECHO.format(width=2, on_error="none"), echo) == ["1!", None, "3!"]
    assert value_of(xs + ECHO.format(width=2, on_error="drop"), echo) == ["1!", "3!"]


def test_failing_row_ends_the_map_and_is_where_the_error_is_placed() -> None:
    failure = failure_of("let xs = [1, 2, 3]\n" + ECHO.format(width=2, on_error="fail"), echo)
    assert (failure.code, failure.span.line, failure.path) == ("E0604", 4, "main[1]")


def test_of_failing_rows_the_lowest_counts_even_if_it_fails_last() -> None:
    gauge = Gauge({"0": 0.02})
    with pytest.raises(ProgramError) as caught:
        run_on(gauge.runtime, 'map x in [0, 1, 2] { "@{x}"\ngen a\nfail "row @{x}" }')
    assert caught.value.message == "row 0"


def test_rows_after_a_failing_one_are_cancelled_and_none_is_begun() -> None:
    gauge = Gauge({str(index): 60.0 for index in range(1, 100)})
    with pytest.raises(ProgramError) as caught:
        run_on(gauge.runtime, 'map x in range(100) with width=8 { "@{x}"\ngen a\nfail "row @{x}" }')
    assert caught.value.message == "row 0"
    assert len(gauge.runtime.generations) == 8


def test_limit_of_the_whole_run_is_not_swallowed() -> None:
    source = 'return map x in [1, 2] with on_error="none" { "@{x}"\ngen a }'
    assert failure_of(source, lambda prompt, call: "w " * 9, limits=Limits(tokens=5)).code == "E0809"


def test_timeout_fails_what_has_not_ended() -> None:
    slow = {str(index): 60.0 for index in range(1, 10)}
    source = 'return map x in range(5) with width=2, timeout=50ms, on_error="{}" {{ "@{{x}}"\ngen a }}'
    assert run_on(Gauge(slow).runtime, source.format("none")).value == ["00!", None, None, None, None]
    assert run_on(Gauge(slow).runtime, source.format("drop")).value == ["00!"]
    with pytest.raises(ProgramError) as caught:
        run_on(Gauge(slow).runtime, source.format("fail"))
    assert (caught.value.code, caught.value.message) == ("E0803", "the map took longer than 0.05 s")


def test_unreadable_row_ends_the_map_whatever_on_error_says() -> None:
    data = MappingSource({"x.jsonl": "1\n2\n{\n4\n"})
    failure = failure_of('return map x in jsonl("x.jsonl") with on_error="none" { yield x }', data=data)
    assert failure.code == "E0705"
    assert "x.jsonl:3" in failure.message


def test_data_file_is_read_no_further_than_width_rows_ahead() -> None:
    lines = "".join(f"{index}\n" for index in range(100))
    ahead: list[int] = []

    class Counting(MappingSource):
        def open(self, path: str):
            stream = super().open(path)
            read, readline = 0, stream.readline

            def counted(*size: int) -> str:
                nonlocal read
                read += 1
                ahead.append(read - len(runtime.history))
                return readline(*size)

            stream.readline = counted  # type: ignore[method-assign]
            return stream

    runtime = ScriptedRuntime(echo)
    source = 'let r = map x in jsonl("x.jsonl") with width=4 { "@{x}"\ngen a }\nreturn len(r)'
    assert run_on(runtime, source, data=Counting({"x.jsonl": lines})).value == 100
    assert max(ahead) <= 4


def test_stream_tells_every_value_as_soon_as_it_is_there() -> None:
    told: list[tuple[object, object]] = []

    def listen(event) -> None:
        if event.event == "emit":
            told.append((event.data["index"], event.data["value"]))

    gauge = Gauge({"0": 0.03})
    run_on(gauge.runtime, 'map x in [0, 1] with stream=true { "@{x}"\ngen a\nyield a }', on_event=listen)
    assert told == [(1, "1!"), (0, "0!")]


def test_rows_have_a_limit_of_their_own_and_steps_are_counted_per_row() -> None:
    assert (
        len(value_of("return map x in range(6000) { let y = x\nlet z = y\nyield z }", limits=Limits(steps=9000)))
        == 6000
    )
    failure = failure_of("map x in range(9) { yield x }", limits=Limits(rows=8))
    assert (failure.code, failure.message) == ("E0807", "more than 8 rows in the maps of one run")
    endless = "map x in [1, 2] { repeat 100 { let y = 1 } }"
    assert failure_of(endless, limits=Limits(steps=100)).code == "E0804"


def test_map_in_a_map_and_in_a_fork() -> None:
    source = "return map x in [1, 2] { yield map y in [x, x] as i { yield y * 10 + i } }"
    assert value_of(source, limits=Limits(live_branches=1)) == [[10, 11], [20, 21]]
    assert value_of("return fork 2 as b { yield map x in [b] { yield x } }") == [[0], [1]]


def test_map_of_something_else_says_what_it_needs() -> None:
    assert failure_of("map x in 3 { yield x }").message == "`map x in` needs a list, found int"
    assert failure_of("map x in [1] with stream=1 { yield x }").code == "E0402"


def test_cancelled_map_leaves_nothing() -> None:
    all_started = asyncio.Event()

    def delay(verb: str, context: ContextId) -> float:
        if len(runtime.generations) == 9:
            all_started.set()
        return 60.0 if verb == "delta" else 0

    runtime = ScriptedRuntime(echo, delay=delay)

    async def cancelled() -> None:
        running = asyncio.ensure_future(run_async(parsed('map x in range(9) { "@{x}"\ngen a }'), runtime=runtime))
        await asyncio.wait_for(all_started.wait(), 10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(cancelled())
    assert runtime.live == 0


def test_two_thousand_rows_keep_at_most_width_contexts() -> None:
    gauge = Gauge()
    values = run_on(gauge.runtime, 'return map x in range(2000) { "@{x}"\ngen a\nyield a }').value
    assert values == [f"{index}!" for index in range(2000)]
    assert gauge.most <= 64


@given(
    fates=st.lists(st.sampled_from(["ok", "fail", "slow", "slow fail"]), max_size=12),
    width=st.integers(1, 5),
    on_error=st.sampled_from(["fail", "none", "drop"]),
)
def test_map_is_as_if_rows_ran_one_after_the_other(fates: list[str], width: int, on_error: str) -> None:
    source = (
        f'param xs: list[str]\nreturn map x in xs as i with width={width}, on_error="{on_error}" '
        '{ "@{x}@{i}"\ngen a\nif "fail" in x { fail "row @{i}" }\nyield i }'
    )
    slow = {f"slow{rest}{index}": 0.001 for rest in ("", " fail") for index in range(12)}
    first = next((index for index, fate in enumerate(fates) if "fail" in fate), None)
    if on_error == "fail" and first is not None:
        with pytest.raises(ProgramError) as caught:
            run_on(Gauge(slow).runtime, source, {"xs": fates})
        assert caught.value.message == f"row {first}"
        return
    expected = [None if "fail" in fate else index for index, fate in enumerate(fates)]
    if on_error == "drop":
        expected = [value for value in expected if value is not None]
    assert run_on(Gauge(slow).runtime, source, {"xs": fates}).value == expected


def test_after_a_timeout_a_row_that_cannot_be_read_is_the_last() -> None:
    rows = "".join(f'{{"n": {n}}}\n' for n in range(300)) + "{oops\n"
    source = 'return map r in jsonl("rows.jsonl") with width=1, timeout=50ms, on_error="none" { "x"\ngen a }'
    runtime = ScriptedRuntime(lambda prompt, call: "a", delay=lambda verb, context: 5.0 if verb == "delta" else 0.0)
    result = run_on(runtime, source, data=MappingSource({"rows.jsonl": rows}))
    assert result.value == [None] * 300
