"""An engine for the length of one command, with progress while it loads."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from radixkv.cli.settings import config_of
from radixkv.cli.terminal import say
from radixkv.engine import Engine


class StderrHandler(logging.Handler):
    """Log lines on stderr, whatever that is at the moment: a spinner borrows it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        say(self.format(record), err=True)


def start_engine(settings: dict[str, Any]) -> Engine:
    """Start an engine from a command's options; a spinner on a terminal's stderr meanwhile, and news of a download."""
    show_log(settings["log_level"])
    config = config_of(settings)
    with loading(f"loading {config.model}") as show_fraction:
        return Engine.start(config, progress=show_fraction, notify=partial(say, err=True))


def show_log(level: str) -> None:
    """What radixkv logs from that level on goes to stderr."""
    handler = StderrHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("radixkv")
    logger.handlers = [handler]
    logger.setLevel(level.upper())


def tell_seed(seed: int) -> None:
    """Show a drawn seed to who sits at a terminal; a pipe's stdout stays clean, and so does a log of stderr."""
    if sys.stderr.isatty():
        say(f"seed {seed}", err=True)


@contextlib.contextmanager
def loading(message: str) -> Iterator[Callable[[float], None]]:
    """A spinner on stderr if it is a terminal; yields a function that shows a fraction from 0 to 1."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _fraction: None
        return
    with console.status(Text(message)) as status:
        yield lambda fraction: status.update(Text(f"{message} {fraction:.0%}"))
