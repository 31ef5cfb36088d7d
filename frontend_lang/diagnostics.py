"""What the language says about a program: errors and warnings with a place, a code and a way out."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

from frontend_lang.errors import SourceSpan

TAB_WIDTH = 4
MAX_SHOWN_WIDTH = 110  # longer lines are cut around the caret


@dataclass(frozen=True)
class Diagnostic:
    """One finding. Lines and columns count characters from 1, `end_col` is exclusive; `code` is a key of CODES."""

    code: str
    message: str
    file: str
    line: int
    col: int
    end_line: int
    end_col: int
    hint: str | None = None

    @property
    def severity(self) -> Literal["error", "warning"]:
        """Warnings have codes that start with W."""
        return "warning" if self.code.startswith("W") else "error"

    def to_dict(self) -> dict[str, str | int | None]:
        """The form that goes into JSON."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "col": self.col,
            "end_line": self.end_line,
            "end_col": self.end_col,
            "hint": self.hint,
        }


def diagnose(code: str, message: str, span: SourceSpan, file: str, hint: str | None = None) -> Diagnostic:
    """A diagnostic about a range of the source. `code` is a key of `frontend_lang.codes.CODES`."""
    return Diagnostic(code, message, file, span.line, span.col, span.end_line, span.end_col, hint)


def has_errors(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> bool:
    """Whether any is more than a warning."""
    return any(diagnostic.severity == "error" for diagnostic in diagnostics)


def render(diagnostic: Diagnostic, source: str) -> str:
    """The diagnostic as lines for a terminal: message, place, the source line, a caret underline with the hint.

    Tabs are widened, wide characters take two columns, control characters are shown as a replacement, so what a
    program contains cannot disturb a terminal.
    """
    head = f"{diagnostic.severity}[{diagnostic.code}]: {_printable(diagnostic.message)}"
    place = f"  --> {_printable(diagnostic.file)}:{diagnostic.line}:{diagnostic.col}"
    hint = _printable(diagnostic.hint) if diagnostic.hint else ""
    lines = source.removeprefix("\ufeff").split("\n")
    if diagnostic.line > len(lines):
        return "\n".join(filter(None, [head, place, hint and f"  {hint}"]))
    text = lines[diagnostic.line - 1].removesuffix("\r")
    last = diagnostic.end_col - 1 if diagnostic.end_line == diagnostic.line else len(text)
    shown, start, width = _excerpt(text, diagnostic.col - 1, last)
    number = f" {diagnostic.line} "
    underline = f"{' ' * len(number)}| {' ' * start}{'^' * width} {hint}".rstrip()
    return "\n".join([head, place, f"{number}| {shown}".rstrip(), underline])


def _excerpt(text: str, first: int, last: int) -> tuple[str, int, int]:
    """The line as shown, the column of the underline in it and the underline's width."""
    begin = 0
    if len(text) > MAX_SHOWN_WIDTH:
        begin = max(0, min(first - MAX_SHOWN_WIDTH // 2, len(text) - MAX_SHOWN_WIDTH))
    end = min(len(text), begin + MAX_SHOWN_WIDTH)
    before, after = ("…" if begin else ""), ("…" if end < len(text) else "")
    start = len(before) + _width(text[begin:first])
    width = max(1, _width(text[first : max(first + 1, min(last, end))]))
    return before + _printable(text[begin:end]) + after, start, width


def _printable(text: str) -> str:
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character == "\t":
        return " " * TAB_WIDTH
    return "\ufffd" if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") else character


def _width(text: str) -> int:
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if character == "\t":
        return TAB_WIDTH
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
