"""A run from its first event to its last, whatever the work."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from frontend_lang.errors import ProgramError
from frontend_lang.events import EventLog, Listener
from frontend_lang.host_arguments import check_run_arguments
from frontend_lang.interpreter.execution import Ended
from frontend_lang.result import RunResult, Timing
from frontend_lang.running.limits import Limits
from frontend_lang.running.run import Run, usage_record
from frontend_lang.runtime import Runtime
from frontend_lang.seeds import draw_run_seed
from frontend_lang.sources import TextSource
from frontend_lang.tools import ToolSet
from frontend_lang.values import to_json_safe

Work = Callable[[Run], Awaitable[Ended]]
"""Does the work of a run and closes the run, whatever happens."""


@dataclass(frozen=True)
class RunSettings:
    """What a run is given by its host: see `frontend_lang.run_async`. Raises TypeError, E0401."""

    runtime: Runtime
    seed: int | None = None
    limits: Limits | None = None
    on_event: Listener | None = None
    data: TextSource | None = None
    tools: ToolSet | None = None

    def __post_init__(self) -> None:
        check_run_arguments(
            runtime=self.runtime, seed=self.seed, limits=self.limits, on_event=self.on_event, data=self.data
        )


async def perform(settings: RunSettings, work: Work) -> RunResult:
    """Do the work as a run of its own. Raises what the work raises; a ProgramError is told to the listener too."""
    seed = draw_run_seed() if settings.seed is None else settings.seed
    events = EventLog(uuid.uuid4().hex[:12], settings.on_event)
    run = Run(settings.runtime, seed, settings.limits or Limits(), events, settings.data, settings.tools)
    _announce(events, settings.runtime, seed)
    try:
        ended = await work(run)
    except ProgramError as error:
        _report(events, error)
        raise
    return _result(ended, run)


def _announce(events: EventLog, runtime: Runtime, seed: int) -> None:
    if events.active:
        info = runtime.info
        events.emit("run.start", {**info.details, "version": info.version, "model": info.model, "seed": seed})


def _report(events: EventLog, error: ProgramError) -> None:
    if events.active:
        line, col = (error.span.line, error.span.col) if error.span is not None else (None, None)
        what = {"code": error.code, "message": error.message, "hint": error.hint}
        events.emit("error", {**what, "file": error.file, "line": line, "col": col}, path=error.path)


def _result(ended: Ended, run: Run) -> RunResult:
    info = run.runtime.info
    timing = Timing(run.events.elapsed_s(), run.first_text_s)
    if run.events.active:
        run.emit_usage()
        run.events.emit("run.end", {"value": to_json_safe(ended.value), "usage": usage_record(run.usage)})
    return RunResult(
        ended.value, ended.names, run.usage, tuple(run.checks), run.seed, info.deterministic, info.model, timing
    )
