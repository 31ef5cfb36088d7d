"""What radixkv logs, on stderr."""

from __future__ import annotations

import logging

from radixkv.cli.terminal import say


class StderrHandler(logging.Handler):
    """Log lines on stderr, whatever that is at the moment: a spinner borrows it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        say(self.format(record), err=True)


def show_log(level: str) -> None:
    """What radixkv logs from that level on goes to stderr."""
    handler = StderrHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("radixkv")
    logger.handlers = [handler]
    logger.setLevel(level.upper())
