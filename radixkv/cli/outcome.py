"""How a command ends badly: the message, its JSON form and the exit code."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import click

from radixkv.cli.main import INTERRUPTED
from radixkv.cli.terminal import print_json, say
from radixkv.errors import InvalidRequest, NotInThisVersion, RadixKVError

FAILURE = 1
USAGE = 2

_LOG: Final = logging.getLogger("radixkv.cli")
_OUT_OF_MEMORY: Final = ("not enough memory", "can't allocate memory", "out of memory")  # what torch says


class CommandFailure(click.ClickException):
    """A command could not do its work; `rendered` is for a person (None: the message), `diagnostics` for tools."""

    def __init__(
        self,
        message: str,
        *,
        kind: str = "failure",
        code: str | None = None,
        diagnostics: Sequence[Mapping[str, object]] = (),
        rendered: str | None = None,
        exit_code: int = FAILURE,
    ) -> None:
        super().__init__(message)
        self.status = exit_code
        self.rendered = rendered
        self.kind = kind
        self.code = code
        self.diagnostics = diagnostics


@dataclass(frozen=True)
class ErrorReport:
    """What is shown of an error, whichever its class."""

    message: str
    kind: str
    param: str | None
    code: str | None
    exit_code: int
    diagnostics: Sequence[Mapping[str, object]] = ()
    rendered: str | None = None

    def to_dict(self) -> dict[str, object]:
        """The object that a failing command prints with `--json`."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return {"error": error, "diagnostics": list(self.diagnostics)}

    def to_text(self) -> str:
        """What a person reads."""
        return self.rendered or f"error: {self.message}"


def run_command(arguments: Sequence[str]) -> int:
    """Run `radixkv ARGUMENTS…`; its exit code. An error has been printed by then."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal or pipe of another encoding must not end a run
    try:
        from radixkv.cli.commands import cli

        return int(cli.main(list(arguments), prog_name="radixkv", standalone_mode=False) or 0)
    except Exception as error:  # noqa: BLE001  the one place where errors become text for a person
        return present_failure(error, as_json="--json" in arguments)


def present_failure(error: Exception, *, as_json: bool) -> int:
    """Print an error as text on stderr, or as JSON on stdout; the exit code."""
    report = report_of(error)
    if as_json:
        print_json(report.to_dict())
    else:
        say(report.to_text(), err=True)
    return report.exit_code


def report_of(error: Exception) -> ErrorReport:
    """The report of an error, whatever it is."""
    match error:
        case CommandFailure():
            return ErrorReport(
                error.message, error.kind, None, error.code, error.status, error.diagnostics, error.rendered
            )
        case click.exceptions.NoArgsIsHelpError():
            path = error.ctx.command_path if error.ctx else "radixkv"
            message = f"no command; try `{path} --help`"
            return ErrorReport(message, "usage", None, None, USAGE, rendered=error.format_message())
        case click.UsageError():
            param = getattr(error, "param", None)
            return ErrorReport(_usage_text(error), "usage", param.name if param else None, None, USAGE)
        case click.Abort():
            return ErrorReport("interrupted", "interrupted", None, None, INTERRUPTED, rendered="interrupted")
        case click.ClickException():
            return ErrorReport(error.format_message(), "failure", None, None, error.exit_code)
        case InvalidRequest():
            return ErrorReport(_text(error), "invalid_request", error.field, None, USAGE)
        case NotInThisVersion():
            return ErrorReport(_text(error), "not_in_this_version", None, None, USAGE)
        case RadixKVError():
            return ErrorReport(_text(error), type(error).__name__, None, None, FAILURE)
        case OSError():
            return ErrorReport(str(error), "os", error.filename, None, FAILURE)
        case _:
            return _report_of_unexpected(error)


def _report_of_unexpected(error: Exception) -> ErrorReport:
    """One line; the traceback goes to the log, which shows it at --log-level debug."""
    _LOG.debug("unexpected error", exc_info=error)
    what = " ".join(str(error).split())
    if isinstance(error, MemoryError) or any(sign in what for sign in _OUT_OF_MEMORY):
        message = "out of memory: lower --kv-memory, or choose a smaller model"
        return ErrorReport(message, "out_of_memory", None, None, FAILURE)
    message = f"unexpected {type(error).__name__}: {what} (--log-level debug shows where)"
    return ErrorReport(message, "internal", None, None, FAILURE)


def _text(error: Exception) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


_NO_HELP: Final = ("cannot read", "is not UTF-8 text", "no .rkv file below", "no test blocks")


def _usage_text(error: click.UsageError) -> str:
    """With a way to the help, except where a file is what is wrong."""
    of_a_file = any(sign in error.message for sign in _NO_HELP)
    hint = f"; try `{error.ctx.command_path} --help`" if error.ctx and not of_a_file else ""
    return error.format_message().rstrip(".") + hint
