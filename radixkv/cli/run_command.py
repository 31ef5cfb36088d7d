"""`radixkv run`: a program from its text to its result."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any, cast

import click

from radixkv.cli.limit_option import read_limits
from radixkv.cli.outcome import FAILURE
from radixkv.cli.planned_run import Inputs, PlannedRun, planned_run, program_failure
from radixkv.cli.program_source import read_arguments, read_program
from radixkv.cli.settings import engine_settings
from radixkv.cli.terminal import print_json, say, stdout_kept_for_json, visible

if TYPE_CHECKING:
    from rich.console import Console

    from frontend_lang import Limits, RunResult
    from frontend_lang.events import Event
    from frontend_lang.values import Value
    from radixkv.engine import Engine


@dataclass(frozen=True)
class Shown:
    """How one run is shown: the seed if it was drawn (`seed` is None), as JSON, with its events in a trace file."""

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
@click.option(
    "--limit", "limits", multiple=True, metavar="NAME=VALUE", help="A limit of the run: tokens=2000, wall=30s, …"
)
@click.option("--tools", metavar="FILE.py", help="Python file whose @tool functions the program may call.")
@click.option("--data", metavar="DIR", help="Folder of the files that the program reads; default: the program's.")
@engine_settings
def command(file: str | None, text: str | None, pairs: tuple[str, ...], **settings: Any) -> int:
    """Run a program FILE (`-`: stdin). On a terminal its branches stream live.

    \b
    radixkv run examples/judge.rkv -a essay=@examples/essay.txt
    radixkv run -c 'user "Hi!"; assistant gen reply with max=20'
    """
    source = read_program(file, text)
    inputs = Inputs(read_arguments(pairs), settings.pop("entry"), settings.pop("data"), settings.pop("tools"))
    shown = Shown(settings["seed"], settings.pop("as_json"), settings.pop("trace"))
    limits = read_limits(settings.pop("limits"))
    with stdout_kept_for_json(shown.as_json):
        planned = planned_run(source, inputs, quiet=shown.as_json)
        from radixkv.cli.session import with_engine

        result = with_engine(settings, partial(_run, planned, shown, limits))
    present_result(result, shown)
    return FAILURE if failed_checks(result.checks) else 0


async def _run(planned: PlannedRun, shown: Shown, limits: Limits, engine: Engine) -> RunResult:
    from frontend_lang import run_async
    from frontend_lang.errors import ProgramError
    from radixkv.programs import EngineRuntime

    with listeners(shown) as on_event:
        try:
            return await run_async(
                planned.module,
                planned.inputs.arguments,
                runtime=EngineRuntime(engine),
                entry=planned.inputs.entry,
                seed=shown.seed,
                limits=limits,
                on_event=on_event,
                data=planned.data,
                tools=planned.tools,
            )
        except ProgramError as error:
            raise program_failure(error, planned.sources) from error


@contextlib.contextmanager
def listeners(shown: Shown) -> Iterator[Callable[[Event], None] | None]:
    """What listens to the run: a live view on a terminal, emitted values anywhere else, a trace file if asked for."""
    with contextlib.ExitStack() as stack:
        active: list[Callable[[Event], None]] = []
        if sys.stdout.isatty() and not shown.as_json:
            active.append(stack.enter_context(_live_view()))
        elif not shown.as_json:
            active.append(_say_emitted)
        if shown.trace:
            active.append(stack.enter_context(trace_writer(shown.trace)))
        yield _all_of(active) if active else None


def _say_emitted(event: Event) -> None:
    """An emitted value is news of a run under way; stdout is for its result."""
    if event.event == "emit":
        say(f"emit: {value_text(cast('Value', event.data['value']))}", err=True)


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


def present_result(result: RunResult, shown: Shown) -> None:
    """Print the result: one object with --json, else failed checks, and the value or the variables."""
    if shown.as_json:
        print_json(result.to_dict())
        return
    for line in failed_checks(result.checks):
        say(line, err=True)
    if sys.stdout.isatty():
        from rich.console import Console

        _present_on_terminal(result, Console(highlight=False))
        return
    if shown.seed is None and result.usage.completion_tokens:
        from radixkv.cli.session import tell_seed

        tell_seed(result.seed)
    if result.value is not None:
        say(value_text(result.value))
    else:
        for name, value in result.vars.items():
            say(f"{name}: {value_text(value)}")


def failed_checks(checks: Iterable[Mapping[str, object]]) -> list[str]:
    """A line for each `check` that did not hold."""
    return [f"check failed: {check['file']}:{check['line']}: {check['message']}" for check in checks if not check["ok"]]


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
