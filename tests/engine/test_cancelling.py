"""Cancelling at any moment: it is never swallowed, and nothing is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from radixkv.constraint import Regex
from radixkv.engine import Engine, Text
from radixkv.request import SamplingParams

Work = Callable[[Engine], Awaitable[object]]


async def _submit(engine: Engine) -> None:
    await engine.submit("abc", SamplingParams(temperature=0.0, max_tokens=4), constraint=Regex("a[bc]{4}"))


async def _generate(engine: Engine) -> None:
    context = await engine.open()
    try:
        await engine.append(context, [Text("abc")])
        async for _ in engine.generate(context, SamplingParams(temperature=0.0, max_tokens=4)):
            pass
    finally:
        await engine.release(context)


async def _fork_and_score(engine: Engine) -> None:
    contexts = [await engine.open()]
    try:
        await engine.append(contexts[0], [Text("a text to share")])
        contexts += (await engine.fork(contexts[0], 2)).children
        await asyncio.gather(*(engine.score(context, ["yes", "no", "not yet"]) for context in contexts))
    finally:
        for context in contexts:
            await engine.release(context)


@pytest.mark.parametrize("work", [_submit, _generate, _fork_and_score])
def test_cancelling_is_never_swallowed_and_leaves_nothing(make_engine: Callable[..., Engine], work: Work) -> None:
    engine = make_engine()

    async def cancelled_after(turns: int) -> bool:
        """Whether the work was still under way after so many turns of the event loop."""
        task = asyncio.ensure_future(work(engine))
        for _ in range(turns):
            await asyncio.sleep(0 if turns % 2 else 1e-4)
        if not task.cancel():
            return False
        await asyncio.wait([task])
        assert task.cancelled()
        return True

    async def fuzz() -> int:
        return sum([await cancelled_after(turns) for turns in range(60)])

    assert asyncio.run(fuzz()) > 3
    engine.check_integrity()
    asyncio.run(engine.clear_cache())
    stats = engine.stats()
    assert (stats.live_requests, stats.cache.leases) == (0, 0)
