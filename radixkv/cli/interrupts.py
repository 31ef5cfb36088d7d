"""Ctrl-C while a command gets ready.

Libraries in C call back into Python while they are imported, and some drop whatever error that ends with (torch does,
when it looks for numpy). A KeyboardInterrupt that was raised just there is lost. So who presses Ctrl-C before the work
begins is remembered, and `heed` is where the command ends at the latest.
"""

from __future__ import annotations

import signal
from types import FrameType


class StartUpInterrupt:
    """A handler of SIGINT: as Python's own, but it remembers."""

    def __init__(self) -> None:
        self.received = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raises KeyboardInterrupt."""
        self.received = True
        signal.default_int_handler(number, frame)


def remember() -> None:
    """Remember a Ctrl-C from now on; nothing changes where it is ignored, as under nohup."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, StartUpInterrupt())


def heed() -> None:
    """The work begins: from now on Python's own handler, which event loops expect, meets a Ctrl-C.

    Raises KeyboardInterrupt if there was one before.
    """
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, StartUpInterrupt):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if handler.received:
            raise KeyboardInterrupt
