"""The engine's loop: it owns scheduler, cache and runner, and runs in one thread.

One turn: take the messages that came in, plan a step, run it, sort its tokens to their requests, deliver. With
nothing to do it sleeps on the inbox. Its state grows with live requests only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Protocol, TypeAlias

from radixkv.cache import CacheStats
from radixkv.engine.choice_text import ChoiceTexts
from radixkv.engine.messages import (
    Abort,
    Answer,
    Ask,
    Closed,
    Event,
    Failed,
    Finish,
    Message,
    Progress,
    Question,
    ReleaseHold,
    Stop,
    Submit,
)
from radixkv.engine.startup import EngineParts
from radixkv.errors import ConstraintError, RadixKVError, RequestFailed
from radixkv.request import FinishReason, Usage
from radixkv.scheduler import SchedulerStats, SequenceUpdate
from radixkv.step_plan import StepPlan, StepResult

Inbox: TypeAlias = "SimpleQueue[Message]"


class PlanRunner(Protocol):
    """What runs a step plan; `radixkv.runner.Runner` does."""

    def run(self, plan: StepPlan) -> StepResult:
        """Compute one step."""
        ...


class Outlet(Protocol):
    """Where the core's events and answers go; called from the engine thread, must not block."""

    def deliver(self, client: int, events: Sequence[Event]) -> bool:
        """Hand one step's events to an event loop; False when that loop is gone."""
        ...

    def answer(self, answer: Answer) -> None:
        """Hand over the reply to an Ask."""
        ...

    def close(self, closed: Closed) -> None:
        """The thread ends: nothing more will come."""
        ...


@dataclass(frozen=True)
class EngineStats:
    """Counters of the engine, its scheduler and its cache at one moment."""

    live_requests: int
    steps: int
    failed_steps: int
    scheduler: SchedulerStats
    cache: CacheStats


@dataclass
class _Live:
    """A request that has not ended: where its events go and the text of its choices."""

    client: int
    unfinished: int
    texts: ChoiceTexts


