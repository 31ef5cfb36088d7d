"""Where the body of a Python prompt runs, and the way from its thread to the event loop and back.

An async body runs on the loop. A sync body runs in a thread of its own: whatever it does to its run is done on the
loop while the thread waits, so everything behind the API is touched by one thread only.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from frontend_lang.running.promises import Undertakings
from frontend_lang.running.run import Run
from frontend_lang.running.strands import Strand
from frontend_lang.seeds import Place

_T = TypeVar("_T")


@dataclass(eq=False)
class Scope:
    """One running body: a prompt, a branch, a row. Made on the loop's thread.

    `place` and the ordinals of what it names make seeds independent of the schedule; `begun` is what the body has
    begun and will be waited for or cancelled at its end.
    """

    run: Run
    strand: Strand
    place: Place
    path: str
    depth: int = 0
    begun: Undertakings = field(default_factory=Undertakings)
    cancelled: bool = False
    over: bool = False  # the body has ended
    told_of_failure: bool = False  # since the last operation was queued, an error has been raised to the body
    _ordinals: Counter[str] = field(default_factory=Counter)
    _waits: set[asyncio.Task[Any]] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _thread: int = field(default_factory=threading.get_ident)

    @property
    def on_loop(self) -> bool:
        """Whether the caller is on the loop's thread, where nothing may block."""
        return threading.get_ident() == self._thread

    def ordinal(self, site: str) -> int:
        """How often the body has come to this site before."""
        self._ordinals[site] += 1
        return self._ordinals[site] - 1

    def do(self, action: Callable[[], _T]) -> _T:
        """Call something short on the loop's thread. Raises CancelledError once the body is no longer wanted."""
        if self.on_loop:
            return action()
        outcome: Future[_T] = Future()
        self._post(lambda: _settle(outcome, action), outcome)
        return outcome.result()

    def wait(self, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """From the body's thread: what the coroutine gives. Raises CancelledError once the body is not wanted."""
        outcome: Future[_T] = Future()
        self._post(lambda: self._begin(work, outcome), outcome)
        return outcome.result()

    def cancel(self) -> None:
        """Nobody wants the body any more: its waits end, and so does it the next time it uses its run."""
        self.cancelled = True
        for task in self._waits:
            task.cancel()

    def _post(self, action: Callable[[], None], outcome: Future[_T]) -> None:
        def unless_cancelled() -> None:
            if self.cancelled:
                outcome.set_exception(asyncio.CancelledError())
            else:
                action()

        if self.cancelled:
            raise asyncio.CancelledError
        try:
            self._loop.call_soon_threadsafe(unless_cancelled)
        except RuntimeError:  # the loop is closed
            raise asyncio.CancelledError from None

    def _begin(self, work: Callable[[], Coroutine[Any, Any, _T]], outcome: Future[_T]) -> None:
        task = self.run.spawn(work())
        self._waits.add(task)

        def ended(task: asyncio.Task[_T]) -> None:
            self._waits.discard(task)
            _settle(outcome, task.result)

        task.add_done_callback(ended)


def _settle(outcome: Future[_T], action: Callable[[], _T]) -> None:
    try:
        outcome.set_result(action())
    except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
        outcome.set_exception(error)


_CURRENT: ContextVar[Scope | None] = ContextVar("frontend_lang_scope", default=None)


def current_scope() -> Scope | None:
    """The scope of the body that is running, if one is."""
    return _CURRENT.get()


@contextmanager
def entered(scope: Scope) -> Iterator[None]:
    """The block is part of this body; threads and tasks that it begins are, too."""
    token = _CURRENT.set(scope)
    scope.over = False
    try:
        yield
    finally:
        scope.over = True
        _CURRENT.reset(token)
