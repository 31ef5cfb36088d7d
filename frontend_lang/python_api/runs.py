"""One run of a Python prompt, and calls of prompts within a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from frontend_lang.interpreter.execution import Ended, uninterrupted
from frontend_lang.python_api.bodies import run_body
from frontend_lang.python_api.failures import carrying
from frontend_lang.python_api.frames import Author, Frame
from frontend_lang.python_api.scopes import Scope
from frontend_lang.python_api.state import State
from frontend_lang.running.contexts import Context, settled_parts
from frontend_lang.running.operations import tell
from frontend_lang.running.options import time_limit
from frontend_lang.running.run import Run
from frontend_lang.seeds import Place


@dataclass(frozen=True)
class Call:
    """A prompt's function and what it is called with besides the context."""

    function: Callable[..., Any]
    author: Author
    arguments: Sequence[Any]
    named: Mapping[str, Any]


async def run_entry(run: Run, call: Call) -> Ended:
    """Run a prompt as a whole run: everything that it has begun is waited for. Nothing of it is left afterwards.

    Raises ProgramError, or Carried with an exception of the body.
    """
    frame = Frame(Scope(run, run.strand(), Place(), call.author.name), Context(), call.author)
    try:
        async with time_limit(run.limits.wall_s, "the run", code="E0802"):
            with carrying():
                value = await _body(frame, call)
                await frame.settle_all()
                await _commit(frame)
                return Ended(value, _names(frame))
    finally:
        frame.scope.cancelled = True
        await uninterrupted(run.close())


async def run_call(caller: Scope, call: Call, place: Place) -> Any:
    """Call a prompt within a run, in a fresh context: its value; what that does not need is cancelled."""
    run = caller.run
    run.counters.depth(caller.depth + 1)
    strand = run.strand(caller.strand)
    scope = Scope(run, strand, place, f"{caller.path}.{call.author.name}", caller.depth + 1)
    frame = Frame(scope, Context(), call.author)
    async with caller.strand.waiting(), strand.working():
        try:
            with carrying():
                value = await _body(frame, call)
                await frame.settle_effects()
                return value
        finally:
            await scope.begun.close()
            await run.contexts.release([frame.context])


async def _body(frame: Frame, call: Call) -> Any:
    state = State(frame)
    value = await run_body(call.function, frame.scope, [state, *call.arguments], call.named)
    state.end()
    return value


def _names(frame: Frame) -> dict[str, Any]:
    """What the names of the body are bound to; those whose gen has failed, and the body went on, are left out."""
    return {name: named.asked.promise.result() for name, named in frame.names.items() if not named.asked.promise.failed}


async def _commit(frame: Frame) -> None:
    """The end is a commit point: text that came last reaches the context too."""
    context, run = frame.context, frame.scope.run
    pending = context.take()
    tell(run, context, pending)
    if pending or context.carried:
        await run.runtime.commit(await run.contexts.flush(context, settled_parts(pending)))
