"""A program made ready to run: checked with its imports, arguments, data and tools, before any model is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from radixkv.cli.outcome import FAILURE, USAGE, CommandFailure
from radixkv.cli.program_source import ProgramSource
from radixkv.cli.terminal import say
from radixkv.cli.tool_file import read_tools

if TYPE_CHECKING:
    from frontend_lang.checking import CheckReport
    from frontend_lang.errors import ProgramError
    from frontend_lang.modules import Module
    from frontend_lang.sources import TextSource
    from frontend_lang.syntax import ast
    from frontend_lang.tools import ToolSet


@dataclass(frozen=True)
class Inputs:
    """What the command line gives a program: arguments, the entry, a folder of data and a file of tools."""

    arguments: dict[str, str]
    entry: str | None = None
    data: str | None = None
    tools: str | None = None


@dataclass(frozen=True)
class PlannedRun:
    """All that a run needs but the model. `sources` has the texts of the program and its imports by file."""

    module: Module
    inputs: Inputs
    data: TextSource
    tools: ToolSet
    sources: Mapping[str, str]


def planned_run(source: ProgramSource, inputs: Inputs, *, quiet: bool = False) -> PlannedRun:
    """The program, ready to run; what the checker warns of is printed unless `quiet`.

    Raises CommandFailure if the program has errors, or if the entry, arguments or tools do not fit it, and
    click.UsageError for a folder or file that cannot be read.
    """
    from frontend_lang.errors import ProgramError
    from frontend_lang.interpreter.entry import as_options, check_arguments, choose_entry, parameters
    from frontend_lang.interpreter.tools import provided_tools

    report, module = checked_program(source, inputs.entry, quiet=quiet)
    data, tools = data_folder(source, inputs.data), read_tools(inputs.tools)
    try:
        known = parameters(module.program, choose_entry(module.program, inputs.entry))
        check_arguments(known, inputs.arguments, as_options)
        _check_values(known, module, inputs.arguments)
        provided = provided_tools(module, tools)
    except ProgramError as error:
        error.file = error.file or module.file
        raise program_failure(error, report.sources, exit_code=USAGE) from error
    return PlannedRun(module, inputs, data, provided, report.sources)


def _check_values(known: Iterable[ast.Param | ast.Parameter], module: Module, arguments: Mapping[str, object]) -> None:
    """Raises ProgramError at the parameter whose argument is no value of its type."""
    from frontend_lang.errors import ProgramError
    from frontend_lang.types import TypeSystem

    types = TypeSystem(module)
    for parameter in known:
        if parameter.name in arguments and parameter.type is not None:
            try:
                types.from_argument(arguments[parameter.name], parameter.type, f"parameter `{parameter.name}`")
            except ProgramError as error:
                raise error.at(parameter.span, module.file) from None


def checked_program(
    source: ProgramSource, entry: str | None = None, *, quiet: bool = False
) -> tuple[CheckReport, Module]:
    """A program and its imports, checked; warnings are printed unless `quiet`. Raises CommandFailure for errors."""
    from frontend_lang.checking import check_source
    from frontend_lang.sources import FolderSource

    report = check_source(source.text, source.file, entry, modules=FolderSource(source.folder))
    rendered = "\n".join(map(report.shown, report.diagnostics))
    if report.omitted:
        rendered += f"\n{report.omitted} more errors not shown"
    if report.module is None or not report.ok:
        dicts = [diagnostic.to_dict() for diagnostic in report.diagnostics]
        first = next(diagnostic for diagnostic in report.diagnostics if diagnostic.severity == "error")
        code = USAGE if first.code == "E0306" else FAILURE  # no such entry: the command line is wrong, not the program
        raise CommandFailure(
            first.message, kind="program", code=first.code, diagnostics=dicts, rendered=rendered, exit_code=code
        )
    if rendered and not quiet:
        say(rendered, err=True)
    return report, report.module


def data_folder(source: ProgramSource, folder: str | None) -> TextSource:
    """The folder that a program reads from: as given, else its own. Raises click.UsageError."""
    from frontend_lang.sources import FolderSource

    if folder is not None and not Path(folder).is_dir():
        raise click.UsageError(f"--data: {folder} is no folder")
    return FolderSource(source.folder if folder is None else Path(folder))


def program_failure(error: ProgramError, sources: Mapping[str, str], *, exit_code: int = FAILURE) -> CommandFailure:
    """The failure of a program, shown like a diagnostic."""
    from frontend_lang.diagnostics import diagnose

    dicts: list[Mapping[str, object]] = []
    if error.span is not None:
        dicts = [diagnose(error.code, error.message, error.span, error.file, error.hint).to_dict()]
    rendered = shown_error(error, sources)
    return CommandFailure(
        error.message, kind="program", code=error.code, diagnostics=dicts, rendered=rendered, exit_code=exit_code
    )


def shown_error(error: ProgramError, sources: Mapping[str, str]) -> str:
    """An error of a program as lines for a terminal."""
    from frontend_lang.diagnostics import diagnose, render

    if error.span is None:
        hint = f"\n  {error.hint}" if error.hint else ""
        return f"error[{error.code}]: {error.message}{hint}"
    diagnostic = diagnose(error.code, error.message, error.span, error.file, error.hint)
    return render(diagnostic, sources.get(error.file, ""))
