"""Many runs of one prompt: ordered, a bounded number at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import length_hint
from typing import Any, Literal, TypeAlias, get_args

from frontend_lang.errors import ProgramError
from frontend_lang.running.run import is_being_cancelled
from frontend_lang.seeds import Place, draw_run_seed, request_seed

OnError: TypeAlias = Literal["keep", "none", "drop", "fail"]
RowRunner: TypeAlias = Callable[[Mapping[str, Any], int], Awaitable[Any]]


class _Dropped:
    """Stands where a row has failed and leaves nothing."""


@dataclass(frozen=True)
class BatchSettings:
    """How many rows run at once, at most: `width`, but no more than `live`. `on_error`: see `Runnable.batch`."""

    width: int
    on_error: OnError
    live: int

    def __post_init__(self) -> None:
        if type(self.width) is not int or self.width < 1:
            raise ProgramError("E0401", f"batch with width={self.width!r}", "a whole number, at least 1")
        if self.on_error not in get_args(OnError):
            known = ", ".join(f'"{name}"' for name in get_args(OnError))
            raise ProgramError("E0401", f"batch with on_error={self.on_error!r}", f"one of {known}")

    def workers(self, rows: object) -> int:
        """Tasks that share the rows."""
        return min(self.width, self.live, max(1, length_hint(rows, self.width)))


def checked_rows(rows: Any) -> Iterable[Any]:
    """The rows, if they are some. Raises TypeError."""
    if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable):
        hint = "[row async for row in rows]" if isinstance(rows, AsyncIterable) else 'f.batch([{"name": value}, …])'
        raise TypeError(f"batch of {rows!r:.60}, expected a list, or another iterable, of keyword arguments: {hint}")
    return rows


def checked_row(row: Any, index: int) -> Mapping[str, Any]:
    """The row, if it is keyword arguments. Raises TypeError."""
    if isinstance(row, Mapping) and all(isinstance(name, str) for name in row):
        return row
    raise TypeError(f'row {index} of the batch is {row!r:.60}, expected keyword arguments: {{"name": value}}')


async def batch_async(one: RowRunner, rows: Iterable[Mapping[str, Any]], settings: BatchSettings) -> list[Any]:
    """Run each row; values in order. O(workers) tasks; of a row that is done only the value is kept."""
    numbered = enumerate(rows)
    values: dict[int, Any] = {}
    count = settings.workers(rows)
    workers = [asyncio.ensure_future(_work(one, numbered, values, settings.on_error)) for _ in range(count)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return [values[index] for index in sorted(values) if not isinstance(values[index], _Dropped)]


async def _work(
    one: RowRunner, rows: Iterator[tuple[int, Mapping[str, Any]]], values: dict[int, Any], on_error: OnError
) -> None:
    for index, row in rows:
        try:
            values[index] = await one(row, index)
        except (Exception, asyncio.CancelledError) as error:
            if on_error == "fail" or (isinstance(error, asyncio.CancelledError) and is_being_cancelled()):
                raise
            values[index] = {"keep": error, "none": None, "drop": _Dropped()}[on_error]


def row_seeds(name: str, seed: int | None) -> Callable[[int], int]:
    """The run seed of each row, drawn from that of the batch."""
    whole = draw_run_seed() if seed is None else seed
    return lambda index: request_seed(whole, f"{name}.batch", Place().loop(index))
