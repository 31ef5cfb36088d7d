"""The parent's side of the trial process, in which a grammar is tried first."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Final

import msgspec

from radixkv.constraints.native import TokenVocabulary
from radixkv.constraints.trial_process import CPU_SECONDS, TrialReport, VocabularyMessage, read_message, write_message
from radixkv.errors import RadixKVError

SECONDS: Final = 1.6  # for one grammar on a busy machine; the process ends itself after CPU_SECONDS of its own time
_START_SECONDS: Final = 30.0


class TrialFailed(Exception):
    """The trial process had to be ended, or ended by itself: the grammar takes too much time or memory."""


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
    """One process for an engine's grammars, started when the first one comes; one grammar at a time."""

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        self._vocabulary = vocabulary
        self._lock = threading.Lock()
        self._child: _Child | None = None

    def run(self, grammar: str) -> TrialReport:
        """Try a grammar. Raises TrialFailed when that takes more time or memory than a trial may."""
        with self._lock:
            if self._child is None:
                self._child = self._start()
            try:
                return _ask(self._child, grammar.encode(), SECONDS)
            except TrialFailed:
                self._close()
                raise

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None

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
    raise TrialFailed(f"takes more than {CPU_SECONDS} s to compile and try" if slow else "takes too much memory")
