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

    @property
    def folder(self) -> Path:
        """Where its imports are looked up; the current folder for what is no file."""
        return Path(self.file).parent


def read_program(file: str | None, text: str | None) -> ProgramSource:
    """The program named by FILE (`-`: stdin) or given by `-c TEXT`. Raises click.UsageError."""
    if (file is None) == (text is None):
        raise click.UsageError("give one program: a FILE, `-` for stdin, or -c TEXT", click.get_current_context())
    if text is not None:
        return ProgramSource(text, "<command line>")
    if file == STDIN:
        return ProgramSource(read_stdin("program"), "<stdin>")
    return ProgramSource(read_text(Path(str(file)), "program"), str(file))


def read_programs(files: Sequence[str], text: str | None) -> list[ProgramSource]:
    """The programs of files and folders, or the one of `-c TEXT`, each once. Raises click.UsageError."""
    if text is not None or not files:
        return [read_program(files[0] if files else None, text)]
    return [read_program(path, None) for path in program_paths(files)]


def program_paths(files: Sequence[str]) -> list[str]:
    """Files as they are, folders as all .rkv files below them that are not hidden. Raises click.UsageError."""
    return list(dict.fromkeys(path for file in files for path in _below(file)))


def _below(file: str) -> list[str]:
    folder = Path(file)
    if file == STDIN or not folder.is_dir():
        return [file]
    inner = [path for path in sorted(folder.rglob("*.rkv")) if path.is_file()]
    found = [str(path) for path in inner if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    if not found:
        raise click.UsageError(f"no .rkv file below {file}", click.get_current_context())
    return found


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
