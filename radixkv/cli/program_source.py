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
        return ProgramSource(read_stdin("program"), "<stdin>")
    return ProgramSource(read_text(Path(str(file)), "program"), str(file))


def read_text(path: Path, what: str) -> str:
    """Text of a UTF-8 file, a byte-order mark dropped. Raises click.UsageError saying which `what` cannot be read."""
    try:
        return _decode(path.read_bytes(), what, str(path))
    except OSError as error:
        raise click.UsageError(f"{what}: cannot read {path}: {error.strerror}") from error


def read_stdin(what: str) -> str:
    """All of stdin, which is UTF-8 whatever the locale says. Raises click.UsageError."""
    stream = getattr(sys.stdin, "buffer", None)
    return sys.stdin.read() if stream is None else _decode(stream.read(), what, "stdin")


def _decode(data: bytes, what: str, where: str) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{what}: {where} is not UTF-8 text (byte {error.start})") from error


def read_arguments(pairs: Sequence[str]) -> dict[str, str]:
    """Program arguments from pairs: `name=value`, `name=@FILE`, `name=@-` (stdin), `name=@@text` (the text `@text`).

    Raises click.UsageError.
    """
    arguments: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name.isidentifier():
            raise click.UsageError(f"-a {pair}: expected name=value or name=@FILE")
        if name in arguments:
            raise click.UsageError(f"-a {name}: given twice")
        arguments[name] = _argument(name, value)
    return arguments


def _argument(name: str, value: str) -> str:
    if value.startswith("@@") or not value.startswith("@"):
        return value.removeprefix("@")
    path = value[1:]
    return read_stdin(f"-a {name}") if path == STDIN else read_text(Path(path), f"-a {name}")
