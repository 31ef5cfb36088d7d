"""A run from its first event to its last, whatever the work."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from frontend_lang.errors import ProgramError
from frontend_lang.events import EventLog, Listener
from frontend_lang.interpreter.execution import Ended
from frontend_lang.result import RunResult, Timing
from frontend_lang.running.limits import Limits
from frontend_lang.running.run import Run, usage_record
from frontend_lang.runtime import Runtime
from frontend_lang.seeds import MAX_SEED, draw_run_seed
from frontend_lang.sources import TextSource
from frontend_lang.tools import ToolSet
from frontend_lang.values import to_json_safe

Work = Callable[[Run], Awaitable[Ended]]
"""Does the work of a run and closes the run, whatever happens."""


@dataclass(frozen=True)
class RunSettings:
    """What a run is given by its host: see `frontend_lang.run_async`."""

    runtime: Runtime
    seed: int | None = None
    limits: Limits | None = None
    on_event: Listener | None = None
    data: TextSource | None = None
    tools: ToolSet | None = None


async def perform(settings: RunSettings, work: Work) -> RunResult:
    """Do the work as a run of its own. Raises what the work raises; a ProgramError is told to the listener too."""
    seed = _checked_seed(settings.seed)
    events = EventLog(uuid.uuid4().hex[:12], settings.on_event)
    run = Run(settings.runtime, seed, settings.limits or Limits(), events, settings.data, settings.tools)
    _announce(events, settings.runtime, seed)
    try:
        ended = await work(run)
    except ProgramError as error:
        _report(events, error)
        raise
    return _result(ended, run)


def _checked_seed(seed: int | None) -> int:
    if seed is None:
        return draw_run_seed()
    if 0 <= seed <= MAX_SEED:
        return seed
    raise ProgramError("E0401", f"seed={seed}", "a seed is 0 to 2**63-1")


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
