"""`radixkv explain`: what a run would do, told with the tokenizer alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from radixkv.cli.outcome import USAGE
from radixkv.cli.planned_run import checked_program, data_folder, program_failure
from radixkv.cli.program_source import read_arguments, read_program
from radixkv.cli.settings import check_settings_file, model_setting
from radixkv.cli.terminal import print_json, say, terminal_width, visible

if TYPE_CHECKING:
    from radixkv.programs.token_counter import TokenCounter


@click.command("explain")
@click.argument("file", required=False)
@click.option("-c", "text", metavar="TEXT", help="The program itself instead of a file.")
@click.option(
    "-a", "pairs", multiple=True, metavar="NAME=VALUE", help="An argument, as for `run`; those not given count as ?."
)
@click.option("--entry", metavar="NAME", help="The def to explain.")
@click.option("--data", metavar="DIR", help="Folder of the files that the program reads; default: the program's.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: sites, totals, missing, warnings.")
@model_setting
def command(
    file: str | None,
    text: str | None,
    pairs: tuple[str, ...],
    entry: str | None,
    data: str | None,
    as_json: bool,
    model: str,
) -> int:
    """Show what a run of a program FILE would do: calls, tokens, shared prefixes, worst cases. Loads no weights.

    44: exactly so many tokens; ≤348: something generated is in it; ~350: an estimate; ?: nobody knows yet.

    \b
    radixkv explain examples/sentiment.rkv
    radixkv explain examples/judge.rkv -a essay=@examples/essay.txt
    """
    from frontend_lang.errors import ProgramError
    from frontend_lang.explain import explain

    check_settings_file()
    source = read_program(file, text)
    report, module = checked_program(source, entry, quiet=as_json)
    arguments, folder = read_arguments(pairs), data_folder(source, data)
    try:
        plan = explain(module, arguments, counter=token_counter(model), entry=entry, data=folder)
    except ProgramError as error:
        raise program_failure(error, report.sources, exit_code=USAGE) from error
    if as_json:
        print_json(plan.to_dict())
        return 0
    from radixkv.cli.plan_view import plan_lines

    for line in plan_lines(plan, terminal_width(sys.stdout)):
        say(visible(line))
    return 0


def token_counter(model: str) -> TokenCounter:
    """Counts with the tokenizer and the chat template of a model."""
    from functools import partial

    from radixkv.models import locate_model
    from radixkv.programs.token_counter import TokenCounter
    from radixkv.tokenizer import load_tokenizer

    return TokenCounter(load_tokenizer(locate_model(model, progress=partial(say, err=True))))
