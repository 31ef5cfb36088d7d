"""What a body does that can be seen from outside: emitted values, checks, calls of tools."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from frontend_lang.errors import ProgramError
from frontend_lang.python_api.failures import CallSite
from frontend_lang.python_api.frames import Frame
from frontend_lang.python_api.plain import plain_value
from frontend_lang.python_api.settling import settled
from frontend_lang.running.checks import Check
from frontend_lang.running.options import time_limit
from frontend_lang.running.places import placing
from frontend_lang.running.run import is_being_cancelled
from frontend_lang.tools import Tool, name_of
from frontend_lang.types.words import shortened
from frontend_lang.values import text_of


async def emit(frame: Frame, value: Any) -> None:
    """Tell the listener of a value."""
    frame.tell("emit", {"value": plain_value(await settled(value))})


async def check(frame: Frame, holds: Any, message: Any, where: CallSite) -> None:
    """Record whether something holds. Raises E0402 for what is neither True nor False."""
    with placing(where.placed(frame.scope.path)):
        told, said = truth(await settled(holds)), text_of(plain_value(await settled(message)))
    found = Check(told, said, where.file, where.line, frame.scope.path, frame.scope.place)
    frame.scope.run.checks.add(found)
    frame.tell("check", {"ok": found.ok, "message": said, "line": where.line, "file": where.file})


def truth(holds: Any) -> bool:
    """What was checked, if it is a bool. Raises E0402: the text "no" holds for Python."""
    if isinstance(holds, bool):
        return holds
    hint = 's.check(s["a"] == "yes", …), or bool(…)'
    raise ProgramError("E0402", f"`check` of {holds!r:.60}, expected True or False", hint)


def tool_name(name: Any) -> str:
    """The name of a tool, if it is text. Raises E0402."""
    if isinstance(name, str):
        return name
    found, given = shortened(name_of(name), 60), callable(name)
    hint = f's.invoke("{found if given else "wiki"}", …)'
    message = f"`invoke` of {found}{' itself' if given else ''}, expected the name of a tool"
    raise ProgramError("E0402", message, hint)


async def invoke(frame: Frame, name: Any, given: Sequence[Any], named: Mapping[str, Any], where: CallSite) -> Any:
    """Call a tool of the prompt.

    Raises E0301, E0307, E0402, E0803, E0811, and E0704 for what the tool raises or a result unlike its annotation.
    """
    with placing(where.placed(frame.scope.path)):
        tool = frame.author.tools.get(tool_name(await settled(name)))
        if tool is None:
            known = ", ".join(f"`{known}`" for known in frame.author.tools.names) or "none"
            raise ProgramError("E0301", f"unknown tool `{name!s:.60}`", f"tools of this prompt: {known}")
        arguments = _fitted(tool, await settled(list(given)), await settled(dict(named)))
        return await _told(frame, tool, arguments)


def _fitted(tool: Tool, given: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    """Arguments by parameter, each as the type that the tool's annotation names."""
    try:
        bound = inspect.signature(tool.function).bind(*given, **named)
    except TypeError as error:
        takes = ", ".join(parameter.name for parameter in tool.parameters)
        raise ProgramError("E0307", f"tool `{tool.name}`: {error}", f"{tool.name}({takes})") from None
    types = {parameter.name: parameter.type for parameter in tool.parameters}
    return {name: _argument(tool, name, value, types[name]) for name, value in bound.arguments.items()}


def _argument(tool: Tool, name: str, value: Any, declared: Any) -> Any:
    try:
        return _converted(value, declared)
    except msgspec.ValidationError as error:
        raise ProgramError("E0402", f"argument `{name}` of tool `{tool.name}`: {error}") from None


def _converted(value: Any, declared: Any) -> Any:
    """The value as the type that an annotation names. Raises msgspec.ValidationError."""
    if declared is None or (declared in type(value).__mro__ and type(value) is not bool):
        return value
    try:
        return msgspec.convert(value, declared)
    except TypeError:  # an annotation that says nothing about data
        return value


async def _told(frame: Frame, tool: Tool, arguments: Mapping[str, Any]) -> Any:
    run = frame.scope.run
    call_id = f"t{run.counters.tool_call()}"
    started = run.events.elapsed_s()
    frame.tell("tool.call", {"call_id": call_id, "name": tool.name, "args": dict(arguments)})
    ended: dict[str, object] = {}
    try:
        value = await _result(tool, arguments)
        ended = {"value": value}
        return value
    except ProgramError as error:
        ended = {"error": error.message}
        raise
    finally:
        frame.tell("tool.end", {"call_id": call_id, **ended, "ms": round((run.events.elapsed_s() - started) * 1000, 3)})


async def _result(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    async with time_limit(tool.timeout_s, f"tool `{tool.name}`"):
        try:
            result = await tool.call(arguments)
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            raise ProgramError("E0704", f"tool `{tool.name}` failed: it was cancelled") from None
        except Exception as error:
            message = str(error) or type(error).__name__
            raise ProgramError("E0704", f"tool `{tool.name}` failed: {message}") from error
    try:
        return _converted(result, tool.returns)
    except msgspec.ValidationError as error:
        message, hint = f"the result of tool `{tool.name}`: {error}", "the function must give what its annotation says"
        raise ProgramError("E0704", message, hint) from None
