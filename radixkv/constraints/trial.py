"""The parent's side of the trial processes, in which grammars are tried first."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import IO, Final

import msgspec

from radixkv.constraints.native import TokenVocabulary
from radixkv.constraints.trial_process import CPU_SECONDS, TrialReport, VocabularyMessage, read_message, write_message
from radixkv.errors import RadixKVError

SECONDS: Final = 1.6  # for one grammar on a busy machine; the process ends itself after CPU_SECONDS of its own time
PROCESSES: Final = 2
_START_SECONDS: Final = 30.0
_BUSY: Final = f"other constraints were tried for {SECONDS} s; try again"


class TrialFailed(Exception):
    """The trial process had to be ended, or ended by itself: the grammar takes too much time or memory.

    `own`: the process ended by itself, at its own limits. `busy`: other grammars took the time.
    """

    def __init__(self, message: str, *, own: bool = False, busy: bool = False) -> None:
        super().__init__(message)
        self.own = own
        self.busy = busy


@dataclass(frozen=True)
class _Child:
    """The process and its two pipes."""

    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    stdout: IO[bytes]
    parent: int = field(default_factory=os.getpid)

    def end(self) -> None:
        """Kill it and wait for that; harmless when done before, and in a process that the parent forked."""
        if os.getpid() != self.parent:
            return
        self.process.kill()
        for stream in (self.stdin, self.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        self.process.wait()


class Trial:
    """A few processes for an engine's grammars, each started when it is first needed; one grammar at a time in each."""

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        self._vocabulary = vocabulary
        self._free: Queue[_Child | None] = Queue()  # None: a process that is yet to be started
        for _ in range(PROCESSES):
            self._free.put(None)

    def run(self, grammar: str) -> TrialReport:
        """Try a grammar. Raises TrialFailed when that takes more time or memory than a trial may.

        The time counts from here: it includes waiting for a process, but not the start of one.
        """
        began = time.monotonic()
        try:
            child = self._free.get(timeout=SECONDS)
        except Empty:
            raise TrialFailed(_BUSY, busy=True) from None
        left = SECONDS - (time.monotonic() - began)
        try:
            child = child or self._start()
            return _ask(child, grammar.encode(), left)
        except TrialFailed as failure:
            if child is not None:
                child.end()
            child = None
            if left < SECONDS / 2 and not failure.own:
                raise TrialFailed(_BUSY, busy=True) from None
            raise
        finally:
            self._free.put(child)

    def close(self) -> None:
        """End the processes, each after what it is trying."""
        for _ in range(PROCESSES):
            with contextlib.suppress(Empty):
                child = self._free.get(timeout=SECONDS + 1)
                self._free.put(None)
                if child is not None:
                    child.end()

    def _start(self) -> _Child:
        command = [sys.executable, "-m", "radixkv.constraints.trial_process"]
        child = _spawn(command)
        weakref.finalize(self, child.end)
        given = self._vocabulary
        vocabulary = VocabularyMessage(list(given.tokens), list(given.special_ids), list(given.eos_ids))
        try:
            _ask(child, msgspec.msgpack.encode(vocabulary), _START_SECONDS)
        except TrialFailed:
            child.end()
            raise RadixKVError(f"constraints are tried in `{' '.join(command)}`, which did not start") from None
        return child


def _spawn(command: Sequence[str]) -> _Child:
    """A process in a session of its own, so that Ctrl-C reaches it through its parent alone."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("a process without its pipes")
    return _Child(process, process.stdin, process.stdout)


def _ask(child: _Child, message: bytes, seconds: float) -> TrialReport:
    """Send a message and wait for the report."""
    deadline = time.monotonic() + seconds
    try:
        write_message(child.stdin, message)
        ready, _, _ = select.select([child.stdout], [], [], max(0.0, deadline - time.monotonic()))
        data = read_message(child.stdout) if ready else b""
    except OSError:
        ready, data = [child.stdout], b""
    if data:
        return msgspec.msgpack.decode(data, type=TrialReport)
    if not ready:
        raise TrialFailed(f"takes more than {seconds} s to compile and try")
    slow = child.process.wait() == -signal.SIGPROF
    why = f"takes more than {CPU_SECONDS} s to compile and try" if slow else "takes too much memory"
    raise TrialFailed(why, own=True)
