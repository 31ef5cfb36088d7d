"""The end of an engine: whoever waits gets an answer, from any thread, in any order, in a forked process too."""

from __future__ import annotations

import asyncio
import os
import traceback
from typing import Any

import pytest

from forked import in_a_forked_process
from polling import until
from radixkv.engine import Engine, Text
from radixkv.engine.messages import Answer, Closed, Question
from radixkv.engine.switchboard import Switchboard
from radixkv.errors import EngineClosed
from radixkv.request import SamplingParams

LONG = SamplingParams(temperature=0.0, max_tokens=1000, ignore_eos=True)


def test_an_answer_to_a_cancelled_question_is_dropped() -> None:
    switchboard = Switchboard()
    (asked, cancelled), (_, left) = switchboard.open_question(), switchboard.open_question()
    _, waiting = switchboard.open_question()
    cancelled.cancel()
    left.cancel()
    switchboard.answer(Answer(asked, "late"))
    switchboard.close(Closed())
    with pytest.raises(EngineClosed):
        waiting.result(timeout=0)


def test_a_cancelled_question_keeps_no_running_request_from_its_end(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("threading.excepthook", lambda _: None)
            running = asyncio.create_task(engine.submit("a", LONG))
            await until(lambda: engine.stats().scheduler.running)

            def broken(*_: object) -> None:
                for _index in range(3):
                    engine._gateway.ask(Question.STATS).cancel()
                raise AssertionError("bookkeeping broke")

            patch.setattr(engine._parts.scheduler, "finish_step", broken)
            with pytest.raises(EngineClosed, match="bookkeeping broke"):
                await asyncio.wait_for(running, 10)
            engine.close_now()

    asyncio.run(run())


def test_each_caller_of_a_closed_engine_gets_an_error_of_its_own(make_engine: Any) -> None:
    engine = make_engine()
    engine.close_now()
    errors = []
    for _ in range(5):
        with pytest.raises(EngineClosed) as refusal:
            engine.stats()
        errors.append(refusal.value)
    assert len(set(map(id, errors))) == 5
    assert len({len(traceback.extract_tb(error.__traceback__)) for error in errors}) == 1, "tracebacks do not grow"


def test_closing_at_once_ends_a_draining_that_takes_too_long(make_engine: Any) -> None:
    engine = make_engine(num_blocks=256)

    async def run() -> None:
        running = asyncio.create_task(engine.submit("a", LONG))
        await until(lambda: engine.stats().scheduler.running)
        draining = asyncio.create_task(engine.close(drain=True))
        await asyncio.sleep(0.02)
        assert not running.done()
        await engine.close()
        await draining
        with pytest.raises(EngineClosed):
            await running

    asyncio.run(run())


def test_draining_after_closing_at_once_waits_for_nothing(make_engine: Any) -> None:
    engine = make_engine()
    engine.close_now()
    engine.close_now(drain=True)


def test_a_context_call_under_way_ends_with_the_engine(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        context = await engine.open()
        await engine.append(context, [Text("once upon a time")])

        async def generate() -> None:
            async for _ in engine.generate(context, LONG):
                pass

        running = asyncio.create_task(generate())
        await until(lambda: engine.stats().scheduler.running)
        await engine.close()
        with pytest.raises(EngineClosed):
            await running

    asyncio.run(run())


def refusals(engine: Engine) -> str:
    """What every kind of call raises."""

    async def run() -> list[str]:
        said = []
        for call in (engine.submit("a", LONG), engine.open(), engine.clear_cache(), anext(engine.stream("a", LONG))):
            try:
                await asyncio.wait_for(call, 5)
            except EngineClosed as error:
                said.append(str(error))
        await engine.close()
        return said

    said = asyncio.run(run())
    for ask in (engine.stats, engine.check_integrity):
        try:
            ask()
        except EngineClosed as error:
            said.append(str(error))
    return "\n".join(said)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # forking beside threads is what is tested
def test_a_forked_process_is_told_to_start_its_own_engine(make_engine: Any) -> None:
    engine = make_engine()
    said = in_a_forked_process(lambda: refusals(engine)).splitlines()
    assert len(said) == 6, said
    assert all(f"started by process {os.getpid()}" in line and "start one in this process" in line for line in said)
    completion = asyncio.run(engine.submit("a", SamplingParams(temperature=0.0, max_tokens=3, ignore_eos=True)))
    assert completion.usage.completion_tokens == 3, "the parent's engine goes on"
