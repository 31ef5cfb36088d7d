"""`radixkv check`: every error of programs in one pass, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from radixkv.cli.program_source import ProgramSource, read_programs
from radixkv.cli.terminal import print_json, say

if TYPE_CHECKING:
    from frontend_lang.checking import CheckReport
    from frontend_lang.diagnostics import Diagnostic


@click.command("check")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("-c", "text", metavar="TEXT", help="The program itself instead of a file.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object: ok, diagnostics, worst_case; several files: files."
)
def command(files: tuple[str, ...], text: str | None, as_json: bool) -> int:
    """Check programs: syntax, names, scope, types, limits, imports. A folder stands for all .rkv files below it.

    Exit code 1 if there are errors.

    \b
    radixkv check examples/judge.rkv
    radixkv check examples
    echo 'user: Hi' | radixkv check -
    """
    reports = _without_parts({source.file: _checked(source) for source in read_programs(files, text)})
    if as_json:
        print_json(_json_form(reports))
    else:
        _present(reports)
    return 0 if all(report.ok for report in reports.values()) else 1


def _checked(source: ProgramSource) -> CheckReport:
    from frontend_lang.checking import check_source
    from frontend_lang.sources import FolderSource

    return check_source(source.text, source.file, modules=FolderSource(source.folder))


def _without_parts(reports: dict[str, CheckReport]) -> dict[str, CheckReport]:
    """Leave out modules that reach for files beside their folder: they are checked with the program that imports them.

    A program's imports stay within its folder, a module's within that of its program; by itself it has a smaller one.
    """
    imported = {file for program, report in reports.items() for file in report.sources if file != program}
    return {
        file: report
        for file, report in reports.items()
        if file not in imported or all(found.code != "E0703" for found in report.diagnostics)
    }


def _json_form(reports: dict[str, CheckReport]) -> dict[str, object]:
    """One report as it is; several as a list under `files`."""
    if len(reports) == 1:
        return next(iter(reports.values())).to_dict()
    files = [{"file": file, **report.to_dict()} for file, report in reports.items()]
    return {"ok": all(report.ok for report in reports.values()), "files": files}


def _present(reports: dict[str, CheckReport]) -> None:
    shown: set[Diagnostic] = set()
    for file, report in reports.items():
        for diagnostic in report.diagnostics:
            if diagnostic not in shown:  # of a module that several programs import
                say(report.shown(diagnostic), err=True)
            shown.add(diagnostic)
        say(report.summary() if len(reports) == 1 else f"{file}: {report.summary()}")
