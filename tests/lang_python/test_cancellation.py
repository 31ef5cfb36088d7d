"""However a run ends, no context, no task and no thread of it is left."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from frontend_lang import Limits, ProgramError, ScriptedRuntime, State, gen, prompt, select

THREADS = 2.0  # seconds in which a body that is no longer wanted ends, however busy the machine is


@prompt
def inner(s: State, word: str) -> Any:
    s += word
    s += gen("a")
    return s["a"].value


@prompt
def everything(s: State) -> Any:
    def branch(b: State, index: int) -> Any:
        with b.assistant():
            b += gen("a")
        return inner(b["a"])

    s.user("Hello")
    kept = s.fork(2, branch).best(len, keep=True)
    s.user("More ", kept)
    s.assistant(select("v", ["a", "b"]))
    return [s["v"], s.fork(2, branch).all()]


@prompt
async def everything_async(s: State) -> Any:
    async def branch(b: State, index: int) -> Any:
        with b.assistant():
            b += gen("a")
        return await inner.a(await b["a"])

    s.user("Hello")
    kept = s.fork(2, branch).best(len, keep=True)
    s.user("More ", kept)
    s.assistant(select("v", ["a", "b"]))
    return [await s["v"], await s.fork(2, branch).all()]


def own_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("body of ")]


def assert_no_threads() -> None:
    deadline = time.monotonic() + THREADS
    while own_threads() and time.monotonic() < deadline:
        time.sleep(0.001)
    assert own_threads() == []


@pytest.mark.parametrize("program", [everything, everything_async])
def test_a_run_that_is_cancelled_at_any_verb_leaves_nothing(program: Any) -> None:
    whole = ScriptedRuntime(lambda text, call: "word")
    asyncio.run(program.a(runtime=whole))

    async def cancelled_at(number: int) -> None:
        def on_call(count: int, verb: str) -> None:
            if count == number:
                running.cancel()

        runtime = ScriptedRuntime(lambda text, call: "word", on_call=on_call)
        running = asyncio.ensure_future(program.a(runtime=runtime))
        with pytest.raises(asyncio.CancelledError):
            await running
        assert runtime.live == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    for number in range(1, whole.calls + 1):
        asyncio.run(cancelled_at(number))
        assert_no_threads()


@pytest.mark.parametrize("program", [everything, everything_async])
def test_a_run_that_fails_at_any_verb_leaves_nothing(program: Any) -> None:
    whole = ScriptedRuntime(lambda text, call: "word")
    program(runtime=whole)

    for number in range(1, whole.calls + 1):

        def on_call(count: int, verb: str, number: int = number) -> None:
            if count == number:
                raise ProgramError("E0601", "out of order")

        runtime = ScriptedRuntime(lambda text, call: "word", on_call=on_call)
        try:
            program(runtime=runtime)
        except ProgramError as error:
            assert error.code == "E0601"  # noqa: PT017
        else:
            assert runtime.calls < number, "the verb failed and nobody was told"
        assert runtime.live == 0
        assert_no_threads()


def test_the_time_of_a_run_is_limited() -> None:
    runtime = ScriptedRuntime(lambda text, call: "word", delay=lambda verb, context: 5)
    with pytest.raises(ProgramError) as caught:
        everything(runtime=runtime, limits=Limits(wall_s=0.05))
    assert (caught.value.code, runtime.live) == ("E0802", 0)
    assert_no_threads()


def test_a_sync_body_that_is_not_wanted_any_more_ends_when_it_next_uses_its_run() -> None:
    ended = threading.Event()
    release = threading.Event()

    @prompt
    def busy(s: State) -> None:
        release.wait(10)
        try:
            s += "x"
            s += gen("a")
        except asyncio.CancelledError:
            ended.set()
            raise

    with pytest.raises(ProgramError):
        busy(runtime=ScriptedRuntime(["x"]), limits=Limits(wall_s=0.02))
    release.set()
    assert ended.wait(10)


def test_what_a_call_has_begun_and_not_used_is_cancelled() -> None:
    @prompt
    def careless(s: State) -> str:
        s += "x"
        s += gen("a")
        return "done"

    @prompt
    def outer(s: State) -> Any:
        return careless()

    runtime = ScriptedRuntime(lambda text, call: "word", delay=lambda verb, context: 30 * (verb == "delta"))
    assert outer(runtime=runtime) == "done"
    assert runtime.live == 0


INTERRUPTED = """
import sys
from frontend_lang import ScriptedRuntime, gen, prompt

@prompt
def slow(s):
    def branch(b):
        b += gen("a")
        return b["a"].value
    s += "x"
    print("started", flush=True)
    return s.fork(3, branch).all()

runtime = ScriptedRuntime(lambda text, call: "word", delay=lambda verb, context: 60 * (verb == "delta"))
try:
    slow(runtime=runtime)
except KeyboardInterrupt:
    print("live", runtime.live)
"""


@pytest.mark.processes
def test_ctrl_c_ends_a_sync_call_at_once_and_releases_everything() -> None:
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=30)
    assert rest == "live 0\n"
