"""Running a program from Python.

result = frontend_lang.run(source, {"city": "Oslo"}, runtime=runtime, seed=7)
result = await frontend_lang.run_async(source, {"city": "Oslo"}, runtime=runtime)
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from frontend_lang.checking import check_source
from frontend_lang.diagnostics import Diagnostic
from frontend_lang.errors import ProgramError
from frontend_lang.events import Listener
from frontend_lang.interpreter.entry import Inputs
from frontend_lang.interpreter.execution import Execution
from frontend_lang.interpreter.tools import provided_tools
from frontend_lang.modules import Module
from frontend_lang.performing import RunSettings, perform
from frontend_lang.result import RunResult
from frontend_lang.running.limits import Limits
from frontend_lang.runtime import Runtime
from frontend_lang.sources import TextSource
from frontend_lang.syntax import ast
from frontend_lang.tools import HostTools


class ProgramRejected(ProgramError):
    """The program did not pass the check; `diagnostics` has what was found up to error 20, this is the first.

    `sources` has the text of each file that a diagnostic names.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic], sources: Mapping[str, str] | None = None) -> None:
        first = next(found for found in diagnostics if found.severity == "error")
        super().__init__(first.code, first.message, first.hint, span=first, file=first.file)
        self.diagnostics = tuple(diagnostics)
        self.sources = sources or {}


def load(source: str, file: str = "<string>", entry: str | None = None, *, modules: TextSource | None = None) -> Module:
    """Parse, link and check a program that shall run from `entry`; its imports come from `modules`.

    Raises ProgramRejected with what was found.
    """
    report = check_source(source, file, entry, modules=modules, runnable=True)
    if report.module is not None and report.ok:
        return report.module
    raise ProgramRejected(report.diagnostics, report.sources)


async def run_async(
    source: str | Module | ast.Program,
    args: Mapping[str, object] | None = None,
    *,
    runtime: Runtime,
    entry: str | None = None,
    seed: int | None = None,
    limits: Limits | None = None,
    on_event: Listener | None = None,
    file: str = "<string>",
    modules: TextSource | None = None,
    data: TextSource | None = None,
    tools: HostTools = (),
) -> RunResult:
    """Run a program on a runtime.

    `source` is text or what `load` returned. Imports of a text come from `modules`, the files that the program reads
    from `data` (none by default), its tools are implemented by `tools`. An argument that is a str is taken as text
    where the parameter is `str` and as JSON elsewhere; other Python values are passed as they are. `seed`
    (0..2**63-1) is drawn if not given and is in the result. `on_event` is called for every event, in order;
    without it events cost nothing.

    Raises ProgramRejected (parse, check) or ProgramError (run). When it returns, raises or is cancelled, every context
    that the run opened has been released.
    """
    if args is not None and not isinstance(args, Mapping):
        raise TypeError(f'args={args!r:.60}, expected arguments by name: {{"city": "Oslo"}}')
    module = _module(source, file, entry, modules)
    inputs = Inputs(dict(args or {}))
    settings = RunSettings(runtime, seed, limits, on_event, data, provided_tools(module, tools))
    return await perform(settings, lambda run: Execution(module, run, inputs).finish(entry))


def run(
    source: str | Module | ast.Program,
    args: Mapping[str, object] | None = None,
    *,
    runtime: Runtime,
    entry: str | None = None,
    seed: int | None = None,
    limits: Limits | None = None,
    on_event: Listener | None = None,
    file: str = "<string>",
    modules: TextSource | None = None,
    data: TextSource | None = None,
    tools: HostTools = (),
) -> RunResult:
    """`run_async` on an event loop of its own. Raises E0810 where a loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise ProgramError("E0810", "`run` inside a running event loop", "await run_async(…)")
    return asyncio.run(
        run_async(
            source,
            args,
            runtime=runtime,
            entry=entry,
            seed=seed,
            limits=limits,
            on_event=on_event,
            file=file,
            modules=modules,
            data=data,
            tools=tools,
        )
    )


def _module(source: str | Module | ast.Program, file: str, entry: str | None, modules: TextSource | None) -> Module:
    if isinstance(source, str):
        return load(source, file, entry, modules=modules)
    if not isinstance(source, (Module, ast.Program)):
        raise TypeError(f"source={source!r:.60}, expected the text of a program, or what `load` returned")
    return source if isinstance(source, Module) else Module(source)
