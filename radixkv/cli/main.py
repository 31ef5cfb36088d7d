"""Entry point of the `radixkv` command. It imports next to nothing, so that Ctrl-C is met from the first moment."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from types import FrameType

from radixkv.cli import interrupts

INTERRUPTED = 130
TERMINATED = 143


class Termination:
    """Lets SIGTERM end a command as Ctrl-C does: what runs is cancelled, the terminal is left in order."""

    def __init__(self) -> None:
        self.received = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """The signal handler: what would meet a Ctrl-C now, a running event loop for one, meets this."""
        self.received = True
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):  # ignored, as under nohup
            raise KeyboardInterrupt
        interrupt(number, frame)


def main() -> None:
    """Exit code 0 for success, 1 for failure, 2 for a usage error, 130 after Ctrl-C, 143 after SIGTERM."""
    termination = Termination()
    before = signal.signal(signal.SIGTERM, termination)
    try:
        atexit.register(_keep_the_exit_code)
        code = _run()
        signal.signal(signal.SIGTERM, before)
    except KeyboardInterrupt:  # another one, while the first was told
        code = INTERRUPTED
    sys.exit(TERMINATED if termination.received and code == INTERRUPTED else code)


def _keep_the_exit_code() -> None:
    """At the very end a signal would kill: Python restores the defaults, then takes torch down, which lasts."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _run() -> int:
    try:
        interrupts.remember()
        _open_closed_streams()
        from radixkv.cli.outcome import run_command

        return run_command(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED


def _open_closed_streams() -> None:
    """A stream that the shell closed (`>&-`) reads as empty and swallows what is written."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  open as long as the process
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
