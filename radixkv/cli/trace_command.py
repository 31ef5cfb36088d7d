"""`radixkv trace`: what happened in a run, from the events that `run --trace` wrote."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from radixkv.cli import interrupts
from radixkv.cli.outcome import FAILURE, USAGE, CommandFailure
from radixkv.cli.planned_run import Inputs, checked_program, data_folder, program_failure
from radixkv.cli.program_source import read_arguments, read_program
from radixkv.cli.settings import model_setting
from radixkv.cli.terminal import print_json, say, terminal_width

if TYPE_CHECKING:
    from frontend_lang.events import Event
    from frontend_lang.tracing import Replay, Timeline, Trace
    from radixkv.programs.token_counter import TokenCounter

PLAIN_WIDTH = 100


@dataclass(frozen=True)
class Shown:
    """How a trace is shown."""

    as_json: bool
    html: str | None


@click.command("trace")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: runs; with --replay: replay.")
@click.option("--html", metavar="OUT.html", help="Write one page that shows everything, without network.")
@click.option("--replay", "program", metavar="FILE.rkv", help="Run the program again with the recorded answers.")
@click.option("-a", "pairs", multiple=True, metavar="NAME=VALUE", help="With --replay: an argument, as for `run`.")
@click.option("--entry", metavar="NAME", help="With --replay: the def to run.")
@click.option("--data", metavar="DIR", help="With --replay: folder of the files that the program reads.")
@model_setting
def command(
    file: str,
    as_json: bool,
    html: str | None,
    program: str | None,
    pairs: tuple[str, ...],
    entry: str | None,
    data: str | None,
    model: str,
) -> int:
    """Show a trace FILE as a timeline: a line per branch, bars to scale.

    With --replay no model is asked: gens, selects and tools answer as recorded, and the first difference is told. Exit
    code 1 if there is one.

    \b
    radixkv trace examples/demo.trace.jsonl
    radixkv trace examples/demo.trace.jsonl --replay examples/demo.rkv
    """
    trace = _read(file)
    if program is not None:
        inputs = Inputs(read_arguments(pairs), entry, data)
        return _present_replay(_replayed(_only_run(trace, file), program, inputs, model), as_json)
    if pairs or entry or data:
        raise click.UsageError("-a, --entry and --data go with --replay", click.get_current_context())
    _present(trace, file, Shown(as_json, html))
    return 0


def _read(file: str) -> Trace:
    from frontend_lang.tracing import TraceError, read_trace

    try:
        with sys.stdin if file == "-" else open(file, encoding="utf-8") as stream:
            trace = read_trace(stream, file)
    except OSError as error:
        raise click.UsageError(f"cannot read {file}: {error.strerror}", click.get_current_context()) from error
    except UnicodeDecodeError as error:
        raise CommandFailure(f"{file} is not UTF-8 text: {error.reason}") from error
    except TraceError as error:
        raise CommandFailure(str(error), kind="trace") from error
    if trace.cut_line is not None:
        say(f"{file}:{trace.cut_line}: the last line is cut off and left out", err=True)
    return trace


def _present(trace: Trace, file: str, shown: Shown) -> None:
    from frontend_lang.tracing import timeline

    timelines = [timeline(events) for events in trace.runs()]
    if shown.html is not None:
        _write_page(timelines, file, shown.html)
    if shown.as_json:
        print_json({"runs": [each.summary() for each in timelines]})
    elif shown.html is None:
        _print(timelines)


def _write_page(timelines: Sequence[Timeline], file: str, target: str) -> None:
    from frontend_lang.tracing import trace_page

    try:
        Path(target).write_text(trace_page(timelines, Path(file).name), encoding="utf-8")
    except OSError as error:
        message = f"--html: cannot write {target}: {error.strerror}"
        raise click.UsageError(message, click.get_current_context()) from error
    say(f"wrote {target}", err=True)


def _print(timelines: Sequence[Timeline]) -> None:
    from rich.console import Console

    from radixkv.cli.trace_view import timeline_lines

    width = terminal_width(sys.stdout)
    console = Console(width=width or PLAIN_WIDTH, highlight=False)
    for each in timelines:
        for line in timeline_lines(each, width or PLAIN_WIDTH):
            if width is None:
                say(line.plain)
            else:
                console.print(line, soft_wrap=True)


def _only_run(trace: Trace, file: str) -> tuple[Event, ...]:
    runs = trace.runs()
    if len(runs) > 1:
        raise CommandFailure(f"{file} has {len(runs)} runs; --replay needs a trace of one", exit_code=USAGE)
    return runs[0]


def _replayed(events: Sequence[Event], program: str, inputs: Inputs, model: str) -> Replay:
    from frontend_lang.errors import ProgramError
    from frontend_lang.interpreter.entry import as_options, check_arguments, choose_entry, parameters
    from frontend_lang.tracing import replay

    source = read_program(program, None)
    report, module = checked_program(source, inputs.entry, quiet=True)
    interrupts.heed()
    try:
        known = parameters(module.program, choose_entry(module.program, inputs.entry))
        check_arguments(known, inputs.arguments, as_options)
    except ProgramError as error:
        error.file = error.file or module.file
        raise program_failure(error, report.sources, exit_code=USAGE) from error
    work = replay(
        events,
        module,
        inputs.arguments,
        entry=inputs.entry,
        data=data_folder(source, inputs.data),
        count=_Counter(model),
    )
    try:
        return asyncio.run(work)
    except ProgramError as error:
        raise program_failure(error, report.sources, exit_code=USAGE) from error
    except ValueError as error:
        raise CommandFailure(str(error), kind="trace") from error


class _Counter:
    """Counts tokens with the model's tokenizer, which is loaded when it is first needed."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._counter: TokenCounter | None = None

    def __call__(self, text: str) -> int:
        """Tokens of a text by itself."""
        from radixkv.cli.explain_command import token_counter

        if self._counter is None:
            self._counter = token_counter(self._model)
        return self._counter.count(text)


def _present_replay(replayed: Replay, as_json: bool) -> int:
    same = replayed.divergence is None
    value = None if replayed.result is None else replayed.result.to_dict()["value"]
    if as_json:
        variables = {} if replayed.result is None else replayed.result.to_dict()["vars"]
        missing = list(replayed.not_compared)
        told = {"same": same, "divergence": replayed.divergence, "not_compared": missing}
        print_json({"replay": {**told, "value": value, "vars": variables}})
    elif same:
        say("the replay is the same as the recorded run")
        for what in replayed.not_compared:
            say(f"not compared: {what}", err=True)
    else:
        say(f"the replay differs: {replayed.divergence}", err=True)
    return 0 if same else FAILURE
