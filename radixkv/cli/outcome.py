"""How a command ends badly: the message, its JSON form and the exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from radixkv.cli.terminal import say
from radixkv.errors import InvalidRequest, NotInThisVersion, RadixKVError

FAILURE = 1
USAGE = 2
INTERRUPTED = 130


class CommandFailure(click.ClickException):
    """A command could not do its work; the text is for the user, `diagnostics` for tools."""

    def __init__(
        self,
        message: str,
        *,
        kind: str = "failure",
        code: str | None = None,
        diagnostics: Sequence[Mapping[str, object]] = (),
    ) -> None:
        super().__init__(message)
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

    def to_json(self) -> str:
        """The object that a failing command prints with `--json`."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return json.dumps({"error": error, "diagnostics": list(self.diagnostics)}, ensure_ascii=False)


def report_of(error: Exception) -> ErrorReport:
    """The report of an error; one that is no mistake of the user is re-raised, so that its traceback is seen."""
    match error:
        case CommandFailure():
            return ErrorReport(error.message, error.kind, None, error.code, error.exit_code, error.diagnostics)
        case click.UsageError():
            param = getattr(error, "param", None)
            return ErrorReport(_usage_text(error), "usage", param.name if param else None, None, USAGE)
        case click.Abort():
            return ErrorReport("interrupted", "interrupted", None, None, INTERRUPTED)
        case click.ClickException():
            return ErrorReport(error.format_message(), "failure", None, None, error.exit_code)
        case InvalidRequest():
            return ErrorReport(str(error), "invalid_request", error.field, None, USAGE)
        case NotInThisVersion():
            return ErrorReport(str(error), "not_in_this_version", None, None, USAGE)
        case RadixKVError():
            return ErrorReport(str(error), type(error).__name__, None, None, FAILURE)
        case OSError():
            return ErrorReport(str(error), "os", error.filename, None, FAILURE)
        case _:
            raise error


def _usage_text(error: click.UsageError) -> str:
    hint = f"; try `{error.ctx.command_path} --help`" if error.ctx else ""
    return error.format_message().rstrip(".") + hint


def present_failure(error: Exception, *, as_json: bool) -> int:
    """Print an error as text on stderr, or as JSON on stdout; the exit code."""
    report = report_of(error)
    if as_json:
        click.echo(report.to_json())
    elif report.diagnostics:
        say(report.message, err=True)
    else:
        say(f"error: {report.message}", err=True)
    return report.exit_code
