"""An engine for the length of one command, with progress while it loads."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console

from radixkv.cli.settings import engine_config
from radixkv.engine import Engine


def start_engine(settings: dict[str, Any]) -> Engine:
    """Start an engine from a command's options; a spinner on a terminal's stderr meanwhile."""
    logging.basicConfig(level=settings["log_level"].upper(), format="%(levelname)s %(name)s: %(message)s")
    config = engine_config(settings)
    with loading(f"loading {config.model}") as show_fraction:
        return Engine.start(config, progress=show_fraction)


@contextlib.contextmanager
def loading(message: str) -> Iterator[Callable[[float], None]]:
    """A spinner on stderr if it is a terminal; yields a function that shows a fraction from 0 to 1."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _fraction: None
        return
    with console.status(message) as status:
        yield lambda fraction: status.update(f"{message} {fraction:.0%}")
