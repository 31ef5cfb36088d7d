"""Coming and going: aborts, slow readers, failing forwards, several event loops, closing. Nothing leaks."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from contextlib import aclosing
from typing import Any

import pytest

from polling import until
from radixkv.engine import CompletionDelta, Engine, Generation, Text
from radixkv.errors import EngineClosed, RequestFailed
from radixkv.request import SamplingParams

LONG = SamplingParams(temperature=0.0, max_tokens=200, ignore_eos=True)


async def settle(engine: Engine) -> None:
    """Wait until nothing runs."""
    await until(lambda: not engine.stats().live_requests)


def assert_nothing_held(engine: Engine) -> None:
    """free + cached = total and no lease; after clearing free = total."""
    engine.check_integrity()
    stats = engine.stats()
    assert (stats.live_requests, stats.cache.leases, stats.scheduler.holds) == (0, 0, 0)
    assert stats.cache.free_blocks + stats.cache.cached_blocks == stats.cache.total_blocks
    asyncio.run(engine.clear_cache())
    assert engine.stats().cache.free_blocks == stats.cache.total_blocks


def test_closing_a_stream_aborts_its_request_within_a_step(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        async with aclosing(engine.stream("a long story", LONG)) as stream:
            async for _ in stream:
                break
        steps = engine.stats().steps
        await settle(engine)
        assert engine.stats().steps - steps <= 2

    asyncio.run(run())
    assert_nothing_held(engine)


def test_cancelling_a_task_aborts_its_request(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        task = asyncio.create_task(engine.submit("a long story", LONG))
        await until(lambda: engine.stats().scheduler.running)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await settle(engine)

    asyncio.run(run())
    assert_nothing_held(engine)


def test_a_slow_reader_holds_nobody_up(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        async with aclosing(engine.stream("slow", LONG)) as slow:
            await anext(slow)
            quick = await engine.submit("quick", SamplingParams(temperature=0.0, max_tokens=20, ignore_eos=True))
            assert quick.usage.completion_tokens == 20
            await settle(engine)  # the slow one has run to its end unread
            rest = [item async for item in slow if isinstance(item, CompletionDelta)]
        assert sum(len(delta.token_ids) for delta in rest) == 199

    asyncio.run(run())
    assert_nothing_held(engine)


def test_a_failing_forward_fails_its_requests_and_no_others(forced: Any) -> None:
    engine = forced.engine
    forced.decoder.fail_at = (0, ord("#"))

    async def run() -> None:
        with pytest.raises(RequestFailed, match="scripted failure") as failure:
            await engine.submit("# breaks", LONG)
        assert isinstance(failure.value.__cause__, RuntimeError)
        fine = await engine.submit("fine", SamplingParams(temperature=0.0, max_tokens=5, ignore_eos=True))
        assert fine.usage.completion_tokens == 5

    asyncio.run(run())
    assert engine.stats().failed_steps == 1
    assert_nothing_held(engine)


def test_logits_that_are_no_numbers_fail_one_request_of_the_batch(forced: Any) -> None:
    engine = forced.engine
    forced.decoder.nan_at = (2, ord("#"))

    async def run() -> None:
        bad, fine = await asyncio.gather(
            engine.submit("ab#", LONG), engine.submit("abcd", LONG), return_exceptions=True
        )
        assert isinstance(bad, RequestFailed)
        assert "not finite" in str(bad)
        assert fine.usage.completion_tokens == 200
        forced.decoder.nan_at = None
        assert (await engine.submit("ab#", LONG)).usage.completion_tokens == 200

    asyncio.run(run())
    assert_nothing_held(engine)


def test_an_error_of_the_engine_itself_ends_it_and_every_request(make_engine: Any) -> None:
    engine = make_engine()

    def broken(*_: object) -> None:
        raise AssertionError("bookkeeping broke")

    async def run() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("threading.excepthook", lambda _: None)
            patch.setattr(engine._parts.scheduler, "finish_step", broken)
            with pytest.raises(EngineClosed, match="bookkeeping broke"):
                await engine.submit("a", LONG)
            engine.close_now()
        with pytest.raises(EngineClosed):
            await engine.submit("a", LONG)

    asyncio.run(run())


def test_two_event_loops_share_one_engine(make_engine: Any) -> None:
    engine = make_engine()
    sampling = SamplingParams(temperature=0.0, max_tokens=30, ignore_eos=True)
    texts: list[str] = []

    def one_loop(prompt: str) -> None:
        async def run() -> None:
            texts.extend([(await engine.submit(prompt, sampling)).text for _ in range(3)])

        asyncio.run(run())

    threads = [threading.Thread(target=one_loop, args=("same prompt",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 6
    assert len(set(texts)) == 1
    assert_nothing_held(engine)


def test_requests_of_an_event_loop_that_is_gone_are_aborted(make_engine: Any) -> None:
    engine = make_engine()
    loop = asyncio.new_event_loop()
    stream = engine.stream("left behind", LONG)
    loop.run_until_complete(anext(stream))
    loop.close()  # without closing the stream
    asyncio.run(settle(engine))
    assert engine.stats().steps < 190, "it ran to its end for nobody"
    assert_nothing_held(engine)


def test_close_is_idempotent_and_later_calls_are_refused(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        running = asyncio.create_task(engine.submit("a long story", LONG))
        await until(lambda: engine.stats().scheduler.running)
        await engine.close()
        await engine.close()
        with pytest.raises(EngineClosed):  # no half completion is passed off as a whole one
            await running
        with pytest.raises(EngineClosed):
            await engine.submit("late", LONG)

    asyncio.run(run())
    with pytest.raises(EngineClosed):
        engine.stats()


def test_close_with_drain_lets_running_requests_end(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        running = asyncio.create_task(
            engine.submit("a", SamplingParams(temperature=0.0, max_tokens=40, ignore_eos=True))
        )
        await until(lambda: engine.stats().live_requests)
        await engine.close(drain=True)
        assert (await running).usage.completion_tokens == 40

    asyncio.run(run())


def test_an_idle_engine_takes_no_turns(make_engine: Any) -> None:
    engine = make_engine()
    asyncio.run(engine.submit("a", SamplingParams(temperature=0.0, max_tokens=2)))
    before = time.thread_time(), engine.stats().steps
    cpu = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - cpu < 0.1, "it spins"
    assert engine.stats().steps == before[1]


def test_one_wake_up_per_loop_and_step(make_engine: Any) -> None:
    engine = make_engine()
    calls: list[int] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        real = loop.call_soon_threadsafe
        loop.call_soon_threadsafe = lambda *args, **named: (calls.append(1), real(*args, **named))[1]  # type: ignore[method-assign]
        sampling = SamplingParams(temperature=0.0, max_tokens=20, ignore_eos=True)
        await asyncio.gather(*(engine.submit(f"prompt {index}", sampling) for index in range(8)))

    asyncio.run(run())
    assert len(calls) <= engine.stats().steps + 2


class Fuzz:
    """Random submits, streams, aborts and forks, several at once."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.engine = engine
        self.rng = random.Random(seed)
        self.contexts: list[str] = []

    def sampling(self, n: int = 1) -> SamplingParams:
        rng = self.rng
        stop = ("e",) if rng.random() < 0.3 else ()
        return SamplingParams(seed=rng.randrange(99), max_tokens=rng.randrange(0, 12), stop=stop, n=n)

    def prompt(self) -> str:
        return "a common beginning of all prompts "[: self.rng.randrange(1, 34)] + str(self.rng.randrange(4))

    async def submit(self) -> None:
        await self.engine.submit(self.prompt(), self.sampling(n=self.rng.randrange(1, 4)))

    async def stream(self) -> None:
        left = self.rng.randrange(1, 12)
        async with aclosing(self.engine.stream(self.prompt(), self.sampling())) as stream:
            async for _ in stream:
                left -= 1
                if not left:
                    break

    async def abort(self) -> None:
        task = asyncio.create_task(self.engine.submit(self.prompt(), self.sampling()))
        await asyncio.sleep(self.rng.random() * 0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def fork(self) -> None:
        context = await self.engine.open()
        await self.engine.append(context, [Text(self.prompt())])
        children = (await self.engine.fork(context, self.rng.randrange(1, 4))).children
        await asyncio.gather(*(self.branch(child) for child in children))
        await self.engine.adopt(context, children[0])
        async for item in self.engine.generate(context, self.sampling()):
            assert isinstance(item, CompletionDelta | Generation)
        for left in (*children, context):
            await self.engine.release(left)

    async def branch(self, child: str) -> None:
        await self.engine.append(child, [Text(self.prompt())])
        if self.rng.random() < 0.5:
            await self.engine.score(child, ["yes", "yellow", "no"])
            return
        async with aclosing(self.engine.generate(child, self.sampling())) as items:
            async for _ in items:
                if self.rng.random() < 0.1:
                    break

    async def run(self, operations: int) -> None:
        verbs = (self.submit, self.stream, self.abort, self.fork)
        for start in range(0, operations, 10):
            await asyncio.gather(*(self.rng.choice(verbs)() for _ in range(min(10, operations - start))))
            self.engine.check_integrity()
        await settle(self.engine)


@pytest.mark.parametrize(
    ("operations", "num_blocks"), [(500, 12), (50, 64), pytest.param(20_000, 12, marks=pytest.mark.slow)]
)
def test_random_operations_leave_nothing_behind(make_engine: Any, operations: int, num_blocks: int) -> None:
    engine = make_engine(num_blocks=num_blocks)
    asyncio.run(Fuzz(engine, seed=num_blocks).run(operations))
    print(engine.stats())
    assert_nothing_held(engine)
