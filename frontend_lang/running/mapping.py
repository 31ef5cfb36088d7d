"""map: one piece of work per row of a dataset, pulled lazily, a bounded number at a time, values in the order of rows.

Workers, at most `width`, pull a row each, do the work, and pull the next: there is a task per worker, not per row, at
most `width` rows are live, and of a row that is done nothing is left but its value.

What comes out is as if the rows had been worked on one after the other. With `on_error="fail"` a failing row cancels
the rows after it, while those before it go on, since one of them may fail too and then counts. An error of the dataset
itself (a row that cannot be read) ends the map whatever `on_error` says. Cost: O(1) per row, O(width) where one fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from operator import length_hint
from typing import Any

from frontend_lang.errors import RUN_WIDE, ProgramError
from frontend_lang.running.options import time_limit
from frontend_lang.running.run import Run, as_program_error, is_being_cancelled
from frontend_lang.running.strands import Strand
from frontend_lang.values import Value


@dataclass(frozen=True, slots=True)
class MapSettings:
    """Rows at once, seconds for all of them (None = any), and what becomes of a row that fails.

    `on_error`: "fail" ends the map, "none" makes its value none, "drop" leaves it out.
    """

    width: int
    timeout_s: float | None = None
    on_error: str = "fail"


RowWork = Callable[[int, Value, Strand], Awaitable[Value]]
RowDone = Callable[[int, Value], None]


@dataclass(frozen=True, slots=True)
class _Row:
    """A row on its way through."""

    index: int
    value: Value


@dataclass(frozen=True, slots=True)
class _Failed:
    """Stands for the value of a row that failed."""

    error: ProgramError


ROWS_AT_ONCE = 64
_LIVE = _Failed(ProgramError("E0801", "the row has not ended"))


class RunningMap:
    """One execution of a map.

    `work` is given index, row and the strand it runs on; `done` is told index and value as soon as a row is done.
    """

    def __init__(
        self, run: Run, rows: Iterable[Value], work: RowWork, settings: MapSettings, done: RowDone | None = None
    ) -> None:
        self._run = run
        self._workers = min(settings.width, run.limits.live_branches, length_hint(rows, settings.width))
        self._rows = iter(rows)
        self._work = work
        self._settings = settings
        self._done = done
        self._results: list[Value | _Failed] = []
        self._running: dict[int, asyncio.Task[Any] | None] = {}
        self._fatal: dict[int, ProgramError] = {}
        self._ended = False  # no further row is pulled

    @property
    def live(self) -> int:
        """Rows that are being worked on."""
        return len(self._running)

    async def values(self, strand: Strand) -> list[Value]:
        """Work on all rows; their values. `strand`, whose slot is free meanwhile, is the one that waits.

        Raises what ends the map: of several errors that of the lowest row. Then no row is being worked on any more.
        """
        async with strand.waiting():
            try:
                async with time_limit(self._settings.timeout_s, "the map"):
                    await self._finish()
            except ProgramError as late:
                await self._give_up(late)
        if self._fatal:
            raise self._fatal[min(self._fatal)]
        return self._worth()

    async def _finish(self) -> None:
        workers = [self._run.spawn(self._pull_and_work()) for _ in range(self._workers)]
        if not workers:
            return
        try:
            await asyncio.wait(workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)

    async def _pull_and_work(self) -> None:
        while not self._ended:
            async with self._run.strand().working() as strand:
                row = self._pull()
                if row is not None:
                    await self._one(row, strand)

    def _pull(self) -> _Row | None:
        """The next row, which is live from now on; None if there is none to be worked on."""
        index = len(self._results)
        if self._ended:
            return None
        try:
            value = next(self._rows)
            self._run.counters.row()
        except StopIteration:
            self._ended = True
            return None
        except Exception as error:  # noqa: BLE001 - reading a dataset runs the host's code
            self._end(index, as_program_error(error))
            return None
        self._results.append(_LIVE)
        self._running[index] = asyncio.current_task()
        return _Row(index, value)

    async def _one(self, row: _Row, strand: Strand) -> None:
        try:
            value = await self._work(row.index, row.value, strand)
            self._results[row.index] = value
            if self._done is not None:
                self._done(row.index, value)
        except ProgramError as error:
            self._fail(row.index, error)
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            self._fail(row.index, ProgramError("E0601", "a row was cancelled by what it asked for"))
        except Exception as error:  # noqa: BLE001 - a listener may raise anything; it must not leave the map waiting
            self._end(row.index, as_program_error(error))
        finally:
            del self._running[row.index]

    def _fail(self, index: int, error: ProgramError) -> None:
        self._results[index] = _Failed(error)
        if self._settings.on_error == "fail" or error.code in RUN_WIDE:
            self._end(index, error)

    def _end(self, index: int, error: ProgramError) -> None:
        """An error ends the map: no row is begun any more, and the rows after it are cancelled.

        Those before it go on, unless it is the whole run that has to end.
        """
        self._fatal[index] = error
        self._ended = True
        for other, worker in self._running.items():
            if worker is not None and (other > index or (other < index and error.code in RUN_WIDE)):
                worker.cancel()

    async def _give_up(self, late: ProgramError) -> None:
        """Time is over: rows that have not ended have failed, and so have those that were never pulled."""
        self._ended = True
        failure = _Failed(late)
        unfinished = [index for index, result in enumerate(self._results) if result is _LIVE]
        if self._settings.on_error == "fail":
            self._fatal[min(unfinished, default=len(self._results))] = late
            return
        for index in unfinished:
            self._results[index] = failure
        if self._settings.on_error == "none":
            await self._skip_the_rest(failure)

    async def _skip_the_rest(self, failure: _Failed) -> None:
        """Rows that were never pulled are counted only; one that cannot be read is the last. Others work meanwhile."""
        try:
            for _ in self._rows:
                self._run.counters.row()
                self._results.append(failure)
                if len(self._results) % ROWS_AT_ONCE == 0:
                    await asyncio.sleep(0)
        except ProgramError as error:
            if error.code in RUN_WIDE:
                raise
        except Exception:  # noqa: BLE001 - reading a dataset runs the host's code; nobody works on its rows any more
            return

    def _worth(self) -> list[Value]:
        """The value of every row in order; a failed one is none or left out."""
        if self._settings.on_error == "none":
            return [None if isinstance(result, _Failed) else result for result in self._results]
        return [result for result in self._results if not isinstance(result, _Failed)]
