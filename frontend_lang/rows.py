"""Rows of data files, read lazily: what `jsonl(path)` and `csv(path)` give.

Rows are gone through by `for`, `fork … in`, `map` and comprehensions; each time the file is opened anew and closed in
any case. They are no list: a file of any length costs the memory of one row.
"""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TextIO, TypeGuard

from frontend_lang.errors import ProgramError
from frontend_lang.sources import TextSource
from frontend_lang.values import MAX_TEXT, Value, from_json, from_python, type_name

ROWS_HINT = "go through it with `map`, `for` or [row for row in x]"


@dataclass(frozen=True)
class Rows(ABC):
    """Rows of one file. Iterating opens it; close the iterator (`contextlib.closing`) where you may stop early.

    Raises E0703 if the source does not give the file, E0705 with file and line for a row that cannot be read.
    """

    source: TextSource
    path: str

    def __iter__(self) -> Iterator[Value]:
        with self.source.open(self.path) as stream:
            yield from self._rows(_Lines(stream, self.path))

    @abstractmethod
    def _rows(self, lines: _Lines) -> Iterator[Value]:
        """Read the rows."""

    def __str__(self) -> str:
        return f"rows of {self.path}"


class JsonRows(Rows):
    """One JSON value per line; blank lines are skipped."""

    def _rows(self, lines: _Lines) -> Iterator[Value]:
        for line in lines:
            if line.isspace():
                continue
            try:
                yield from_json(line)
            except ProgramError as error:
                raise lines.bad(error.message) from None


@dataclass(frozen=True)
class CsvRows(Rows):
    """A record of texts per row, named by the first row; blank lines are skipped.

    Quoted fields may hold separators, doubled quotes and line ends (RFC 4180).
    """

    separator: str = ","

    def _rows(self, lines: _Lines) -> Iterator[Value]:
        reader = csv.reader(lines, delimiter=self.separator, strict=True)
        header = _next_row(reader, lines)
        if header is None:
            return
        _check_header(header, lines)
        while (row := _next_row(reader, lines)) is not None:
            if len(row) != len(header):
                raise lines.bad(f"{len(row)} fields where the header has {len(header)}")
            yield {name: from_python(field) for name, field in zip(header, row, strict=True)}


class _Lines:
    """Lines of a text, none longer than `MAX_TEXT` characters, and where reading has got to."""

    def __init__(self, stream: TextIO, path: str) -> None:
        self._stream = stream
        self._path = path
        self._line = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self._line += 1
        try:
            line = self._stream.readline(MAX_TEXT + 1)
        except UnicodeDecodeError as error:
            raise self.bad(f"not UTF-8 text: {error.reason}") from None
        if len(line) > MAX_TEXT:
            raise self.bad(f"a line of more than {MAX_TEXT} characters")
        if not line:
            raise StopIteration
        return line

    def bad(self, what: str) -> ProgramError:
        """E0705 at the line that was read last."""
        return ProgramError("E0705", f"{self._path}:{self._line}: {what}")


def _next_row(reader: Iterator[list[str]], lines: _Lines) -> list[str] | None:
    """The next row that is not blank; None at the end. The field limit of the csv module holds for the whole process:
    it is ours only while one row is read.
    """
    former = csv.field_size_limit(MAX_TEXT)
    try:
        return next((row for row in reader if row), None)
    except csv.Error as error:
        raise lines.bad(str(error)) from None
    finally:
        csv.field_size_limit(former)


def _check_header(header: Sequence[str], lines: _Lines) -> None:
    name, times = Counter(header).most_common(1)[0]
    if times > 1:
        raise lines.bad(f"{times} columns are named {name!r}")
    for index, name in enumerate(header):
        if not name.strip():
            raise lines.bad(f"column {index + 1} has no name in the header")


def is_rows(value: object) -> TypeGuard[Rows]:
    """Whether the value is rows of a file."""
    return isinstance(value, Rows)


@contextmanager
def iterated(value: Value, what: str) -> Iterator[Iterable[Value]]:
    """The items of a list or rows, to go through once; a file is closed at the end of the block in any case.

    Raises E0402, which says that `what` needs a list, for anything else.
    """
    if is_rows(value):
        with closing(iter(value)) as rows:  # type: ignore[type-var]
            yield rows
    elif isinstance(value, list):
        yield value
    else:
        raise ProgramError("E0402", f"{what} needs a list, found {type_name(value)}")
