"""`radixkv test`: the test blocks of programs, on scripted answers or on a real model."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from radixkv.cli import interrupts
from radixkv.cli.outcome import FAILURE, CommandFailure
from radixkv.cli.planned_run import checked_program, data_folder, shown_error
from radixkv.cli.program_source import program_paths, read_program
from radixkv.cli.settings import engine_settings
from radixkv.cli.terminal import print_json, say, stdout_kept_for_json
from radixkv.cli.tool_file import read_tools

if TYPE_CHECKING:
    from frontend_lang.errors import ProgramError
    from frontend_lang.modules import Module
    from frontend_lang.syntax import ast
    from frontend_lang.testing import TestHost, TestOutcome
    from frontend_lang.tools import ToolSet
    from radixkv.engine import Engine


@dataclass(frozen=True)
class TestOptions:
    """What the command line says about which tests run, and how."""

    __test__ = False  # the name is no invitation to pytest

    text: str
    live: bool
    update: bool
    tools: str | None
    data: str | None
    as_json: bool


@dataclass(frozen=True)
class TestFile:
    """A program, its tests that are asked for, and the texts of it and its imports by file."""

    __test__ = False

    file: str
    module: Module
    tests: Sequence[ast.Test]
    sources: Mapping[str, str]
    host: TestHost


@dataclass(frozen=True)
class Tested:
    """A test that has run, and the texts that its error may be about."""

    outcome: TestOutcome
    sources: Mapping[str, str]


@click.command("test")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("-k", "text", metavar="TEXT", default="", help="Only tests whose title contains TEXT.")
@click.option("--live", is_flag=True, help="Let the model generate instead of the mocks.")
@click.option("--update", is_flag=True, help="Run live, and write what the model gave into the mocks of the files.")
@click.option("--tools", metavar="FILE.py", help="Python file with the @tool functions that the tests do not mock.")
@click.option("--data", metavar="DIR", help="Folder of the files that programs read; default: each program's own.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: ok, tests, diagnostics.")
@engine_settings
def command(files: tuple[str, ...], **settings: Any) -> int:
    """Run the `test` blocks of programs with scripted answers. A folder stands for all .rkv files below it.

    Without FILE, those below the current folder. Exit code 1 if a test fails.

    \b
    radixkv test examples
    radixkv test examples/debate.rkv -k longer
    """
    own = {name: settings.pop(name) for name in ("text", "live", "update", "tools", "data", "as_json")}
    options = TestOptions(**own)
    with stdout_kept_for_json(options.as_json):
        tested, rejected = _tested(files, options, settings)
    return _end(tested, rejected, options)


def _tested(
    files: tuple[str, ...], options: TestOptions, settings: Mapping[str, Any]
) -> tuple[list[Tested], list[CommandFailure]]:
    """Load and run what was asked for. Raises click.UsageError where there are no tests."""
    tools = read_tools(options.tools)
    loaded, rejected = _loaded(program_paths(files or (".",)), options, tools)
    if not rejected and not any(file.tests for file in loaded):
        titled = f" whose title contains {options.text!r}" if options.text else ""
        raise click.UsageError(f"no test blocks{titled} in {', '.join(files) or 'the current folder'}")
    if options.live or options.update:
        return _all_live(loaded, options, settings), rejected
    interrupts.heed()
    return asyncio.run(_all(loaded, options)), rejected


def _loaded(paths: Sequence[str], options: TestOptions, tools: ToolSet) -> tuple[list[TestFile], list[CommandFailure]]:
    """The programs and their tests, and what is wrong with programs that cannot run, which is printed."""
    loaded, rejected = [], []
    for path in paths:
        try:
            loaded.append(_load(path, options, tools))
        except CommandFailure as failure:
            rejected.append(failure)
            if not options.as_json:
                say(failure.rendered or failure.message, err=True)
    return loaded, rejected


def _load(path: str, options: TestOptions, tools: ToolSet) -> TestFile:
    from frontend_lang.testing import TestHost, find_tests

    source = read_program(path, None)
    report, module = checked_program(source, quiet=True)
    host = TestHost(data_folder(source, options.data), tools)
    return TestFile(path, module, find_tests(module, options.text), report.sources, host)


async def _all(files: Sequence[TestFile], options: TestOptions) -> list[Tested]:
    from frontend_lang.testing import run_tests_async

    tested = []
    for file in files:
        for test in file.tests:
            [outcome] = await run_tests_async(file.module, [test], file.host)
            tested.append(_told(Tested(outcome, file.sources), options))
    return tested


def _all_live(files: Sequence[TestFile], options: TestOptions, settings: Mapping[str, Any]) -> list[Tested]:
    from radixkv.cli.session import with_engine

    async def work(engine: Engine) -> list[Tested]:
        from radixkv.programs import EngineRuntime

        runtime = EngineRuntime(engine)
        live = [replace(file, host=replace(file.host, live=runtime)) for file in files]
        return await _update(live, options) if options.update else await _all(live, options)

    return with_engine(settings, work)


async def _update(files: Sequence[TestFile], options: TestOptions) -> list[Tested]:
    """Run live, and write each file anew as soon as its tests have run; tests that failed keep their mocks."""
    from frontend_lang.testing import record_async

    tested = []
    for file in files:
        recorded = []
        for test in file.tests:
            outcome, answers = await record_async(file.module, test, file.host)
            tested.append(_told(Tested(outcome, file.sources), options))
            if outcome.ok:
                recorded.append((test, answers))
            else:
                say(f"--update: the mock of {outcome.title!r} in {file.file} stays, since it failed", err=True)
        _write_mocks(Path(file.file), recorded)
    return tested


def _write_mocks(path: Path, recorded: Sequence[tuple[ast.Test, Sequence[str]]]) -> None:
    """Only the mocks change: bytes are read and written as they are. Raises CommandFailure."""
    from frontend_lang.mock_update import with_mocks

    before = path.read_bytes()
    after = with_mocks(before.decode(), recorded).encode()
    if after == before:
        return
    try:
        path.write_bytes(after)
    except OSError as error:
        raise CommandFailure(f"--update: cannot write {path}: {error.strerror}") from error


def _told(tested: Tested, options: TestOptions) -> Tested:
    """Print one test: a line, and what went wrong."""
    if options.as_json:
        return tested
    outcome = tested.outcome
    gens = f"{outcome.gens} gen{'s' * (outcome.gens != 1)}"
    say(f" {'ok ' if outcome.ok else 'FAILED'}  {outcome.file}  {outcome.title} ({gens}, {outcome.ms:.0f} ms)")
    if outcome.error is not None:
        say(shown_error(outcome.error, tested.sources))
    for check in outcome.checks:
        if not check["ok"]:
            say(f"check failed: {check['file']}:{check['line']}: {check['message']}")
    return tested


def _end(tested: Sequence[Tested], rejected: Sequence[CommandFailure], options: TestOptions) -> int:
    """The last line, or the JSON object; the exit code."""
    ended = Counter(test.outcome.ok for test in tested)
    ok = not ended[False] and not rejected
    if options.as_json:
        found = [diagnostic for failure in rejected for diagnostic in failure.diagnostics]
        print_json({"ok": ok, "tests": [_json_form(test.outcome) for test in tested], "diagnostics": found})
    else:
        unusable = f", {len(rejected)} file{'s' * (len(rejected) > 1)} with errors" if rejected else ""
        say(f"{len(tested)} test{'s' * (len(tested) != 1)}: {ended[True]} ok, {ended[False]} failed{unusable}")
    return 0 if ok else FAILURE


def _json_form(outcome: TestOutcome) -> dict[str, object]:
    error = outcome.error
    return {
        "file": outcome.file,
        "title": outcome.title,
        "line": outcome.line,
        "ok": outcome.ok,
        "gens": outcome.gens,
        "ms": outcome.ms,
        "checks": [dict(check) for check in outcome.checks],
        "error": None if error is None else _error_form(error),
    }


def _error_form(error: ProgramError) -> dict[str, object]:
    line, col = (None, None) if error.span is None else (error.span.line, error.span.col)
    where = {"file": error.file, "line": line, "col": col, "path": error.path}
    return {"code": error.code, "message": error.message, "hint": error.hint, **where}
