"""However a program's work overlaps, it comes to what it would come to one step after the other."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontend_lang import Limits, ProgramError
from frontend_lang.events import EventLog
from frontend_lang.interpreter.entry import Inputs
from frontend_lang.interpreter.execution import Execution
from frontend_lang.interpreter.frames import Env
from frontend_lang.interpreter.interpreter import Interpreter
from frontend_lang.interpreter.machine import Signal
from frontend_lang.modules import Module
from frontend_lang.running.run import Run
from frontend_lang.runtime import ContextId
from frontend_lang.scripted import Answers, ScriptedCall, ScriptedRuntime
from frontend_lang.syntax import ast
from frontend_lang.values import Value
from random_programs import programs
from scripted_programs import parsed, run_on


def answer(prompt: str, call: ScriptedCall) -> str:
    """Two words that depend on the prompt and the seed of the call alone."""
    rng = random.Random(f"{prompt} {call.params.seed}")
    return f"{rng.randrange(3)} {rng.randrange(10)}"


def failing(prompt: str, call: ScriptedCall) -> str:
    """Now and then not an answer, depending on the prompt alone."""
    if random.Random(prompt).random() < 0.1:
        raise KeyError(prompt)
    return answer(prompt, call)


@dataclass(frozen=True)
class Came:
    """What a run came to: value and names, or the error; and every prompt that the model was given."""

    outcome: object
    prompts: Counter[str]


def came_to(source: str, jitter: int | None, live: int, script: Answers = answer) -> Came:
    """A run as it is. Without jitter no verb takes time."""
    rng = random.Random(jitter)

    def delay(verb: str, context: ContextId) -> float:
        return 0.0 if jitter is None else rng.choice([0.0, 0.0, 0.0005, 0.001])

    runtime = ScriptedRuntime(script, delay=delay)
    try:
        result = run_on(runtime, source, seed=5, limits=Limits(live_branches=live))
    except ProgramError as error:
        return Came((error.code, error.path, error.span), Counter(runtime.prompts))
    return Came((result.value, dict(result.vars)), Counter(runtime.prompts))


class InSteps(Interpreter):
    """The reference: nothing is begun before all that stands before it has ended."""

    async def execute_all(self, statements: Sequence[ast.Statement], env: Env) -> Signal | None:
        """Settle every statement."""
        return await super().execute_all(statements, replace(env, in_steps=True))

    async def deferred(self, node: ast.RightSide, env: Env) -> Value:
        """Wait for every value."""
        return await self.evaluate(node, env)


def one_by_one(source: str) -> Came:
    """What the reference comes to."""
    runtime = ScriptedRuntime(answer)
    run = Run(runtime, 5, Limits(live_branches=1), EventLog("", None))
    execution = Execution(Module(parsed(source)), run, Inputs({}))
    execution._interpreter = InSteps(run, Inputs({}))
    ended = asyncio.run(execution.finish(None))
    assert runtime.live == 0
    return Came((ended.value, ended.names), Counter(runtime.prompts))


@settings(max_examples=40, deadline=None)
@given(source=programs(), jitter=st.integers(0, 10**6), live=st.sampled_from([1, 2, 3, 64]))
def test_overlapping_comes_to_what_one_step_after_the_other_does(source: str, jitter: int, live: int) -> None:
    agrees(source, jitter, live)


@settings(max_examples=40, deadline=None)
@given(source=programs(), jitter=st.integers(0, 10**6), live=st.sampled_from([1, 2, 64]))
def test_the_error_does_not_depend_on_the_schedule(source: str, jitter: int, live: int) -> None:
    source = source.replace("join vote", "join all")  # whoever decides a vote before another fails has decided it
    assert came_to(source, jitter, live, failing).outcome == came_to(source, None, 1, failing).outcome


@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(source=programs(depth=3, most=8), jitter=st.integers(0, 10**6), live=st.sampled_from([1, 2, 3, 64]))
def test_longer_programs_agree_too(source: str, jitter: int, live: int) -> None:
    agrees(source, jitter, live)


def agrees(source: str, jitter: int, live: int) -> None:
    """Same value, same names; the model was asked for nothing else, and only what nobody needs may be missing."""
    overlapping, reference = came_to(source, jitter, live), one_by_one(source)
    assert overlapping.outcome == reference.outcome
    if "join vote" not in source:  # a vote is decided earlier or later, by whoever ends first
        assert overlapping.prompts <= reference.prompts
