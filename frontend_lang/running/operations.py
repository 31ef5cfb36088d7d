"""Operations: what is done to a context, one after the other.

`gen`, `select` and `fork` are queued on their context and evaluation goes on. An operation runs when the one before it
on its context has ended and its inputs are known: values that other strands make and that stand in the text before it.

Deadlock cannot happen. An operation depends only on what was begun before it in the program. A strand that waits for
an operation goes through the queue from its oldest unfinished operation on; where that one still waits for other
strands, this strand's slot is free meanwhile. Apart from that an operation waits for the runtime alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Generic, TypeVar

from frontend_lang.errors import ProgramError
from frontend_lang.running.contexts import Appended, Context, LateText, Pending, settled_parts
from frontend_lang.running.promises import Begun, Promise, Undertakings
from frontend_lang.running.run import Run, is_being_cancelled
from frontend_lang.running.strands import Strand
from frontend_lang.runtime import ContextId
from frontend_lang.seeds import Place

_T = TypeVar("_T")


class _State(Enum):
    QUEUED = "queued"
    RUNNING = "running"
    GONE_WELL = "gone well"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Where:
    """Where something is done: on which context, by which strand; its place for seeds, its branch path, its frame."""

    context: Context
    strand: Strand
    place: Place
    path: str
    begun: Undertakings


@dataclass(frozen=True, slots=True)
class Step(Generic[_T]):
    """What an operation does. `inputs` are waited for before `work` is called.

    `waits_for_strands`: the work itself waits for strands that it begins, as a fork with `keep` does.
    """

    work: Callable[[], Awaitable[_T]]
    inputs: Sequence[Promise[Any]] = ()
    waits_for_strands: bool = False


class Operation(Begun[_T]):
    """One step of a context's queue; `before` is the step that must end first. If that one fails, so does this."""

    __slots__ = ("_before", "_error", "_event", "_run", "_state", "_step", "_strand", "_task", "_value")

    def __init__(self, run: Run, strand: Strand, before: Operation[Any] | None, step: Step[_T]) -> None:
        self._run = run
        self._strand = strand
        self._before = before
        self._step: Step[_T] | None = step
        self._state = _State.QUEUED
        self._value: Any = None
        self._error: Exception | None = None
        self._task: asyncio.Task[None] | None = None
        self._event: asyncio.Event | None = None
        strand.queue(self)

    def done(self) -> bool:
        """Whether it has ended."""
        return self._state not in (_State.QUEUED, _State.RUNNING)

    @property
    def failed(self) -> bool:
        """Whether it has ended without a value."""
        return self._state in (_State.FAILED, _State.CANCELLED)

    def result(self) -> _T:
        """What the work returned."""
        if self._state is _State.GONE_WELL:
            return self._value  # type: ignore[no-any-return]
        if self._error is not None:
            raise self._error
        raise asyncio.CancelledError

    def start(self) -> None:
        """Run in a task of its own, and so does whatever is queued before it."""
        chain: list[Operation[Any]] = []
        operation: Operation[Any] | None = self
        while operation is not None and operation._state is _State.QUEUED:
            chain.append(operation)
            operation = operation._before
        for operation in reversed(chain):
            operation._state = _State.RUNNING
            operation._task = self._run.spawn(operation._execute(self._run.strand(operation._strand)))

    async def wait(self, strand: Strand) -> _T:
        """Wait in the turn of the queue. What is queued only and belongs to `strand` runs within this call."""
        if not self.done():
            if strand is self._strand:
                await self._wait_in_turn(strand)
            else:
                async with strand.waiting():
                    self.start()
                    await self._end()
        return self.result()

    def cancel(self) -> None:
        """Cancel it; what was never started never will be."""
        if self._task is not None:
            self._task.cancel()
        self._finish(_State.CANCELLED)

    async def ended(self) -> None:
        """Wait for the end of its task, if it has one."""
        if self._task is not None and not self._task.done():
            await asyncio.wait((self._task,))

    async def _wait_in_turn(self, strand: Strand) -> None:
        """Wait within the strand that has queued this: what is not started yet runs right here, without a task."""
        chain = self._unfinished()
        here = {operation for operation in chain if operation._state is _State.QUEUED}
        for operation in here:
            operation._state = _State.RUNNING
        strand.start_all()
        for operation in chain:
            if operation in here:
                await operation._execute(strand)
            elif operation._needs_strands():
                async with strand.waiting():
                    await operation._end()
            else:
                await operation._end()

    def _unfinished(self) -> list[Operation[Any]]:
        """All up to this one that have not ended, the oldest first."""
        chain: list[Operation[Any]] = []
        operation: Operation[Any] | None = self
        while operation is not None and not operation.done():
            chain.append(operation)
            operation = operation._before
        chain.reverse()
        return chain

    def _needs_strands(self) -> bool:
        step = self._step
        return step is not None and (step.waits_for_strands or any(not given.done() for given in step.inputs))

    async def _execute(self, strand: Strand) -> None:
        """Do the work; `strand` is the one that waits for the inputs."""
        try:
            value = await self._outcome(strand)
        except asyncio.CancelledError:
            self._finish(_State.CANCELLED)
            raise
        except Exception as error:  # noqa: BLE001 - it is raised wherever the result is used
            self._error = error
            self._finish(_State.FAILED)
        else:
            self._value = value
            self._finish(_State.GONE_WELL)

    async def _outcome(self, strand: Strand) -> _T:
        before, step = self._before, self._step
        if step is None:
            raise asyncio.CancelledError
        if before is not None:
            await before._end()
            before.result()
        for given in step.inputs:
            await given.wait(strand)
        try:
            if step.waits_for_strands:
                async with strand.waiting():
                    return await step.work()
            return await step.work()
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            raise ProgramError("E0601", "the runtime has cancelled what it was asked for") from None

    async def _end(self) -> None:
        if self.done():
            return
        if self._event is None:
            self._event = asyncio.Event()
        await self._event.wait()

    def _finish(self, state: _State) -> None:
        if self.done():
            return
        self._state = state
        self._before, self._step = None, None
        if self._event is not None:
            self._event.set()


Flush = Callable[[], Awaitable[ContextId]]


def queue(
    run: Run,
    where: Where,
    work: Callable[[Flush], Awaitable[_T]],
    inputs: Sequence[Promise[Any]] = (),
    *,
    waits_for_strands: bool = False,
) -> Operation[_T]:
    """Queue work on a context, behind all that was queued before and the text that was appended since.

    `work` is given a function that hands that text to the runtime and gives the context's id.
    """
    context = where.context
    pending, before = context.take(), context.last

    async def flush() -> ContextId:
        tell(run, context, pending)
        return await run.contexts.flush(context, settled_parts(pending))

    late = [part.promise for part in pending if isinstance(part, LateText)]
    step = Step(partial(work, flush), (*late, *inputs), waits_for_strands)
    gone = before is None or (before.done() and not before.failed)
    operation = Operation(run, where.strand, None if gone else before, step)
    context.last = operation
    where.begun.add(operation)
    return operation


def tell(run: Run, context: Context, pending: Sequence[Pending]) -> None:
    """Emit the events of text that had to wait, now that it is known."""
    for part in pending:
        if isinstance(part, Appended):
            what = {"role": part.role, "text": part.text()}
            run.events.emit("text", what, ctx=context.id or "", path=part.path)
