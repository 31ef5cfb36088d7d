"""Which strands of a run may work at once.

A strand is a line of execution: the program, a branch, a row, or a call that overlaps with its caller. At most
`live_branches` of them work at a time. A strand that waits for other strands gives its slot back while it waits, so
strands that hold a slot never wait for one another and nesting cannot deadlock. Operations that a strand has queued on
a context go on while it waits; they hold no slot of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from frontend_lang.running.limits import Steps


class Startable(Protocol):
    """Work that has been queued and runs by itself once it is started; starting it again does nothing."""

    def start(self) -> None:
        """Let it run."""
        ...


class Strand:
    """A line of execution: whether it holds a slot, and which work it has queued that nothing has started yet.

    Queued work is started when its strand is about to wait for something else; work that the strand itself waits for
    next runs within the strand and costs no task. The program's own strand works without a slot. `steps` counts what it
    and its children do.
    """

    __slots__ = ("_held", "_queued", "_slots", "steps", "works")

    def __init__(self, slots: asyncio.Semaphore, steps: Steps) -> None:
        self.steps = steps
        self.works = False  # within a block of `working`
        self._slots = slots
        self._held = False
        self._queued: list[Startable] = []

    def queue(self, work: Startable) -> None:
        """Take note of work to be started."""
        self._queued.append(work)

    def start_all(self) -> None:
        """Start what is queued; to be called before anything that may take a while."""
        if self._queued:
            queued, self._queued = self._queued, []
            for work in queued:
                work.start()

    def working(self) -> _Working:
        """Wait for a slot, hold it during the block."""
        return _Working(self)

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Give the slot to others during the block, then take one again; not where the block has failed."""
        self.start_all()
        held = self._held
        self.give()
        yield
        if held:
            await self.take()

    async def resume(self) -> None:
        """Go on after an error that has been caught: take a slot again if a failed wait has given it away."""
        if self.works and not self._held:
            await self.take()

    async def take(self) -> None:
        """Wait for a slot."""
        await self._slots.acquire()
        self._held = True

    def give(self) -> None:
        """Give the slot to others, if there is one."""
        if self._held:
            self._held = False
            self._slots.release()


class _Working:
    """Holds a slot during a block; a class, since every row, branch and call goes through it."""

    __slots__ = ("_strand",)

    def __init__(self, strand: Strand) -> None:
        self._strand = strand

    async def __aenter__(self) -> Strand:
        await self._strand.take()
        self._strand.works = True
        return self._strand

    async def __aexit__(self, *failure: object) -> None:
        self._strand.works = False
        self._strand.give()
