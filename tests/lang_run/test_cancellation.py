"""Whatever happens to a run, and whenever: no context and no task of it is left."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontend_lang import ProgramError, run, run_async
from frontend_lang.runtime import ContextId, RuntimeFailure
from frontend_lang.scripted import ScriptedRuntime
from scripted_programs import parsed

PROGRAM = parsed("""def rate(x: str) -> float { user x
assistant select v from ["a", "b"]
return probs(v)["a"] }
def pick(r: json) -> str { return r.l }
def part(x: str) { user "@{x}"
assistant gen own }
user "start"
let p = rate("p")
let q = [rate(x) for x in ["1", "2"]]
let m = map r in ["m", "n"] with width=2 { user r
assistant gen t
let late = rate(t)
yield "@{t}@{late}" }
assistant {
  fork 3 as i { gen a with max=3; fork 2 { gen b; yield b } join first keep } join best by rate(a) keep
  let v = fork 4 with width=2 { gen c until c != ""; gen unheard } join vote
  fork x in ["u", "v"] with on_error="none" { gen d; let n = int(d); yield n } join concat keep
  fork { l { gen e } r { let z = rate("z"); gen e } } join pick
}
use part("@{m}")
let w = fork 2 { "w@{q}"; gen g until rate(g) >= 0.0 } join first
gen f with max=2
try { gen h: int } catch e { "no" }
return [p, q, f, w]""")
ANSWER = "w x y"


def calls_of_an_undisturbed_run() -> int:
    runtime = ScriptedRuntime(lambda prompt, call: ANSWER)
    run(PROGRAM, runtime=runtime, seed=1)
    assert runtime.live == 0
    return runtime.calls


TOTAL = 90


def test_an_undisturbed_run_makes_enough_calls_for_the_fuzz() -> None:
    assert calls_of_an_undisturbed_run() >= TOTAL - 10


@pytest.mark.parametrize("twice", [False, True])
@settings(max_examples=60, deadline=None)
@given(at=st.integers(1, TOTAL), late=st.integers(0, 5), jitter=st.booleans())
def test_cancelling_anywhere_leaves_nothing(twice: bool, at: int, late: int, jitter: bool) -> None:
    async def main() -> None:
        def on_call(count: int, verb: str) -> None:
            if count == at or (twice and count == at + late):
                asyncio.get_running_loop().call_soon(task.cancel)

        def delay(verb: str, context: ContextId) -> float:
            return 0.0001 * (len(context) + len(verb)) if jitter and verb in ("delta", "fork", "score") else 0.0

        runtime = ScriptedRuntime(lambda prompt, call: ANSWER, on_call=on_call, delay=delay)
        task = asyncio.ensure_future(run_async(PROGRAM, runtime=runtime, seed=1))
        await asyncio.wait([task])
        assert runtime.live == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert task.cancelled() or task.exception() is None

    asyncio.run(main())


@settings(max_examples=60, deadline=None)
@given(at=st.integers(1, TOTAL), kind=st.sampled_from([RuntimeFailure("E0601", "broken"), OSError("gone")]))
def test_a_runtime_that_fails_anywhere_leaves_nothing(at: int, kind: Exception) -> None:
    def on_call(count: int, verb: str) -> None:
        if count == at:
            raise kind

    async def main() -> None:
        runtime = ScriptedRuntime(lambda prompt, call: ANSWER, on_call=on_call)
        try:
            await run_async(PROGRAM, runtime=runtime, seed=1)
        except ProgramError as error:
            assert error.code in ("E0601", "E0605", "E0701")  # noqa: PT017
        assert runtime.live == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


@settings(max_examples=40, deadline=None)
@given(at=st.integers(0, 120))
def test_a_listener_that_raises_ends_the_run_and_leaves_nothing(at: int) -> None:
    class Full(Exception):
        pass

    def listener(event) -> None:  # type: ignore[no-untyped-def]
        if event.seq == at:
            raise Full

    async def main() -> None:
        runtime = ScriptedRuntime(lambda prompt, call: ANSWER)
        try:
            await asyncio.wait_for(run_async(PROGRAM, runtime=runtime, seed=1, on_event=listener), 20)
        except (ProgramError, Full) as error:
            assert isinstance(error, Full) or isinstance(error.__cause__, Full)  # noqa: PT017
        assert runtime.live == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_ctrl_c_ends_a_sync_run_and_releases_everything() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: ANSWER, delay=lambda verb, context: 30.0 if verb == "delta" else 0.0)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(PROGRAM, runtime=runtime)
    timer.join()
    assert runtime.live == 0


def test_a_runtime_that_is_closed_under_a_run_ends_it_with_its_own_error() -> None:
    class Closed(ScriptedRuntime):
        async def release(self, context: ContextId) -> None:
            raise RuntimeFailure("E0801", "closed")

    def on_call(count: int, verb: str) -> None:
        if count >= 12:
            raise RuntimeFailure("E0801", "closed")

    with pytest.raises(ProgramError) as caught:
        run(PROGRAM, runtime=Closed(lambda prompt, call: ANSWER, on_call=on_call))
    assert caught.value.code == "E0801"


def test_slow_release_is_awaited_even_when_cancelled_again() -> None:
    released: list[ContextId] = []

    class Slow(ScriptedRuntime):
        async def release(self, context: ContextId) -> None:
            await asyncio.sleep(0.01)
            released.append(context)
            await super().release(context)

    async def main() -> None:
        runtime = Slow(lambda prompt, call: "a b", delay=lambda verb, context: 30.0 if verb == "delta" else 0.0)
        task = asyncio.ensure_future(run_async(parsed('"a"\nfork 3 { gen a }'), runtime=runtime))
        await asyncio.sleep(0.05)
        for _ in range(10):
            task.cancel()
            await asyncio.sleep(0.003)
        await asyncio.wait([task])
        assert task.cancelled()
        assert (runtime.live, len(released)) == (0, 4)

    asyncio.run(main())
