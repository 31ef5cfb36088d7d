"""fork: concurrent branches over one shared prefix, and their join, whoever says what a branch does.

Structured: when a fork ends, in whatever way, no branch of it runs and every child context has been adopted or
released. Workers, at most `width`, take branches in order; a branch begins when it gets one of the run's slots.
With `on_error="fail"` a failing branch cancels those after it; those before it go on, since one of them may fail too
and then counts: the error is the one that branches run one after the other would end with.

The fork verb is an operation of the parent's queue. Without `keep` what follows on the parent waits for the verb only;
with `keep` the whole fork is one operation, since its outcome is part of the parent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from frontend_lang.errors import RUN_WIDE, ProgramError
from frontend_lang.running.contexts import Context
from frontend_lang.running.joins import First, Gather, Outcome, Policy, policy_for, winner_of
from frontend_lang.running.operations import Flush, Operation, Where, queue
from frontend_lang.running.options import ForkSettings, time_limit
from frontend_lang.running.places import Placed, placing
from frontend_lang.running.promises import Begun, Derived, Spawned, Undertakings
from frontend_lang.running.run import Run, as_program_error, is_being_cancelled
from frontend_lang.running.strands import Strand
from frontend_lang.runtime import Role, Text
from frontend_lang.values import Value, checked_text, text_of, vote_key

Gathered = Callable[[list[tuple[int, Any]]], Awaitable[Any]]
BranchWork = Callable[[int, Where], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """What a fork does.

    `labels` name the branches in paths; `work` runs one of them on a context and strand of its own. `policy` is that of
    the join; where it has no winner, `gather` makes the value of (index, value) in the order of the branches. With
    `keep` the outcome becomes part of the parent, and `work` has to leave nothing unsettled on its context; `plain`
    makes values of the language of what `work` gives.
    """

    site: str
    labels: Sequence[str]
    work: BranchWork
    policy: str
    settings: ForkSettings
    gather: Gathered
    placed: Placed
    keep: bool = False
    plain: Callable[[Any], Value] = lambda value: value


async def fork(run: Run, where: Where, plan: ForkPlan) -> Any:
    """The value of a fork, waited for."""
    running = RunningFork(run, where, plan)
    if plan.keep:
        return await running.queue_whole().wait(where.strand)
    if plan.labels:
        await running.queue_verb().wait(where.strand)
    async with where.strand.waiting():
        return await running.finish()


def begin_fork(run: Run, where: Where, plan: ForkPlan) -> Begun[Any]:
    """Begin a fork and go on; the promise of its value."""
    running = RunningFork(run, where, plan)
    if plan.keep:
        return running.queue_whole()
    verb = running.queue_verb() if plan.labels else None
    promise = Spawned(run.spawn(running.finish_after(verb)))
    where.begun.add(promise)
    return promise


class RunningFork:
    """One execution of a fork: its children, its workers and how far the join is decided."""

    def __init__(self, run: Run, where: Where, plan: ForkPlan) -> None:
        self._run = run
        self._where = where
        self._plan = plan
        self._role: Role | None = where.context.role
        self._policy: Policy = policy_for(plan.policy, len(plan.labels))
        self._on_error = plan.settings.on_error or ("drop" if isinstance(self._policy, First) else "fail")
        self._children: list[Context] = []
        self._kept = ""
        self._waiting = iter(range(len(plan.labels)))
        self._in_order = plan.policy == "vote" and self._on_error == "fail"
        self._uncounted: dict[int, Outcome] = {}  # successes after a branch that has not ended
        self._running: dict[int, asyncio.Task[Any] | None] = {}
        self._failures: dict[int, ProgramError] = {}
        self._fatal: dict[int, ProgramError] = {}
        self._hopeless = False  # the whole run has to end
        self._over = asyncio.Event()

    def queue_verb(self) -> Operation[None]:
        """Queue the fork verb on the parent."""
        return queue(self._run, self._where, self._open)

    def queue_whole(self) -> Operation[Any]:
        """Queue the whole fork on the parent, whose text goes on with the outcome."""
        operation = queue(self._run, self._where, self._open_and_finish, waits_for_strands=True)
        self._where.context.written.append(Derived((operation,), lambda: self._kept))
        return operation

    async def finish_after(self, verb: Operation[None] | None) -> Any:
        """Run the branches and join them, once the fork verb has been done."""
        if verb is not None:
            await verb.wait(self._run.strand(self._where.strand))
        return await self.finish()

    async def finish(self) -> Any:
        """Run the branches and join them; the value."""
        with placing(self._plan.placed):
            try:
                await self._run_branches()
                return await self._join()
            finally:
                await self._run.contexts.release(self._children)

    async def _open_and_finish(self, flush: Flush) -> Any:
        await self._open(flush)
        return await self.finish()

    async def _open(self, flush: Flush) -> None:
        with placing(self._plan.placed):
            count, parent = len(self._plan.labels), await flush()
            if count == 0:
                return
            self._run.tokens_left()
            self._children, forked = await self._run.contexts.fork(parent, self._role, count)
            self._run.spend(forked.usage)
            if self._run.events.active:
                children = [str(child) for child in forked.children]
                self._tell("fork", n=count, shared_tokens=forked.shared_tokens, children=children)

    async def _run_branches(self) -> None:
        """Run branches until the join is decided, then end the others. Raises what ends the fork."""
        count = len(self._plan.labels)
        if count == 0:
            return
        workers = [self._run.spawn(self._work()) for _ in range(min(self._plan.settings.width, count))]
        try:
            await self._until_over()
        finally:
            await end_all(workers)
        if self._fatal and not self._decided_before_failing:
            raise self._fatal[min(self._fatal)]
        winner = self._policy.winner()
        losers = [child for index, child in enumerate(self._children) if winner is None or index != winner.index]
        await self._run.contexts.release(losers)

    async def _join(self) -> Any:
        plan, policy = self._plan, self._policy
        if isinstance(policy, Gather):
            winner, value = None, await plan.gather(policy.values(none_for_failed=self._on_error == "none"))
            if plan.keep:
                self._keep_text(kept_text(value, plan.plain))
        else:
            outcome = winner_of(policy, plan.policy, self._failure_hint())
            winner, value = outcome.index, outcome.value
            if plan.keep:
                await self._adopt(self._children[winner])
        if self._run.events.active:
            self._tell("join", policy=plan.policy, winner=winner, value=value)
        return value

    def _keep_text(self, text: str) -> None:
        self._kept = text
        if text:
            self._where.context.carried.append(Text(text, trusted=False))

    async def _adopt(self, child: Context) -> None:
        self._kept = await child.text(self._where.strand)
        await self._run.contexts.adopt(self._where.context, child)

    def _failure_hint(self) -> str | None:
        """The failure of lowest index in words."""
        if not self._failures:
            return None
        index = min(self._failures)
        return f"branch {index}: {self._failures[index].code}, {self._failures[index].message}"

    async def _until_over(self) -> None:
        try:
            async with time_limit(self._plan.settings.timeout_s, "the fork"):
                await self._over.wait()
        except ProgramError as late:
            for index in range(len(self._plan.labels)):
                if index not in self._policy.ended:
                    self._fail(index, ProgramError(late.code, late.message))

    async def _work(self) -> None:
        strand = self._run.strand(self._where.strand)
        for index in self._waiting:
            async with strand.working():
                if self._fatal:
                    return
                await self._one(index, strand)

    async def _one(self, index: int, strand: Strand) -> None:
        self._running[index] = asyncio.current_task()
        try:
            await self._told(index, self._inner(index, strand))
        except ProgramError as error:
            self._fail(index, error)
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            self._fail(index, ProgramError("E0601", "a branch was cancelled by what it asked for"))
        except Exception as error:  # noqa: BLE001 - a listener may raise anything; it must not leave the fork waiting
            self._fail(index, as_program_error(error), fatal=True)
        finally:
            del self._running[index]
            self._check_over()

    async def _told(self, index: int, inner: Where) -> None:
        """Run a branch; the event of its end comes in any case."""
        status: str = "cancelled"
        value: Any = None
        try:
            outcome = await self._plan.work(index, inner)
            status, value = "ok", outcome.value
            await self._succeed(outcome)
        except ProgramError as error:
            status = error.code
            await self._run.contexts.release([inner.context])
            raise
        finally:
            if self._run.events.active:
                what = {"site": self._plan.site, "index": index, "value": value, "status": status}
                self._run.events.emit("branch.end", what, ctx=inner.context.id or "", path=inner.path)

    def _inner(self, index: int, strand: Strand) -> Where:
        where, plan = self._where, self._plan
        place, path = where.place.branch(plan.site, index), f"{where.path}[{plan.labels[index]}]"
        return Where(self._children[index], strand, place, path, Undertakings())

    async def _succeed(self, outcome: Outcome) -> None:
        dropped = self._count_in_order(outcome) if self._in_order else [self._policy.succeed(outcome)]
        if not self._plan.keep:
            dropped = [outcome.index]
        await self._run.contexts.release([self._children[index] for index in dropped if index is not None])

    def _count_in_order(self, outcome: Outcome) -> list[int | None]:
        """Count the votes before the first branch that has not succeeded; the branches that drop out.

        Where a failure ends the fork, a vote that is decided by these alone is decided in every schedule.
        """
        vote_key(outcome.key)  # what cannot be counted fails here, in its own branch
        self._uncounted[outcome.index] = outcome
        dropped: list[int | None] = []
        while len(self._policy.ended) in self._uncounted and not self._policy.decided:
            dropped.append(self._policy.succeed(self._uncounted.pop(len(self._policy.ended))))
        return dropped

    @property
    def _decided_before_failing(self) -> bool:
        return self._in_order and self._policy.decided and not self._hopeless

    def _fail(self, index: int, error: ProgramError, fatal: bool = False) -> None:
        self._failures[index] = error
        if not self._in_order:
            self._policy.fail(index)
        if fatal or self._on_error == "fail" or error.code in RUN_WIDE:
            self._fatal[index] = error
            self._hopeless = self._hopeless or fatal or error.code in RUN_WIDE
            for other, worker in self._running.items():
                if other > index and worker is not None:
                    worker.cancel()

    def _check_over(self) -> None:
        """Over is a fork whose join is decided, or that has failed in a branch before which none runs any more."""
        if self._decided_before_failing:
            self._over.set()
        elif self._fatal:
            first = min(self._fatal)
            if self._hopeless or all(index > first for index in self._running):
                self._over.set()
        elif self._policy.decided:
            self._over.set()

    def _tell(self, event: str, **data: object) -> None:
        what = {"site": self._plan.site, **data}
        self._run.events.emit(event, what, ctx=self._where.context.id or "", path=self._where.path)


async def end_all(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until each has ended."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def kept_text(value: Any, plain: Callable[[Any], Value]) -> str:
    """What `keep` appends: the values of a list or record one after the other, anything else as it is."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return checked_text("".join([text_of(plain(item)) for item in value if item is not None]))
    return text_of(plain(value))
