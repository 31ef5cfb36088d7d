"""Running the host's sync functions beside an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

_T = TypeVar("_T")


async def in_thread(work: Callable[[], _T], name: str) -> _T:
    """Call `work` in a daemon thread of its own, with the context variables of the caller; what it returns or raises.

    A thread that never ends keeps neither the loop nor the process from ending. It cannot be ended from outside: if
    the caller is cancelled, what the function still does goes unseen.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()
    context = contextvars.copy_context()

    def tell(settle: Callable[[Any], None], outcome: object) -> None:
        if not done.done():
            settle(outcome)

    def run() -> None:
        try:
            message: tuple[Callable[[Any], None], object] = done.set_result, context.run(work)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to the caller
            message = done.set_exception, _raisable(error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, *message)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await done


def _raisable(error: BaseException) -> Exception:
    """The error as one that a future can carry and that ends no event loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
