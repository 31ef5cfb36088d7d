"""An event loop in a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from radixkv.engine.home_process import HomeProcess
from radixkv.engine.messages import Closed

Result = TypeVar("Result")


class LoopThread:
    """Runs coroutines for threads that wait for them; safe to use from several at once."""

    def __init__(self, name: str) -> None:
        self._home = HomeProcess()
        self._lock = threading.RLock()  # the garbage collector may call `abandon` anywhere, in `run` too
        self._closing = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_serve, args=(self._loop,), name=name, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """The coroutine's result. Being interrupted cancels it. Raises EngineClosed, also in a forked process."""
        try:
            self._home.check()
            with self._lock:
                if self._closing:
                    raise Closed().error()
                future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except BaseException:
            coroutine.close()
            raise
        try:
            return future.result()
        except CancelledError:
            raise Closed().error() from None
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Wait for what runs, then end loop and thread; harmless when done before, and in a forked process."""
        if self._home.is_here:
            self._end(cancel=False)
            if self._thread is not threading.current_thread():
                self._thread.join()

    def abandon(self) -> None:
        """End loop and thread without waiting; what runs is cancelled."""
        if self._home.is_here:
            self._end(cancel=True)

    def _end(self, *, cancel: bool) -> None:
        with self._lock:
            if not self._closing:
                self._closing = True
                asyncio.run_coroutine_threadsafe(_stop_after_all(cancel), self._loop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _stop_after_all(cancel: bool) -> None:
    """Stop the loop once its tasks have ended, so that everyone who waits for one has been answered."""
    loop = asyncio.get_running_loop()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks if cancel else ():
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    await loop.shutdown_asyncgens()
    loop.stop()
