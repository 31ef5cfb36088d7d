"""Places in a source, and what is wrong there."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from frontend_lang.syntax.ast import Span


@dataclass(frozen=True)
class Problem:
    """Something wrong with `source[start:end]`; becomes a diagnostic."""

    code: str
    start: int
    end: int
    message: str
    hint: str | None = None


class LineTable:
    """Knows where lines of a source begin. A span costs two binary searches."""

    def __init__(self, source: str) -> None:
        self._starts = [0]
        position = source.find("\n")
        while position >= 0:
            self._starts.append(position + 1)
            position = source.find("\n", position + 1)

    def span(self, start: int, end: int) -> Span:
        """The span of `source[start:end]`."""
        line = bisect_right(self._starts, start)
        end_line = bisect_right(self._starts, end)
        return Span(
            line, start - self._starts[line - 1] + 1, end_line, end - self._starts[end_line - 1] + 1, start, end
        )
