"""Carries the core's events to the event loops that asked for them.

The one object, beside the inbox, that the engine thread and the callers' threads share.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from radixkv.engine.messages import Answer, Closed, Event

Mailbox = asyncio.Queue[Event]


class LoopClient:
    """One event loop's mailboxes, one per running request; used from that loop's thread only."""

    def __init__(self, client_id: int, loop: asyncio.AbstractEventLoop) -> None:
        self.client_id = client_id
        self.loop = loop
        self._mailboxes: dict[str, Mailbox] = {}

    def open_mailbox(self, request_id: str) -> Mailbox:
        """Events of the request go here from now on. Unbounded, so that a slow reader never holds the core up."""
        mailbox: Mailbox = asyncio.Queue()
        self._mailboxes[request_id] = mailbox
        return mailbox

    def close_mailbox(self, request_id: str) -> None:
        """Later events of the request are dropped."""
        self._mailboxes.pop(request_id, None)

    def dispatch(self, events: Sequence[Event]) -> None:
        """Sort one step's events to their mailboxes."""
        for event in events:
            mailbox = self._mailboxes.get(event.request_id)
            if mailbox is not None:
                mailbox.put_nowait(event)


class Switchboard:
    """Registry of event loops and of open questions; the core's Outlet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[int, LoopClient] = {}
        self._questions: dict[int, Future[object]] = {}
        self._ids = itertools.count(1)
        self.closed: Closed | None = None

    def client(self, loop: asyncio.AbstractEventLoop) -> LoopClient:
        """The client of an event loop, registered on first use; loops that were closed are forgotten."""
        with self._lock:
            for client in self._clients.values():
                if client.loop is loop:
                    return client
            self._clients = {key: client for key, client in self._clients.items() if not client.loop.is_closed()}
            client = LoopClient(next(self._ids), loop)
            self._clients[client.client_id] = client
            return client

    def open_question(self) -> tuple[int, Future[object]]:
        """An id for an Ask, and where its answer will be. Raises EngineClosed."""
        with self._lock:
            if self.closed is not None:
                raise self.closed.error()
            ask_id, future = next(self._ids), Future[object]()
            self._questions[ask_id] = future
            return ask_id, future

    def deliver(self, client: int, events: Sequence[Event]) -> bool:
        """Wake the event loop once for all of a step's events."""
        receiver = self._clients.get(client)
        if receiver is None:
            return False
        try:
            receiver.loop.call_soon_threadsafe(receiver.dispatch, tuple(events))
        except RuntimeError:  # the loop was closed
            return False
        return True

    def answer(self, answer: Answer) -> None:
        """Complete the question's future."""
        with self._lock:
            future = self._questions.pop(answer.ask_id, None)
        if future is not None:
            _complete(future, answer)

    def close(self, closed: Closed) -> None:
        """No answer will come any more."""
        with self._lock:
            self.closed = closed
            questions, self._questions = self._questions, {}
        for ask_id, future in questions.items():
            _complete(future, Answer(ask_id, error=closed.error()))


def _complete(future: Future[object], answer: Answer) -> None:
    """Nothing happens to a future that its owner cancelled meanwhile."""
    if not future.set_running_or_notify_cancel():
        return
    if answer.error is not None:
        future.set_exception(answer.error)
    else:
        future.set_result(answer.value)
