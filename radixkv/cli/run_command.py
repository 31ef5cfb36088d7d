"""`radixkv run`: a program from its text to its result."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click

from radixkv.cli.outcome import FAILURE, USAGE, CommandFailure
from radixkv.cli.program_source import ProgramSource, read_arguments, read_program
from radixkv.cli.settings import engine_settings, planned_option
from radixkv.cli.terminal import print_json, say, visible

if TYPE_CHECKING:
    from rich.console import Console

    from frontend_lang import RunResult
    from frontend_lang.errors import ProgramError
    from frontend_lang.events import Event
    from frontend_lang.syntax import ast
    from frontend_lang.values import Value
    from radixkv.engine import Engine


@dataclass(frozen=True)
class RunOptions:
    """What the command line says about one run."""

    arguments: dict[str, str]
    entry: str | None
    seed: int | None
    as_json: bool
    trace: str | None


@click.command("run")
@click.argument("file", required=False)
@click.option("-c", "text", metavar="TEXT", help="The program itself instead of a file.")
@click.option(
    "-a",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="An argument; NAME=@FILE reads a file, @- stdin; @@ begins text with an @.",
)
@click.option("--entry", metavar="NAME", help="The def to run.")
@click.option("--trace", metavar="FILE", help="Write every event as a JSON line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: value, vars, usage, timing, seed, ….")
@planned_option("--tools")
@planned_option("--data")
@engine_settings
def command(file: str | None, text: str | None, pairs: tuple[str, ...], **settings: Any) -> int:
    """Run a program FILE (`-`: stdin). On a terminal its branches stream live.

    \b
    radixkv run examples/judge.rkv -a essay=@examples/essay.txt
    radixkv run -c 'user "Hi!"; assistant gen reply with max=20'
    """
    source = read_program(file, text)
    options = RunOptions(
        read_arguments(pairs), settings.pop("entry"), settings["seed"], settings.pop("as_json"), settings.pop("trace")
    )
    program = checked_program(source, options)
    from radixkv.cli.session import with_engine

    result = with_engine(settings, partial(_run, program, source, options))
    present_result(result, options)
    return 0


def checked_program(source: ProgramSource, options: RunOptions) -> ast.Program:
    """The program, before any model is loaded; what the checker warns of is printed.

    Raises CommandFailure if the program has errors, or if the entry or the arguments do not fit it.
    """
    from frontend_lang.checking import check_source
    from frontend_lang.diagnostics import render
    from frontend_lang.errors import ProgramError

    report = check_source(source.text, source.file, options.entry)
    rendered = "\n".join(render(diagnostic, source.text) for diagnostic in report.diagnostics)
    if report.omitted:
        rendered += f"\n{report.omitted} more errors not shown"
    if report.program is None or not report.ok:
        dicts = [diagnostic.to_dict() for diagnostic in report.diagnostics]
        first = next(diagnostic for diagnostic in report.diagnostics if diagnostic.severity == "error")
        code = USAGE if first.code == "E0306" else FAILURE  # no such entry: the command line is wrong, not the program
        raise CommandFailure(
            first.message, kind="program", code=first.code, diagnostics=dicts, rendered=rendered, exit_code=code
        )
    if rendered and not options.as_json:
        say(rendered, err=True)
    try:
        _check_arguments(report.program, options)
    except ProgramError as error:
        raise program_failure(error, source, exit_code=USAGE) from error
    return report.program


def _check_arguments(program: ast.Program, options: RunOptions) -> None:
    from frontend_lang.interpreter.entry import check_arguments, choose_entry, parameters

    check_arguments(parameters(program, choose_entry(program, options.entry)), options.arguments)


async def _run(program: ast.Program, source: ProgramSource, options: RunOptions, engine: Engine) -> RunResult:
    from frontend_lang import run_async
    from frontend_lang.errors import ProgramError
    from radixkv.programs import EngineRuntime

    with listeners(options) as on_event:
        try:
            return await run_async(
                program,
                options.arguments,
                runtime=EngineRuntime(engine),
                entry=options.entry,
                seed=options.seed,
                on_event=on_event,
                file=source.file,
            )
        except ProgramError as error:
            raise program_failure(error, source) from error


def program_failure(error: ProgramError, source: ProgramSource, *, exit_code: int = FAILURE) -> CommandFailure:
    """The failure of a program, shown like a diagnostic."""
    from frontend_lang.diagnostics import diagnose, render

    if error.span is None:
        hint = f"\n  {error.hint}" if error.hint else ""
        rendered = f"error[{error.code}]: {error.message}{hint}"
        dicts: list[Mapping[str, object]] = []
    else:
        diagnostic = diagnose(error.code, error.message, error.span, error.file or source.file, error.hint)
        rendered = render(diagnostic, source.text)
        dicts = [diagnostic.to_dict()]
    return CommandFailure(
        error.message, kind="program", code=error.code, diagnostics=dicts, rendered=rendered, exit_code=exit_code
    )


@contextlib.contextmanager
def listeners(options: RunOptions) -> Iterator[Callable[[Event], None] | None]:
    """What listens to the run: a live view on a terminal, a trace file if asked for."""
    with contextlib.ExitStack() as stack:
        active: list[Callable[[Event], None]] = []
        if sys.stdout.isatty() and not options.as_json:
            active.append(stack.enter_context(_live_view()))
        if options.trace:
            active.append(stack.enter_context(trace_writer(options.trace)))
        yield _all_of(active) if active else None


def _all_of(listeners: list[Callable[[Event], None]]) -> Callable[[Event], None]:
    def tell(event: Event) -> None:
        for listen in listeners:
            listen(event)

    return tell


@contextlib.contextmanager
def _live_view() -> Iterator[Callable[[Event], None]]:
    from rich.console import Console

    from radixkv.cli.live_view import ProgramView

    view = ProgramView(Console(highlight=False))
    try:
        yield view
    finally:
        view.close()


@contextlib.contextmanager
def trace_writer(path: str) -> Iterator[Callable[[Event], None]]:
    """Write each event as one JSON line. Raises click.UsageError if the file cannot be written."""
    try:
        stream = open(path, "w", encoding="utf-8", buffering=1)  # noqa: SIM115  closed below
    except OSError as error:
        raise click.UsageError(f"--trace: cannot write {path}: {error.strerror}") from error
    with stream:
        yield lambda event: _write_line(stream, event)


def _write_line(stream: IO[str], event: Event) -> None:
    stream.write(json.dumps(event.to_dict(), ensure_ascii=False) + "\n")


def present_result(result: RunResult, options: RunOptions) -> None:
    """Print the result: one object with --json, else the value, else the variables."""
    if options.as_json:
        print_json(result.to_dict())
        return
    if sys.stdout.isatty():
        from rich.console import Console

        _present_on_terminal(result, Console(highlight=False))
        return
    if options.seed is None and result.usage.completion_tokens:
        from radixkv.cli.session import tell_seed

        tell_seed(result.seed)
    if result.value is not None:
        say(value_text(result.value))
    else:
        for name, value in result.vars.items():
            say(f"{name}: {value_text(value)}")


def _present_on_terminal(result: RunResult, console: Console) -> None:
    from rich.text import Text

    if result.value is not None:
        console.print(Text(visible(value_text(result.value, indent=2)), style="bold"), soft_wrap=True)
    console.print(Text(footer(result), style="dim"))


def value_text(value: Value, indent: int | None = None) -> str:
    """A value as a person reads it: text as it is, all else as the JSON form has it."""
    from frontend_lang.values import to_json_safe

    return value if isinstance(value, str) else json.dumps(to_json_safe(value), ensure_ascii=False, indent=indent)


def footer(result: RunResult) -> str:
    """What the run cost, in one line."""
    usage = result.usage
    prompt = f"{usage.prompt_tokens} prompt tokens: {usage.cached_tokens} cached, {usage.computed_tokens} computed"
    return f"{prompt} · {usage.completion_tokens} generated · {result.timing.wall_s:.1f} s · seed {result.seed}"
