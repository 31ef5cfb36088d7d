"""Values that are still being made.

A name may be bound to a promise: evaluation goes on, and whoever needs the value waits for it. A wait for another
strand gives the slot of the waiting strand to others meanwhile.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from frontend_lang.running.strands import Strand

_T_co = TypeVar("_T_co", covariant=True)


class Promise(ABC, Generic[_T_co]):
    """A value that will be there, or an error."""

    __slots__ = ()

    @abstractmethod
    def done(self) -> bool:
        """Whether it has ended, in whatever way."""

    @property
    @abstractmethod
    def failed(self) -> bool:
        """Whether it has ended without a value."""

    @abstractmethod
    def result(self) -> _T_co:
        """The value, once it is done. Raises its error, or CancelledError."""

    @abstractmethod
    async def wait(self, strand: Strand) -> _T_co:
        """The value, when it is there; `strand` is the one that waits. Raises as `result` does."""


class Begun(Promise[_T_co]):
    """A promise that somebody has to end: work that has been begun."""

    __slots__ = ()

    @abstractmethod
    def cancel(self) -> None:
        """Let it end as soon as it can; nothing happens where it is done."""

    @abstractmethod
    async def ended(self) -> None:
        """Wait until it has ended. Raises nothing of its own."""


class Spawned(Begun[_T_co]):
    """What another strand makes: a call, a fork, a map."""

    __slots__ = ("_task",)

    def __init__(self, task: asyncio.Task[_T_co]) -> None:
        self._task = task

    def done(self) -> bool:
        """Whether the task has ended."""
        return self._task.done()

    @property
    def failed(self) -> bool:
        """Whether it has raised or was cancelled."""
        task = self._task
        return task.done() and (task.cancelled() or task.exception() is not None)

    def result(self) -> _T_co:
        """What the task returned."""
        return self._task.result()

    async def wait(self, strand: Strand) -> _T_co:
        """Wait; the slot of `strand` is free meanwhile."""
        if self._task.done():
            return self._task.result()
        async with strand.waiting():
            return await asyncio.shield(self._task)

    def cancel(self) -> None:
        """Cancel the task."""
        self._task.cancel()

    async def ended(self) -> None:
        """Wait for the end of the task."""
        if not self._task.done():
            await asyncio.wait((self._task,))
        if not self._task.cancelled():
            self._task.exception()  # mark it as seen


class Derived(Begun[_T_co]):
    """A value made of promises, such as a text with their values in it; made once, as soon as they are there.

    It is done when its outcome is known: each source has its value, or one has failed and all before it have theirs.

    Values made of one another form a graph, which may be deep and share parts: each part is made once, and nothing here
    recurses. A part that waits remembers for which promise, and how far along its sources it has come, so that all
    calls of `done` together cost O(sources) and O(depth) whenever such a promise has ended.
    """

    __slots__ = ("_at", "_awaited", "_error", "_make", "_sources", "_value")

    def __init__(self, sources: Sequence[Promise[object]], make: Callable[[], _T_co]) -> None:
        self._sources = sources
        self._at = 0  # the sources before this one have their values
        self._awaited: Promise[object] | None = None  # what it waited for when last asked
        self._make: Callable[[], _T_co] | None = make  # None: it is done
        self._value: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Whether the outcome is known."""
        return self._open() is None

    @property
    def failed(self) -> bool:
        """Whether a source has failed, or making the value."""
        return self.done() and self._error is not None

    def result(self) -> _T_co:
        """The value; else the error of the first source that has one, or of making it."""
        if self._open() is not None:
            raise asyncio.InvalidStateError("the value is not there yet")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]

    async def wait(self, strand: Strand) -> _T_co:
        """Wait for the sources, one after the other."""
        while (awaited := self._open()) is not None:
            await awaited.wait(strand)
        return self.result()

    def cancel(self) -> None:
        """Nothing: the sources are others' to end."""

    async def ended(self) -> None:
        """At once: nothing of its own runs."""

    def _open(self) -> Promise[object] | None:
        """The first promise, itself not derived, that the outcome waits for; None where it is known."""
        path: list[Derived[Any]] = [self]
        while path:
            inner = path[-1]._advance()
            if inner is None:
                path.pop()
            elif isinstance(inner, Derived):
                path.append(inner)
            else:
                for waiting in path:
                    waiting._awaited = inner
                return inner
        return None

    def _advance(self) -> Promise[object] | None:
        """Go on along the sources; one that is not known to be done. None: all are, and so is this."""
        if self._make is None:
            return None
        if self._awaited is not None and not self._awaited.done():
            return self._awaited
        self._awaited = None
        try:
            while self._at < len(self._sources):
                source = self._sources[self._at]
                if source._make is not None if isinstance(source, Derived) else not source.done():
                    return source
                source.result()
                self._at += 1
            self._value = self._make()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it is raised wherever the value is used
            self._error = error
        self._make, self._sources = None, ()
        return None


class Undertakings:
    """What one frame has begun, in the order of the program.

    Errors count as if everything had been done one after the other: `settle` raises the earliest. What has ended well
    is forgotten, so that a frame that begins much keeps little; marks stay valid. Every step is O(1) amortised.
    """

    __slots__ = ("_begun", "_forgotten")

    def __init__(self) -> None:
        self._begun: deque[Begun[object]] = deque()
        self._forgotten = 0

    def add(self, begun: Begun[object]) -> None:
        """Something begins."""
        while self._begun and self._begun[0].done() and not self._begun[0].failed:
            self._begun.popleft()
            self._forgotten += 1
        self._begun.append(begun)

    @property
    def mark(self) -> int:
        """How much has been begun so far."""
        return self._forgotten + len(self._begun)

    async def settle(self, strand: Strand, since: int = 0, before: int | None = None) -> None:
        """Wait for what was begun from one mark on and before another; the first error, in this order, is raised."""
        for begun in self._between(since, before):
            await begun.wait(strand)

    async def close(self, since: int = 0) -> None:
        """Cancel what still runs and wait until it has ended. Errors of what nobody asked for are dropped."""
        ending = self._between(since, None)
        for _ in ending:
            self._begun.pop()
        for begun in ending:
            begun.cancel()
        for begun in ending:
            await begun.ended()

    def hand_over(self, heir: Undertakings) -> None:
        """Everything belongs to another frame from now on."""
        for begun in self._begun:
            heir.add(begun)
        self._forgotten += len(self._begun)
        self._begun.clear()

    def _between(self, since: int, before: int | None) -> list[Begun[object]]:
        first = max(0, since - self._forgotten)
        stop = None if before is None else max(0, before - self._forgotten)
        return list(islice(self._begun, first, stop))
