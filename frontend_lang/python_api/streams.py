"""Events of a run, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, TypeAlias

from frontend_lang.events import Event, Listener

Start: TypeAlias = Callable[[Listener], Coroutine[Any, Any, Any]]


async def stream_async(start: Start) -> AsyncGenerator[Event, None]:
    """Start a run and give its events; raises what the run raises. Closing it cancels the run and waits for its end."""
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    running = asyncio.ensure_future(start(events.put_nowait))
    running.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        await running
    finally:
        running.cancel()
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # mark it as seen


def stream(start: Start) -> Generator[Event, None, None]:
    """The same without an event loop: the run goes on while the next event is waited for."""
    with asyncio.Runner() as runner:
        events = stream_async(start)
        try:
            while (event := runner.run(anext(events, None))) is not None:
                yield event
        finally:
            runner.run(events.aclose())
