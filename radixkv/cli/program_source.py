"""Where a program's text and arguments come from: a file, stdin or the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

STDIN = "-"


@dataclass(frozen=True)
class ProgramSource:
    """A program's text and the name that diagnostics give it."""

    text: str
    file: str


def read_program(file: str | None, text: str | None) -> ProgramSource:
    """The program named by FILE (`-`: stdin) or given by `-c TEXT`. Raises click.UsageError."""
    if (file is None) == (text is None):
        raise click.UsageError("give one program: a FILE, `-` for stdin, or -c TEXT", click.get_current_context())
    if text is not None:
        return ProgramSource(text, "<command line>")
    if file == STDIN:
        return ProgramSource(sys.stdin.read(), "<stdin>")
    return ProgramSource(read_text(Path(str(file)), "program"), str(file))


def read_text(path: Path, what: str) -> str:
    """Text of a UTF-8 file, a byte-order mark dropped. Raises click.UsageError saying which `what` cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{what}: {path} is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise click.UsageError(f"{what}: cannot read {path}: {error.strerror}") from error


def read_arguments(pairs: Sequence[str]) -> dict[str, str]:
    """Program arguments from `name=value` and `name=@FILE` pairs. Raises click.UsageError."""
    arguments: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name.isidentifier():
            raise click.UsageError(f"-a {pair}: expected name=value or name=@FILE")
        if name in arguments:
            raise click.UsageError(f"-a {name}: given twice")
        arguments[name] = read_text(Path(value[1:]), f"-a {name}") if value.startswith("@") else value
    return arguments
