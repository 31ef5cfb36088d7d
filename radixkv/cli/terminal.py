"""Output that cannot disturb a terminal, whatever a prompt, a model or a file contains."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sys
from collections.abc import Iterator
from typing import Final, TextIO

import click

_STDOUT, _STDERR = 1, 2
_SYMBOLS: Final = (
    {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: "\u2421"}
    | dict.fromkeys(range(0x80, 0xA0), "\ufffd")  # C1 controls
    | dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F), "\ufffd")  # directions
)


def visible(text: str) -> str:
    """Text that cannot move a terminal's cursor or colours: control characters become symbols."""
    return text.translate(_SYMBOLS)


def terminal_width(stream: TextIO) -> int | None:
    """Columns of the terminal that the stream is; None for a file or pipe."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def say(text: str, *, err: bool = False, end: str = "\n") -> None:
    """Print to stdout or stderr: as it is into a file or a pipe, `visible` on a terminal."""
    stream = sys.stderr if err else sys.stdout
    shown = visible(text) if stream.isatty() else text
    click.echo(shown + end, file=stream, nl=False, color=True)  # color: click must not take escapes out of a pipe


def print_json(value: object) -> None:
    """Print one JSON object on stdout, NaN and infinities as null; escaped where the stream is not UTF-8."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "").replace("_", "")
    click.echo(json.dumps(_finite(value), ensure_ascii=encoding != "utf8", allow_nan=False))


@contextlib.contextmanager
def stdout_kept_for_json(as_json: bool) -> Iterator[None]:
    """With --json: what a user's code prints meanwhile, its child processes too, goes to stderr."""
    if not as_json:
        yield
        return
    try:
        kept = os.dup(_STDOUT)
    except OSError:  # the shell closed it
        yield
        return
    sys.stdout.flush()
    os.dup2(_STDERR, _STDOUT)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.stderr.flush()
        sys.stdout.flush()
        os.dup2(kept, _STDOUT)
        os.close(kept)


def _finite(value: object) -> object:
    match value:
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value
