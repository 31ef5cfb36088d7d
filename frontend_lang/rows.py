"""Rows of data files, read lazily: what `jsonl(path)` and `csv(path)` give.

Rows are gone through by `for`, `fork … in`, `map` and comprehensions; each time the file is opened anew and closed in
any case. They are no list: a file of any length costs the memory of one row.
"""

from __future__ import annotations

import csv
import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TextIO, TypeGuard

from frontend_lang.errors import ProgramError
from frontend_lang.sources import TextSource, opened, undecoded
from frontend_lang.values import MAX_TEXT, Value, from_python, json_document, type_name

ROWS_HINT = "go through it with `map`, `for` or [row for row in x]"


@dataclass(frozen=True)
class Rows(ABC):
    """Rows of one file. Iterating opens it; close the iterator (`contextlib.closing`) where you may stop early.

    Raises E0703 if the source does not give the file, E0705 with file and line for a row that cannot be read.
    """

    source: TextSource
    path: str

    def __iter__(self) -> Iterator[Value]:
        with opened(self.source, self.path) as stream:
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
            lines.of_row.clear()
            if line.isspace():
                continue
            yield _json_row(line, lines)


def _json_row(line: str, lines: _Lines) -> Value:
    try:
        return from_python(json_document(line.rstrip()))
    except json.JSONDecodeError as error:
        raise lines.bad(f"not valid JSON: {error.msg}", column=error.colno) from None
    except (ValueError, RecursionError) as error:
        raise lines.bad(f"not valid JSON: {error}") from None
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
        header = _next_row(reader, lines, self.separator)
        if header is None:
            return
        _check_header(header, lines)
        while (row := _next_row(reader, lines, self.separator)) is not None:
            if len(row) != len(header):
                raise lines.bad(f"{len(row)} fields where the header has {len(header)}")
            yield {name: from_python(field) for name, field in zip(header, row, strict=True)}


class _Lines:
    """Lines of a text, none longer than `MAX_TEXT` characters, and where reading has got to."""

    def __init__(self, stream: TextIO, path: str) -> None:
        self._stream = stream
        self._path = path
        self._line = 0
        self.of_row: list[str] = []  # lines read since the row began

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(MAX_TEXT + 1)
        if not line:
            raise StopIteration
        self._line += 1
        if len(line) > MAX_TEXT:
            raise self.bad(f"a line of more than {MAX_TEXT} characters")
        byte = undecoded(line)
        if byte is not None:
            raise self.bad(not_utf8(byte[0]), column=byte.start() + 1)
        self.of_row.append(line)
        return line

    def bad(self, what: str, *, line: int | None = None, column: int | None = None) -> ProgramError:
        """E0705 at a line, else the one that was read last."""
        place = f"{self._path}:{line or self._line}" + (f":{column}" if column else "")
        return ProgramError("E0705", f"{place}: {what}")

    def bad_row(self, what: str, separator: str) -> ProgramError:
        """E0705 at the quote that is not closed, where that is what is wrong with the row, else where it was found."""
        first = self._line - len(self.of_row) + 1
        if what == "unexpected end of data":
            text = "".join(self.of_row)
            before = text[: _unclosed(text, separator)]
            line, column = first + before.count("\n"), len(before) - before.rfind("\n")
            return self.bad("a quoted field that is not closed", line=line, column=column)
        return self.bad(what if first >= self._line else f"{what}, in the row that begins in line {first}")


def _unclosed(row: str, separator: str) -> int:
    """Where the quoted field begins that the row's end leaves open."""
    quoted = re.compile(rf'(?:^|(?<=[{re.escape(separator)}\n]))"(?P<rest>(?:[^"]|"")*(?P<closed>")?)')
    return next((found.start() for found in quoted.finditer(row) if not found["closed"]), 0)


def not_utf8(byte: str) -> str:
    """What to say of a byte that `sources.opened` could not decode."""
    return f"not UTF-8 text: the byte 0x{ord(byte) - 0xDC00:02X}"


def _next_row(reader: Iterator[list[str]], lines: _Lines, separator: str) -> list[str] | None:
    """The next row that is not blank; None at the end. The field limit of the csv module holds for the whole process:
    it is ours only while one row is read.
    """
    former = csv.field_size_limit(MAX_TEXT)
    row: list[str] | None = []
    try:
        while row == []:
            lines.of_row.clear()
            row = next(reader, None)
        return row
    except csv.Error as error:
        raise lines.bad_row(str(error), separator) from None
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
