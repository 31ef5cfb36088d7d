"""Which strands of a run may work at once.

A strand is a line of execution: the program, a branch, or a call that overlaps with its caller. At most
`live_branches` of them work at a time. A strand that waits for other strands gives its slot back while it waits, so
strands that hold a slot never wait for one another and nesting cannot deadlock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Strand:
    """A line of execution and whether it holds a slot. The program's own strand works without one."""

    def __init__(self, slots: asyncio.Semaphore) -> None:
        self._slots = slots
        self._held = False

    @asynccontextmanager
    async def working(self) -> AsyncIterator[Strand]:
        """Wait for a slot, hold it during the block."""
        await self._take()
        try:
            yield self
        finally:
            self._give()

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Give the slot to others during the block, then take one again."""
        held = self._held
        self._give()
        yield
        if held:
            await self._take()

    async def _take(self) -> None:
        await self._slots.acquire()
        self._held = True

    def _give(self) -> None:
        if self._held:
            self._held = False
            self._slots.release()
