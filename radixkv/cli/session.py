"""An engine for the length of one command, with progress while it loads."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from rich.console import Console
from rich.text import Text

from radixkv.cli import interrupts
from radixkv.cli.settings import check_settings_file, config_of, naming_the_settings_file
from radixkv.cli.terminal import say
from radixkv.engine import Engine

Result = TypeVar("Result")


def with_engine(settings: Mapping[str, Any], work: Callable[[Engine], Coroutine[Any, Any, Result]]) -> Result:
    """Start an engine from a command's options, do the work in an event loop, close the engine.

    It starts outside of the loop, where Ctrl-C comes through at once, with a spinner on a terminal's stderr and news
    of a download. Raises ConfigurationError, ModelError and what the work raises.
    """
    check_settings_file()
    with naming_the_settings_file():
        config = config_of(settings)
        with loading(f"loading {config.model}") as show_fraction:
            engine = Engine.start(config, progress=show_fraction, notify=partial(say, err=True))
    try:
        interrupts.heed()
        return asyncio.run(work(engine))
    finally:
        engine.close_now()


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
