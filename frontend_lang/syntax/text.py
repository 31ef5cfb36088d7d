"""The four ways to write text: where its literal pieces and its @{…} are, and what the literals mean.

Everything works on offsets into the whole source, so that positions inside text are right to the character.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from frontend_lang.syntax.positions import Problem


@dataclass(frozen=True)
class Hole:
    """The expression of `@{…}`: `source[start:end]`, without the braces."""

    start: int
    end: int


Piece = str | Hole

# What may hide a brace inside @{ }: text in quotes and comments.
_INSIDE = re.compile(
    r"""'[^'\n]*'|(?P<fence>"{3,})(?!")[\s\S]*?(?<!")(?P=fence)(?!")|"(?!"")(?:\\.|[^"\\\n])*"|\#[^\n]*|[{}]""",
    re.VERBOSE,
)
_SPECIAL = re.compile(r"@@\{|@\{")
_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_ESCAPE_HINT = r"known are \n \t \" \\ and \u{1F600}; write \\ for a backslash, or use '…' for raw text"
_FENCE = re.compile(r'"+')
_OPENING = re.compile(r"[ \t]*\n")
_HOLE = "\ud800"  # stands for a hole while a block is dedented: no source contains half a surrogate pair


QUOTE_HINT = 'a `"` inside `@{…}` ends the text: write \'…\' there, or put the text between """ fences'


class TextReader:
    """Reads one text token of `source`. Problems are collected, never raised."""

    def __init__(self, source: str, problems: list[Problem]) -> None:
        self._source = source
        self._problems = problems

    def rest(self, start: int, end: int) -> list[Piece]:
        """`: text to the end of the line`; blanks at both ends are not part of it."""
        body = self._source[start + 1 : end]
        lead = len(body) - len(body.lstrip())
        return self._split(start + 1 + lead, start + 1 + max(lead, len(body.rstrip())), self._plain)

    def quoted(self, start: int, end: int) -> list[Piece]:
        """`"…"` with escapes."""
        return self._split(start + 1, end - 1, self._unescape)

    def raw(self, start: int, end: int) -> list[Piece]:
        """`'…'`."""
        return [self._source[start + 1 : end - 1]]

    def block(self, start: int, end: int) -> list[Piece]:
        """Text between fences of three or more quotes, dedented."""
        fence = _fence_length(self._source, start)
        pieces = self._split(start + fence, end - fence, self._plain)
        holes = [piece for piece in pieces if isinstance(piece, Hole)]
        first, *others = dedent("".join(_HOLE if isinstance(piece, Hole) else piece for piece in pieces)).split(_HOLE)
        return [first, *(piece for pair in zip(holes, others, strict=True) for piece in pair)]

    def raw_block(self, start: int, end: int) -> list[Piece]:
        """Text between `r"` and more quotes, dedented, without @{}."""
        fence = _fence_length(self._source, start + 1)
        return [dedent(self._source[start + 1 + fence : end - fence])]

    def _split(self, start: int, end: int, decode: Callable[[int, int], str]) -> list[Piece]:
        pieces: list[Piece] = []
        position = start
        while match := _SPECIAL.search(self._source, position, end):
            pieces.append(decode(position, match.start()))
            position = match.end()
            if match.group() == "@@{":
                pieces.append("@{")
                continue
            close = self._closing_brace(position, end)
            if close is None:
                self._report_unclosed(match.start(), end)
                return pieces
            pieces.append(Hole(position, close))
            position = close + 1
        return [*pieces, decode(position, end)]

    def _closing_brace(self, start: int, end: int) -> int | None:
        depth = 0
        for match in _INSIDE.finditer(self._source, start, end):
            if match.group() == "{":
                depth += 1
            elif match.group() == "}":
                if depth == 0:
                    return match.start()
                depth -= 1
        return None

    def _report_unclosed(self, start: int, end: int) -> None:
        line_end = self._source.find("\n", start, end)
        hint = "close it with `}`, or write @@{ for the characters @{"
        if self._source[end : end + 1] == '"' and "}" in self._source[end : _line_end(self._source, end)]:
            hint = QUOTE_HINT
        self._problems.append(
            Problem("E0104", start, line_end if line_end >= 0 else end, "`@{` is never closed in this text", hint)
        )

    def _plain(self, start: int, end: int) -> str:
        return self._source[start:end]

    def _unescape(self, start: int, end: int) -> str:
        def replace(match: re.Match[str]) -> str:
            digits, letter = match.groups()
            if digits and _is_character(int(digits, 16)):
                return chr(int(digits, 16))
            if letter in _ESCAPES:
                return _ESCAPES[letter]
            begin = start + match.start()
            message = f"`{match.group()}` is not an escape"
            self._problems.append(Problem("E0103", begin, start + match.end(), message, _ESCAPE_HINT))
            return ""

        return _ESCAPE.sub(replace, self._source[start:end])


def dedent(text: str) -> str:
    """Drop the first and last newline of a block and the indentation that all its lines share.

    The line of the closing fence counts as a line, other blank lines do not. Text on the line of the opening fence is
    left as it is. Indentation is compared character by character: a tab is not some number of spaces.
    """
    opening = _OPENING.match(text)
    lines = text[opening.end() :].split("\n") if opening else text.split("\n")
    on_fence_line, lines = ([], lines) if opening else (lines[:1], lines[1:])
    margin = _common_prefix([_indentation(line) for line in [*filter(_is_not_blank, lines), *lines[-1:]]])
    if lines and not _is_not_blank(lines[-1]):
        lines = lines[:-1]
    return "\n".join([*on_fence_line, *(_without(margin, line) for line in lines)])


def _line_end(source: str, position: int) -> int:
    end = source.find("\n", position)
    return end if end >= 0 else len(source)


def _is_not_blank(line: str) -> bool:
    return bool(line.strip(" \t"))


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _without(margin: str, line: str) -> str:
    return line.removeprefix(margin) if line.startswith(margin) else line.lstrip(" \t")


def _common_prefix(texts: list[str]) -> str:
    low, high = min(texts, default=""), max(texts, default="")  # what these share, all between them share
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False)))


def _fence_length(source: str, start: int) -> int:
    match = _FENCE.match(source, start)
    return len(match.group()) if match else 0


def _is_character(code: int) -> bool:
    return code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
