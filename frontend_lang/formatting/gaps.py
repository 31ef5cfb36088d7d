"""What stands between tokens: comments and empty lines. The grammar ignores them, the formatter must not."""

from __future__ import annotations

import re

from frontend_lang.formatting.documents import Comment, Word

_COMMENT_OR_NEWLINE = re.compile(r"#[^\n]*|\n")  # the rest of a gap is blanks, and separators that are written anew
_OPEN_LINE = re.compile(r"[^\S\n]*\n")


class Gaps:
    """Takes the tokens of one source in order, and knows what has been skipped between them."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._position = 0

    def take(self, start: int, end: int) -> Word:
        """The token `source[start:end]` with what stands before it."""
        comments, blank = self._before(start)
        self._position = end
        return Word(self._source[start:end], comments, blank)

    def rest(self) -> tuple[tuple[Comment, ...], bool]:
        """Comments after the last token, and whether an empty line stands before them."""
        comments, _ = self._before(len(self._source))
        return comments, bool(comments) and comments[0].blank

    def ends_line(self, end: int) -> bool:
        """Whether the line ends after what ends at `end`."""
        return _OPEN_LINE.match(self._source, end) is not None

    def spans_lines(self, start: int, end: int) -> bool:
        """Whether there is a newline in `source[start:end]`."""
        return self._source.find("\n", start, end) >= 0

    def _before(self, end: int) -> tuple[tuple[Comment, ...], bool]:
        gap = self._source[self._position : end]
        if "\n" not in gap and "#" not in gap:
            return (), False
        comments: list[Comment] = []
        newlines = 0
        for match in _COMMENT_OR_NEWLINE.finditer(gap):
            if match.group() == "\n":
                newlines += 1
                continue
            own_line = bool(newlines or comments or not self._position)
            comments.append(Comment(match.group().rstrip(), own_line, newlines > 1))
            newlines = 0
        return tuple(comments), newlines > 1
