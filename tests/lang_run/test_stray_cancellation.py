"""A CancelledError that a host's tool or a runtime raises, though nobody has cancelled anything, is an error."""

from __future__ import annotations

import asyncio

import pytest

from frontend_lang import Limits, ProgramError
from frontend_lang.scripted import ScriptedCall, ScriptedRuntime
from scripted_programs import run_on

TOOL = "tool t(q: str) -> str\n"


async def t(q: str) -> str:
    if q == "b":
        raise asyncio.CancelledError
    return q


def answer(prompt: str, call: ScriptedCall) -> str:
    """What the runtime generates."""
    if "b" in prompt:
        raise asyncio.CancelledError
    return prompt


def outcome(source: str) -> object:
    """The value of a program, or the code of its error; a run that hangs meets its wall limit."""
    runtime = ScriptedRuntime(answer)
    try:
        return run_on(runtime, TOOL + source, tools={"t": t}, limits=Limits(wall_s=5)).value
    except ProgramError as error:
        return error.code


@pytest.mark.parametrize(("work", "code"), [("let v = t(x)", "E0704"), ('"@{x}"; gen v', "E0601")])
def test_it_is_an_error_wherever_it_happens(work: str, code: str) -> None:
    lists = '["a", "b", "c"]'
    assert outcome(f'let x = "b"\n{work}\nreturn v') == code
    assert outcome(f"return fork x in {lists} {{ {work}; yield v }} join all") == code
    assert outcome(f"return map x in {lists} {{ {work}; yield v }}") == code
    assert outcome(f'return map x in {lists} with on_error="none" {{ {work}; yield v }}') == ["a", None, "c"]
    assert outcome(f'return fork x in {lists} with on_error="drop" {{ {work}; yield v }} join all') == ["a", "c"]
    caught = f'let x = "b"\nlet c = ""\ntry {{ {work} }} catch e {{ c = e.code }}\nreturn c'
    assert outcome(caught) == code
