"""The callers' side of the engine thread: submit a request and read its events, ask, stop.

Everything in the async API goes through here. Closing the iterator of a running request aborts it.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import weakref
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future

from radixkv.engine.core import Inbox
from radixkv.engine.home_process import HomeProcess
from radixkv.engine.messages import (
    Abort,
    Ask,
    Closed,
    Failed,
    Progress,
    Question,
    ReleaseHold,
    Stop,
    Submit,
)
from radixkv.engine.switchboard import Switchboard
from radixkv.request import Request


class Gateway:
    """Sends messages to the core's inbox and hands out what comes back. Safe to use from several event loops."""

    def __init__(self, inbox: Inbox, switchboard: Switchboard, run_core: Callable[[], None]) -> None:
        self._inbox = inbox
        self._switchboard = switchboard
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._stopping: Stop | None = None
        self.home = HomeProcess()
        self._thread = threading.Thread(target=run_core, name="radixkv-engine", daemon=True)
        self._thread.start()
        # At interpreter exit the thread must be out of torch before torch is torn down.
        self._finalizer = weakref.finalize(self, _stop_thread, inbox, self._thread)

    def new_id(self, prefix: str) -> str:
        """A name that is unique in this engine. Raises EngineClosed in a forked process."""
        self.home.check()
        return f"{prefix}-{next(self._ids)}"

    async def events(self, request: Request) -> AsyncGenerator[Progress, None]:
        """Run a request; ends after the finish of its last choice.

        Raises what the core answered: InvalidRequest, RequestFailed, EngineClosed (also when closed under way).
        """
        self.home.check()
        client = self._switchboard.client(asyncio.get_running_loop())
        mailbox = client.open_mailbox(request.request_id)
        unfinished = request.sampling.n
        try:
            self._send(Submit(client.client_id, request))
            while unfinished:
                event = await mailbox.get()
                if isinstance(event, Failed):
                    unfinished = 0
                    raise event.error
                unfinished -= event.finish is not None
                yield event
        finally:
            client.close_mailbox(request.request_id)
            if unfinished:
                self._inbox.put(Abort(request.request_id))

    def abort(self, request_id: str) -> None:
        """End a request from outside; its reader sees the finish reason `abort`."""
        self._inbox.put(Abort(request_id))

    def release_hold(self, name: str) -> None:
        """Let the blocks held under that name go."""
        self._inbox.put(ReleaseHold(name))

    def ask(self, question: Question) -> Future[object]:
        """Ask the core. Raises EngineClosed."""
        self.home.check()
        ask_id, future = self._switchboard.open_question()
        self._inbox.put(Ask(ask_id, question))
        return future

    def close(self, *, drain: bool) -> None:
        """Stop the core and wait for its thread; harmless when done before, and in a forked process.

        A second call without `drain` ends a draining that takes too long.
        """
        if not self.home.is_here:
            return
        with self._lock:
            if self._stopping is None or (self._stopping.drain and not drain):
                self._stopping = Stop(drain)
                self._inbox.put(self._stopping)
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._finalizer.detach()

    def _send(self, message: Submit) -> None:
        with self._lock:
            if self._stopping is not None:
                raise Closed().error()
            self._inbox.put(message)
        if self._switchboard.closed is not None:  # the core closes the switchboard, then empties its inbox
            raise self._switchboard.closed.error()


def _stop_thread(inbox: Inbox, thread: threading.Thread) -> None:
    inbox.put(Stop(drain=False))
    if thread is not threading.current_thread():
        thread.join(timeout=10)
