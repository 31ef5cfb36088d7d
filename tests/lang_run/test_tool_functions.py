"""Host functions as tools: what they are called with, where they run, how they fail."""

from __future__ import annotations

import asyncio
import threading

import pytest

from frontend_lang.tools import Tool, ToolSet, tool


@tool
def wiki(q: str, limit: int = 3) -> str:
    """Search an encyclopedia."""
    return f"{q} {limit}"


def test_tool_knows_its_function_and_stays_callable() -> None:
    assert (wiki.name, wiki.doc, wiki.returns) == ("wiki", "Search an encyclopedia.", str)
    assert [(item.name, item.type, item.required) for item in wiki.parameters] == [
        ("q", str, True),
        ("limit", int, False),
    ]
    assert wiki("tea") == "tea 3"


def test_decorator_takes_a_name_and_a_timeout() -> None:
    @tool(name="calc", timeout_s=2.0)
    async def evaluate(expr: str) -> float:
        return float(expr)

    assert (evaluate.name, evaluate.timeout_s) == ("calc", 2.0)
    assert asyncio.run(evaluate.call({"expr": "1.5"})) == 1.5


def test_sync_function_runs_in_a_thread_of_its_own_and_leaves_the_loop_free() -> None:
    async def both() -> object:
        there = asyncio.get_running_loop()
        met = asyncio.Event()
        free = threading.Event()

        @tool
        def blocking() -> str:
            there.call_soon_threadsafe(met.set)
            assert free.wait(10), "the loop was blocked"
            return threading.current_thread().name

        running = asyncio.ensure_future(blocking.call({}))
        await met.wait()
        free.set()
        return await running

    assert asyncio.run(both()) == "tool blocking"


@pytest.mark.parametrize("raised", [StopIteration("x"), SystemExit(3), KeyboardInterrupt(), ValueError("x")])
def test_whatever_a_function_raises_reaches_the_caller_as_an_exception(raised: BaseException) -> None:
    @tool
    def failing() -> None:
        raise raised

    with pytest.raises(Exception) as caught:
        asyncio.run(failing.call({}))
    assert type(raised).__name__ in f"{type(caught.value).__name__}: {caught.value}"


def test_function_that_programs_cannot_call_is_refused() -> None:
    with pytest.raises(TypeError, match=r"parameter \*args cannot be given by name"):
        tool(print)
    with pytest.raises(TypeError, match="needs a name"):
        tool(lambda q: q)
    with pytest.raises(ValueError, match="timeout_s=0"):
        tool(timeout_s=0)(wiki)


def test_set_takes_functions_by_name_tools_and_plain_functions() -> None:
    assert ToolSet.of({"find": lambda q: q}).names == ("find",)
    assert ToolSet.of([wiki, threading.active_count]).names == ("wiki", "active_count")
    assert ToolSet.of({"look": wiki}).get("look") == Tool(
        "look", wiki.doc, wiki.parameters, wiki.returns, wiki.function
    )
    assert ToolSet().get("wiki") is None
    with pytest.raises(ValueError, match="two tools are named 'wiki'"):
        ToolSet.of([wiki, wiki])
