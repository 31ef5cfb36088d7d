"""Where a program's files come from: imports, `read`, `jsonl`, `csv`, `schema(file=…)` go through a `TextSource`.

The language itself touches no file. The host decides what a path means and what it may reach; a path is written with
`/`, relative to the source's root, and cannot leave it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO, TextIOWrapper
from pathlib import Path, PurePosixPath
from typing import Protocol, TextIO

from frontend_lang.errors import ProgramError

_UNDECODED = re.compile("[\udc80-\udcff]")


class TextSource(Protocol):
    """Opens texts by path. Raises ProgramError E0703 that says what was asked for and why it is not given."""

    def open(self, path: str) -> TextIO:
        """The text, to be closed by the caller; lines end with a single newline."""
        ...


class FolderSource:
    """Files below one folder. Links are followed only where they lead to a file below it."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def open(self, path: str) -> TextIO:
        """A UTF-8 file; a byte-order mark is dropped. Pipes and devices are refused, which could block or never end."""
        wanted = inner_path(path)
        try:
            target = (self._root / wanted).resolve()
            if not target.is_relative_to(self._root):
                raise refused(path, f"it leads out of {self._root}")
            if target.exists() and not target.is_file():
                raise refused(path, "it is no regular file")
            return target.open(encoding="utf-8-sig")
        except OSError as error:
            raise refused(path, f"{error.strerror} in {self._root}") from error
        except RuntimeError as error:  # what Python 3.11 says of links in a circle
            raise refused(path, "its links lead in a circle") from error


class MappingSource:
    """Texts by path, as a host without files has them."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = {str(PurePosixPath(path)): text for path, text in texts.items()}

    def open(self, path: str) -> TextIO:
        """One of the texts."""
        text = self._texts.get(str(inner_path(path)))
        if text is None:
            known = ", ".join(self._texts) or "none"
            raise refused(path, f"what there is: {known}")
        return StringIO(text.removeprefix("\ufeff").replace("\r\n", "\n"))


class NoSource:
    """Gives nothing: for hosts that let programs read no files."""

    def open(self, path: str) -> TextIO:
        """Refuses."""
        raise refused(path, "this host gives programs no files")


@contextmanager
def opened(source: TextSource, path: str) -> Iterator[TextIO]:
    """The text, closed at the end of the block. Bytes that are not UTF-8 are in it as U+DC80 to U+DCFF, so that what
    reads it can say where they are: see `undecoded`.
    """
    with source.open(path) as stream:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="surrogateescape")
        yield stream


def undecoded(text: str) -> re.Match[str] | None:
    """The first byte of a text of `opened` that is not UTF-8."""
    return None if text.isascii() else _UNDECODED.search(text)


def inner_path(path: str) -> PurePosixPath:
    """The path in its plain form. Raises E0703 for one that is empty, absolute, or climbs out with `..`."""
    plain = PurePosixPath(path.replace("\\", "/"))
    if not path.strip() or "\0" in path or plain.is_absolute() or any(":" in part for part in plain.parts[:1]):
        raise refused(path, "paths are relative, as in data/dev.jsonl")
    parts: list[str] = []
    for part in plain.parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            raise refused(path, "it climbs out of the folder")
    return PurePosixPath(*parts)


def refused(path: str, why: str) -> ProgramError:
    """The error of a path that is not given."""
    return ProgramError("E0703", f"cannot open {path!r}: {why}")
