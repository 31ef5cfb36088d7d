"""Errors of Python bodies: where they belong in the host's source, and how they pass through a run unchanged."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

from frontend_lang.errors import ProgramError
from frontend_lang.running.places import Placed
from frontend_lang.running.run import as_program_error, is_being_cancelled

_OWN = __package__
_T = TypeVar("_T")


class Fail(ProgramError):
    """Raised by a body to end its prompt with a message, as `fail` does in a text program."""

    def __init__(self, message: str) -> None:
        super().__init__("E0610", message)


class Carried(ProgramError):
    """An exception of a body on its way through the run; whoever waits for the body gets `original` itself.

    What is no Exception, such as SystemExit, ends the whole run.
    """

    def __init__(self, original: BaseException) -> None:
        code = "E0701" if isinstance(original, Exception) else "E0801"
        super().__init__(code, f"{type(original).__name__}: {original}")
        self.original = original


@contextmanager
def carrying() -> Iterator[None]:
    """Let any exception of the block through a run, but for the cancellation of the task that runs it."""
    try:
        yield
    except (ProgramError, GeneratorExit):
        raise
    except asyncio.CancelledError as error:
        if is_being_cancelled():
            raise
        raise Carried(error) from error
    except BaseException as error:
        raise Carried(error) from error


@contextmanager
def placing_in_body(path: str) -> Iterator[None]:
    """Give an error of the body that the block calls, if it has no place, the line of the body that has led to it."""
    try:
        yield
    except ProgramError as error:
        where = _line_of_body(error.__traceback__)
        if where is not None:
            error.at(where, where.file, path)
        raise


def _line_of_body(trace: TracebackType | None) -> CallSite | None:
    """The innermost line of the host before the traceback comes back to this package."""
    found: CallSite | None = None
    while trace is not None:
        code, outside = trace.tb_frame.f_code, trace.tb_frame.f_globals.get("__package__") != _OWN
        if found is not None and not outside:
            break
        if outside:
            found = CallSite(code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return found


def carried(function: Callable[[], _T], path: str) -> _T:
    """What the function gives, in a thread in which nothing but its own code cancels anything."""
    try:
        with placing_in_body(path):
            return function()
    except ProgramError:
        raise
    except BaseException as error:
        raise Carried(error) from error


class unwrapped:  # noqa: N801 - used as `with unwrapped():`
    """Raise exceptions of bodies as they were, with the traceback and the context that they had."""

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Carried):
            original, context = error.original, error.original.__context__
            try:
                raise original
            finally:
                original.__context__ = context


@dataclass(frozen=True, slots=True)
class CallSite:
    """A line of the host's source that used the API; the column is not known."""

    file: str
    line: int
    col: int = 1

    @property
    def end_line(self) -> int:
        """The same line."""
        return self.line

    @property
    def end_col(self) -> int:
        """The column itself: an empty span."""
        return self.col

    def placed(self, path: str) -> Placed:
        """Gives errors this place."""

        def place(error: Exception) -> Exception:
            return as_program_error(error).at(self, self.file, path)

        return place


def call_site() -> CallSite:
    """The innermost line outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == _OWN:
        frame = frame.f_back
    return CallSite(frame.f_code.co_filename, frame.f_lineno)