class EngineCore:
    """Runs requests until told to stop. Everything but the inbox belongs to the thread that calls `run`."""

    def __init__(self, parts: EngineParts, outlet: Outlet) -> None:
        self.inbox: Inbox = SimpleQueue()
        self._scheduler = parts.scheduler
        self._cache = parts.cache
        self._runner: PlanRunner = parts.runner
        self._tokenizer = parts.tokenizer
        self._constraints = parts.constraints
        self._outlet = outlet
        self._live: dict[str, _Live] = {}
        self._outbox: defaultdict[int, list[Event]] = defaultdict(list)
        self._stop: Stop | None = None
        self._steps = 0
        self._failed_steps = 0
        self._handlers: dict[type, Callable[..., None]] = {
            Submit: self._on_submit,
            Abort: self._on_abort,
            ReleaseHold: self._on_release_hold,
            Ask: self._on_ask,
            Stop: self._on_stop,
        }

    def run(self) -> None:
        """Serve until stopped. An error that is not one step's own ends the engine and every live request."""
        closed = Closed()
        try:
            while not self._finished():
                self._turn()
        except Exception as error:
            closed = Closed(f"the engine ended by an internal error: {type(error).__name__}: {error}", error)
            raise
        finally:
            self._end(closed)

    def _finished(self) -> bool:
        return self._stop is not None and not (self._stop.drain and self._scheduler.has_work)

    def _turn(self) -> None:
        self._take_messages()
        if self._scheduler.has_work:
            plan = self._scheduler.schedule()
            if plan is None:
                raise RuntimeError(f"requests wait and none can run: {self._scheduler.stats()}")
            self._run_step(plan)
        self._deliver()

    def _take_messages(self) -> None:
        """All messages that are there; with no work, wait for one."""
        if not self._scheduler.has_work:
            self._handle(self.inbox.get())
        try:
            while True:
                self._handle(self.inbox.get_nowait())
        except Empty:
            pass

    def _handle(self, message: Message) -> None:
        self._handlers[type(message)](message)

    def _on_submit(self, message: Submit) -> None:
        request = message.request
        if self._stop is not None:
            self._refuse(message, Closed("the engine is closing"))
            return
        try:
            self._constraints.open(request)
            self._scheduler.add(request)
        except RadixKVError as error:
            self._constraints.close(request.request_id)
            self._outbox[message.client].append(Failed(request.request_id, error))
            return
        except Exception as error:  # noqa: BLE001 - a request that breaks the scheduler's door ends by itself
            self._outbox[message.client].append(Failed(request.request_id, _failure(request.request_id, error)))
            self._scheduler.abort(request.request_id)  # what `add` had done by then
            self._constraints.close(request.request_id)
            return
        self._live[request.request_id] = _Live(
            message.client, request.sampling.n, ChoiceTexts(self._tokenizer, request)
        )

    def _on_abort(self, message: Abort) -> None:
        for update in self._scheduler.abort(message.request_id):
            self._process(update)
        self._forget(message.request_id)

    def _on_release_hold(self, message: ReleaseHold) -> None:
        self._scheduler.release_hold(message.name)

    def _on_stop(self, message: Stop) -> None:
        self._stop = message
        if not message.drain:
            for request_id in self._live:  # they stay live until the end, which tells them EngineClosed
                self._scheduler.abort(request_id)

    def _on_ask(self, message: Ask) -> None:
        try:
            self._outlet.answer(Answer(message.ask_id, self._reply(message.question)))
        except Exception as error:  # noqa: BLE001 - whatever it is belongs to the one who asked
            self._outlet.answer(Answer(message.ask_id, error=error))

    def _reply(self, question: Question) -> object:
        match question:
            case Question.STATS:
                return self._stats()
            case Question.CLEAR_CACHE:
                return self._scheduler.clear_cache()
            case Question.CHECK_INTEGRITY:
                self._scheduler.check_integrity()
                self._cache.check_integrity()
                return None

    def _stats(self) -> EngineStats:
        return EngineStats(
            len(self._live), self._steps, self._failed_steps, self._scheduler.stats(), self._cache.stats()
        )

    def _run_step(self, plan: StepPlan) -> None:
        self._steps += 1
        try:
            result = self._runner.run(plan)
        except Exception as error:  # noqa: BLE001 - a forward may fail in any way; its requests get the cause
            self._failed_steps += 1
            for request_id in {update.request_id for update in self._scheduler.fail_step(plan)}:
                self._fail(request_id, error)
            return
        for update in self._scheduler.finish_step(plan, result):
            self._process_guarded(update)

    def _process_guarded(self, update: SequenceUpdate) -> None:
        try:
            self._process(update)
        except Exception as error:  # noqa: BLE001 - text processing of one request never ends the others
            self._fail(update.request_id, error)

    def _fail(self, request_id: str, cause: Exception) -> None:
        self._scheduler.abort(request_id)
        live = self._forget(request_id)
        if live is None:
            return
        error = cause if isinstance(cause, ConstraintError) else _failure(request_id, cause)
        self._outbox[live.client].append(Failed(request_id, error))

    def _forget(self, request_id: str) -> _Live | None:
        """The request has ended; what it was, if it was live."""
        self._constraints.close(request_id)
        return self._live.pop(request_id, None)

    def _process(self, update: SequenceUpdate) -> None:
        """Turn a sequence's new ids into text and events."""
        live = self._live.get(update.request_id)
        if live is None:
            return
        text = live.texts.of(update.choice)
        if update.finish_reason is FinishReason.ERROR:
            cause = update.error or "no cause given"
            self._fail(update.request_id, cause if isinstance(cause, RadixKVError) else RuntimeError(cause))
            return
        new = text.push(update.token_ids)
        if new.cut is not None:
            cut = new.cut
            ended = self._scheduler.stop(update.request_id, update.choice, cut.kept_tokens, cut.stop) or update
            usage = replace(ended.usage or Usage(), completion_tokens=text.num_tokens)
            finish = Finish(FinishReason.STOP, usage, cut.kept_tokens, cut.remainder, cut.stop)
            self._emit(live, update, new.text, new.used_ids, finish)
        elif update.finish_reason is not None:
            usage = update.usage or Usage()
            finish = Finish(update.finish_reason, usage, text.num_tokens, text.unsaid, update.stopped_by)
            self._emit(live, update, new.text + text.finish(), new.used_ids, finish)
        else:
            self._emit(live, update, new.text, new.used_ids, None)

    def _emit(self, live: _Live, update: SequenceUpdate, text: str, used_ids: int, finish: Finish | None) -> None:
        event = Progress(
            update.request_id,
            update.choice,
            text,
            update.token_ids[:used_ids],
            update.logprobs[:used_ids],
            update.targets,
            finish,
        )
        self._outbox[live.client].append(event)
        if finish is not None:
            live.texts.forget(update.choice)
            self._constraints.forget(update.request_id, update.choice)
            live.unfinished -= 1
            if not live.unfinished:
                self._forget(update.request_id)

    def _deliver(self) -> None:
        """One hand-over per event loop; the requests of a loop that is gone are aborted."""
        gone = [client for client, events in self._outbox.items() if not self._outlet.deliver(client, events)]
        self._outbox.clear()
        for request_id in [name for name, live in self._live.items() if live.client in gone] if gone else ():
            self._on_abort(Abort(request_id))

    def _end(self, closed: Closed) -> None:
        """Fail what is still live, or came in late, and say that nothing more will come."""
        for request_id, live in self._live.items():
            self._outbox[live.client].append(Failed(request_id, closed.error()))
        self._live.clear()
        try:
            self._outlet.close(closed)  # before the inbox is emptied: who sends later sees it, earlier ones are refused
        finally:
            self._refuse_all(closed)
            for client, events in self._outbox.items():
                self._outlet.deliver(client, events)

    def _refuse_all(self, closed: Closed) -> None:
        try:
            while True:
                self._refuse(self.inbox.get_nowait(), closed)
        except Empty:
            pass

    def _refuse(self, message: Message, closed: Closed) -> None:
        if isinstance(message, Submit):
            self._outbox[message.client].append(Failed(message.request.request_id, closed.error()))
        elif isinstance(message, Ask):
            self._outlet.answer(Answer(message.ask_id, error=closed.error()))


def _failure(request_id: str, cause: Exception) -> RequestFailed:
    error = RequestFailed(f"request {request_id} failed in the engine: {type(cause).__name__}: {cause}")
    error.__cause__ = cause
    return error
