"""What all strands of one run share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from frontend_lang.errors import ProgramError
from frontend_lang.events import EventLog
from frontend_lang.running.checks import Checks
from frontend_lang.running.contexts import ContextPool
from frontend_lang.running.limits import Counters, Limits, Steps
from frontend_lang.running.strands import Strand
from frontend_lang.runtime import CallUsage, Runtime, RuntimeFailure
from frontend_lang.sources import NoSource, TextSource
from frontend_lang.tools import ToolSet
from frontend_lang.values import Value

_T = TypeVar("_T")
USAGE_EVERY_S = 1.0
STEPS_AT_ONCE = 256
SECONDS_AT_ONCE = 0.02


class Run:
    """Runtime, contexts, limits, counters, events, seed, usage, data files and recorded checks of one run."""

    def __init__(
        self,
        runtime: Runtime,
        seed: int,
        limits: Limits,
        events: EventLog,
        data: TextSource | None = None,
        tools: ToolSet | None = None,
    ) -> None:
        self.runtime = runtime
        self.data = data or NoSource()
        self.tools = tools or ToolSet()
        self.checks = Checks()
        self.contexts = ContextPool(runtime)
        self.limits = limits
        self.counters = Counters(limits)
        self.events = events
        self.seed = seed
        self.usage = CallUsage()
        self._in_flight = 0  # tokens of gens that have not ended
        self.first_text_s: float | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._slots = asyncio.Semaphore(limits.live_branches)
        self._usage_due = time.perf_counter() + USAGE_EVERY_S
        self._breath_due = time.perf_counter() + SECONDS_AT_ONCE

    def strand(self, parent: Strand | None = None) -> Strand:
        """A new strand, without a slot. Its steps count as its parent's; without one, by themselves."""
        return Strand(self._slots, Steps(self.limits.steps) if parent is None else parent.steps)

    async def step(self, strand: Strand) -> None:
        """Count a statement, round or call; now and then let others work, so that a busy loop can be stopped too."""
        if strand.steps.step() % STEPS_AT_ONCE == 0 or time.perf_counter() >= self._breath_due:
            await self._breathe(strand)

    async def work(self, strand: Strand, steps: int) -> None:
        """Count what a builtin has done as so many steps. Raises E0804."""
        if steps:
            strand.steps.step(steps)
            await self._breathe(strand)

    async def _breathe(self, strand: Strand) -> None:
        strand.start_all()
        await asyncio.sleep(0)
        self._breath_due = time.perf_counter() + SECONDS_AT_ONCE

    def spawn(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        """Run work in a task of its own, which `close` waits for in any case."""
        task: asyncio.Task[_T] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """End every task that is left, then release every context that is left."""
        for task in self._tasks:
            task.cancel()
        while tasks := tuple(self._tasks):
            await asyncio.gather(*tasks, return_exceptions=True)
            self._tasks.difference_update(tasks)  # where all were done already, no callback had its turn to do it
        await self.contexts.close()

    def tokens_left(self) -> int | None:
        """New tokens that may still be spent; None = unbounded. Raises E0809 when there are none."""
        if self.limits.tokens is None:
            return None
        left = self.limits.tokens - self._spent() - self._in_flight
        if left <= 0:
            raise self.over_tokens()
        return left

    @contextmanager
    def sampling(self) -> Iterator[Callable[[int], None]]:
        """Count the tokens of a gen while they come, so that gens side by side cannot pass the budget together.

        The block calls what it is given with the number of new tokens; that raises E0809.
        """
        mine = 0

        def sampled(count: int) -> None:
            nonlocal mine
            mine += count
            self._in_flight += count
            if self.limits.tokens is not None and self._spent() + self._in_flight > self.limits.tokens:
                raise self.over_tokens()

        try:
            yield sampled
        finally:
            self._in_flight -= mine

    def _spent(self) -> int:
        return self.usage.computed_tokens + self.usage.completion_tokens

    def over_tokens(self) -> ProgramError:
        """The token budget is spent."""
        return ProgramError("E0809", f"the budget of {self.limits.tokens} tokens is spent", "raise the limit `tokens`")

    def spend(self, usage: CallUsage) -> None:
        """Add what one call of the runtime has used. Raises E0809 if that is more than may be spent.

        What of a prompt is cached, and so costs nothing, is known only when the runtime has been asked.
        """
        self.usage += usage
        if self.events.active and time.perf_counter() >= self._usage_due:
            self.emit_usage()
        if self.limits.tokens is not None and self._spent() > self.limits.tokens:
            raise self.over_tokens()

    def emit_usage(self) -> None:
        """Tell the listener what has been used so far."""
        self._usage_due = time.perf_counter() + USAGE_EVERY_S
        self.events.emit("usage", usage_record(self.usage))

    def text_arrived(self) -> None:
        """Note the time of the first generated text."""
        if self.first_text_s is None:
            self.first_text_s = self.events.elapsed_s()


def usage_record(usage: CallUsage) -> dict[str, Value]:
    """The usage object of `run --json` and `usage()`."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "computed_tokens": usage.computed_tokens,
        "restored_tokens": usage.restored_tokens,
        "completion_tokens": usage.completion_tokens,
        "forks": usage.forks,
    }


def is_being_cancelled() -> bool:
    """Whether somebody wants this task to end. If not, a CancelledError is a failure of who has raised it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def as_program_error(error: Exception) -> ProgramError:
    """Any failure as an error of the language: a runtime's own code, E0502 for the stack, E0701 for all others."""
    if isinstance(error, ProgramError):
        return error
    if isinstance(error, RuntimeFailure):
        return ProgramError(error.code, error.message)
    if isinstance(error, RecursionError):
        return ProgramError("E0502", "the program is nested too deeply to run")
    failure = ProgramError("E0701", f"unexpected {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure
