"""The one exception that a running program ends with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

RUN_WIDE = frozenset({"E0801", "E0802", "E0804", "E0807", "E0809", "E0811"})
"""Codes that end the whole run: neither `on_error` nor `catch` takes them, since what would go on has no means to."""


class SourceSpan(Protocol):
    """Where something stands in the source, 1-based; `syntax.ast.Span` is one."""

    @property
    def line(self) -> int:
        """First line."""
        ...

    @property
    def col(self) -> int:
        """First column."""
        ...

    @property
    def end_line(self) -> int:
        """Last line."""
        ...

    @property
    def end_col(self) -> int:
        """Column after the last character."""
        ...


class ProgramError(Exception):
    """A program failed: `code` (E03xx-E08xx), `message`, and where known `span`, `file`, `hint` and the branch path.

    Values and builtins raise it bare; the interpreter adds the innermost span, the file and the path.
    """

    def __init__(
        self, code: str, message: str, hint: str | None = None, *, span: SourceSpan | None = None, file: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.span = span
        self.file = file
        self.path = ""

    def at(self, span: SourceSpan, file: str, path: str = "") -> ProgramError:
        """The same error with a place, if it has none yet: the innermost place wins."""
        if self.span is None:
            self.span, self.file, self.path = span, file, path
        return self

    def __reduce__(self) -> tuple[Callable[..., ProgramError], tuple[object, ...]]:
        """Pickled and copied with all that it says; subclasses are made in ways of their own."""
        return _restored, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        place = f" at {self.file}:{self.span.line}:{self.span.col}" if self.span else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.code}{place}: {self.message}{hint}"


def _restored(kind: type[ProgramError], arguments: tuple[Any, ...], attributes: Mapping[str, Any]) -> ProgramError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error
