"""`radixkv check`: every error of a program in one pass, without a model."""

from __future__ import annotations

import click

from radixkv.cli.program_source import read_program
from radixkv.cli.terminal import print_json, say


@click.command("check")
@click.argument("file", required=False)
@click.option("-c", "text", metavar="TEXT", help="The program itself instead of a file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: ok, diagnostics, worst_case.")
def command(file: str | None, text: str | None, as_json: bool) -> int:
    """Check a program: syntax, names, scope, limits. Exit code 1 if it has errors.

    \b
    radixkv check examples/judge.rkv
    echo 'user: Hi' | radixkv check -
    """
    from frontend_lang.checking import check_source
    from frontend_lang.diagnostics import render

    source = read_program(file, text)
    report = check_source(source.text, source.file)
    if as_json:
        print_json(report.to_dict())
    else:
        for diagnostic in report.diagnostics:
            say(render(diagnostic, source.text), err=True)
        say(report.summary())
    return 0 if report.ok else 1
