"""What the parts of the checker share: collecting findings, suggesting names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from frontend_lang.diagnostics import Diagnostic, diagnose
from frontend_lang.syntax import ast
from frontend_lang.syntax.fragments import Fragment

_MISREAD = ("E0203", "E0205")
_OF_PLACES = ("E0206", "E0310", "E0311", "E0312", "E0314", "E0316")  # what opens the place may be what is missing


class Report:
    """Findings about one program. Of a fragment only errors count, and those that are not due to what is missing."""

    def __init__(self, program: ast.Program, fragment: Fragment | None = None) -> None:
        self._file = program.file
        self._fragment = fragment
        self._found: list[Diagnostic] = []

    def add(self, code: str, span: ast.Span, message: str, hint: str | None = None) -> None:
        """Note a finding."""
        if self._fragment is None or _is_sure(code, span, self._fragment):
            self._found.append(diagnose(code, message, span, self._file, hint))

    def sorted(self) -> list[Diagnostic]:
        """All findings in source order.

        What follows an expression without effect (E0203) or a misplaced keyword (E0205) on its line is left out:
        `gem x with max=3` parses as three such expressions and an assignment, but is one mistake.
        """
        found = sorted(set(self._found), key=lambda item: (item.line, item.col, item.code))
        mistyped: dict[int, int] = {}
        for item in found:
            if item.code in _MISREAD:
                mistyped.setdefault(item.line, item.col)
        return [item for item in found if item.line not in mistyped or _precedes(item, mistyped[item.line])]


def _is_sure(code: str, span: ast.Span, fragment: Fragment) -> bool:
    return not (code.startswith("W") or code in _OF_PLACES or fragment.is_doubtful(span))


def _precedes(item: Diagnostic, col: int) -> bool:
    return item.col < col or (item.col == col and item.code in _MISREAD)


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like a mistyped one."""
    found = difflib.get_close_matches(name, list(known), 1, 0.65)
    return found[0] if found else None


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest, or lists what there is if that is little."""
    names = list(known)
    close = closest(name, names)
    if close:
        return f"did you mean `{close}`?"
    return f"known: {', '.join(names)}" if 0 < len(names) <= 16 else None


def span_at(span: ast.Span, length: int) -> ast.Span:
    """The first `length` characters of a span that begins with a name."""
    return ast.Span(span.line, span.col, span.line, span.col + length, span.start, span.start + length)
