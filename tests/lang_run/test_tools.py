"""Tools in programs: allow-list, arguments and results held against the declaration, order, failures, events."""

from __future__ import annotations

import asyncio
import threading

import pytest

import frontend_lang
from frontend_lang import Limits, ProgramError, tool
from frontend_lang.events import Event
from frontend_lang.scripted import ScriptedRuntime
from frontend_lang.sources import MappingSource
from frontend_lang.tools import Tool
from scripted_programs import failure_of, run_on, value_of

WIKI = "tool wiki(q: str, limit: int = 3) -> str with doc='Search.', timeout=10s\n"


@tool
def wiki(q: str, limit: int) -> str:
    return f"{q}:{limit}"


def named(name: str, function: object) -> Tool:
    return tool(name=name)(function)  # type: ignore[call-overload, no-any-return]


def test_tool_is_called_by_its_name_or_by_invoke_with_defaults_filled_in() -> None:
    source = WIKI + 'return [wiki("a"), wiki(q="b", limit=1), invoke("wiki", "c", 2), invoke("wiki", limit=4, q="d")]'
    assert value_of(source, tools=[wiki]) == ["a:3", "b:1", "c:2", "d:4"]


def test_async_tool_and_tool_given_as_a_function_by_name() -> None:
    async def look(q: str, limit: int) -> str:
        await asyncio.sleep(0)
        return q.upper()

    assert value_of(WIKI + 'return wiki("a")', tools={"wiki": look}) == "A"


@pytest.mark.parametrize("arguments", ["", '"a", 1, 2', 'x="a"', '"a", q="b"'])
def test_arguments_that_do_not_fit_the_declaration(arguments: str) -> None:
    failure = failure_of(f"{WIKI}return wiki({arguments})", tools=[wiki])
    assert (failure.code, failure.hint) == ("E0307", "wiki(q, limit)")


def test_argument_of_the_wrong_type_never_reaches_the_host() -> None:
    def never(q: str, limit: int) -> str:
        raise AssertionError("called")

    failure = failure_of(f"{WIKI}return wiki(1)", tools={"wiki": never})
    assert failure.code == "E0402"
    assert failure.message.startswith("argument `q` of tool `wiki` is declared str")


def test_int_becomes_float_where_a_float_is_declared() -> None:
    seen: list[object] = []
    value_of("tool f(x: float) -> float\nreturn f(1)", tools={"f": lambda x: seen.append(x) or 2})
    assert repr(seen) == "[1.0]"
    assert repr(value_of("tool f() -> float\nreturn f()", tools={"f": lambda: 2})) == "2.0"


def test_result_that_does_not_fit_is_a_failure_of_the_tool() -> None:
    failure = failure_of(WIKI + 'return wiki("a")', tools={"wiki": lambda q, limit: 1})
    assert failure.code == "E0704"
    assert failure.message.startswith("the result of tool `wiki` is declared str, found int 1")
    assert failure_of("tool f()\nreturn f()", tools={"f": object}).code == "E0704"


def test_what_a_tool_raises_can_be_caught() -> None:
    def failing(q: str, limit: int) -> str:
        raise LookupError(f"nothing on {q}")

    source = WIKI + 'try { return wiki("x") } catch e { return [e.code, e.message, e.line] }'
    assert value_of(source, tools={"wiki": failing}) == ["E0704", "tool `wiki` failed: nothing on x", 2]
    assert failure_of(WIKI + 'return wiki("x")', tools={"wiki": failing}).__cause__.args == ("nothing on x",)


def test_value_that_a_tool_changes_stays_as_it_is_in_the_program() -> None:
    source = "tool f(x: list[int]) -> none\nlet x = [1]\nf(x)\nreturn x"
    assert value_of(source, tools={"f": lambda x: x.append(2)}) == [1]


@pytest.mark.parametrize("declared", ["tool slow() -> str with timeout=20ms", "tool slow() -> str"])
def test_tool_that_takes_too_long(declared: str) -> None:
    ended = threading.Event()

    def slow() -> str:
        ended.wait(60)
        return "late"

    given = tool(name="slow", timeout_s=0.02 if "timeout" not in declared else 60.0)(slow)
    failure = failure_of(f"{declared}\nreturn slow()", tools=[given])
    ended.set()
    assert (failure.code, failure.message) == ("E0803", "tool `slow` took longer than 0.02 s")


def test_calls_of_a_frame_keep_the_order_of_the_program() -> None:
    told: list[str] = []

    async def note(q: str) -> str:
        told.append(f"begin {q}")
        await asyncio.sleep(0.01 if q == "a" else 0)
        told.append(f"end {q}")
        return q

    source = 'tool note(q: str) -> str\nlet a = note("a")\nlet b = note("b")\nemit a\nreturn b'
    assert value_of(source, tools={"note": note}, on_event=lambda e: e.event == "emit" and told.append("emit")) == "b"
    assert told == ["begin a", "end a", "begin b", "end b", "emit"]


def test_events_say_what_was_asked_and_what_came_of_it() -> None:
    told: list[Event] = []

    def half(q: str, limit: int) -> str:
        if limit == 0:
            raise ValueError("no")
        return q

    source = WIKI + 'let a = wiki("a")\ntry { wiki("b", 0) } catch e { }\nreturn a'
    run_on(ScriptedRuntime(), source, tools={"wiki": half}, on_event=told.append)
    events = [event for event in told if event.event.startswith("tool.")]
    assert [event.event for event in events] == ["tool.call", "tool.end"] * 2
    assert events[0].data == {"call_id": "t1", "name": "wiki", "args": {"q": "a", "limit": 3}}
    assert (events[1].data["call_id"], events[1].data["value"]) == ("t1", "a")
    assert (events[3].data["call_id"], events[3].data["error"]) == ("t2", "tool `wiki` failed: no")
    assert events[3].data["ms"] >= 0


def test_number_of_calls_is_limited_for_the_whole_run() -> None:
    source = WIKI + 'let n = [wiki("a") for i in range(10)]\nreturn len(n)'
    assert value_of(source, tools=[wiki], limits=Limits(tool_calls=10)) == 10
    caught = WIKI + 'try { let n = [wiki("a") for i in range(65)] } catch e { return "caught" }'
    failure = failure_of(caught, tools=[wiki])
    assert (failure.code, failure.message) == ("E0811", "more than 64 tool calls in one run")


def test_tool_that_the_host_does_not_provide_is_an_error_before_the_run() -> None:
    runtime = ScriptedRuntime()
    with pytest.raises(ProgramError) as caught:
        run_on(runtime, '"Hello"\n' + WIKI + "gen a", tools={"calc": lambda: 1})
    assert (caught.value.code, caught.value.hint, caught.value.span.line) == ("E0318", "provided: `calc`", 2)
    assert runtime.calls == 0


def test_host_function_that_cannot_be_called_as_declared_is_an_error_before_the_run() -> None:
    assert failure_of(WIKI, tools={"wiki": lambda q: q}).message == "the host's `wiki` does not take `limit`"
    failure = failure_of(WIKI, tools={"wiki": lambda q, limit, lang: q})
    assert (failure.code, failure.message) == ("E0318", "the host's `wiki` needs `lang`")


def test_invoke_reaches_declared_tools_only() -> None:
    secret = named("secret", lambda q: q)
    failure = failure_of(WIKI + 'return invoke("secret", "x")', tools=[wiki, secret])
    assert (failure.code, failure.hint) == ("E0301", "declared tools: `wiki`")
    assert failure_of(WIKI + "return invoke(1)", tools=[wiki]).code == "E0402"
    assert failure_of(WIKI + "return invoke()", tools=[wiki]).code == "E0307"


def test_tool_of_an_import_is_called_through_its_module() -> None:
    modules = MappingSource({"lib.rkv": WIKI + 'def ask(q: str) -> str { return wiki(q, 1) }\ntype T = "x"'})
    source = 'import "lib.rkv" as lib\nreturn [lib.ask("a"), lib.wiki("b")]'
    result = frontend_lang.run(source, runtime=ScriptedRuntime(), modules=modules, tools=[wiki])
    assert result.value == ["a:1", "b:3"]
    with pytest.raises(ProgramError) as caught:
        frontend_lang.run(source, runtime=ScriptedRuntime(), modules=modules)
    assert (caught.value.code, caught.value.file) == ("E0318", "lib.rkv")


def test_agent_calls_what_the_model_asks_for() -> None:
    source = (
        WIKI
        + """
    tool calc(expr: str) -> float
    user: How much is 2+2?
    repeat 4 {
      assistant gen act with max=5
      let words = split(act, " ")
      if words[0] == "finish" { return words[1] }
      try { let seen = invoke(words[0], words[1])
            user "Observation: @{seen}" }
      catch e { user "Observation: error @{e.code}" }
    }
    """
    )
    runtime = ScriptedRuntime(["calc 2+2", "rm -rf", "wiki x", "finish 4"])
    result = run_on(runtime, source, tools=[wiki, named("calc", lambda expr: eval(expr))])
    assert result.value == "4"
    assert runtime.prompts[-1].count("Observation: 4.0") == 1
    assert "Observation: error E0301" in runtime.prompts[-1]
    assert "Observation: x:3" in runtime.prompts[-1]


def test_cancelled_run_leaves_an_async_tool_cancelled() -> None:
    ended: list[str] = []

    async def forever() -> str:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")
        return ""

    failure = failure_of(
        "tool forever() -> str\nreturn forever()", tools={"forever": forever}, limits=Limits(wall_s=0.05)
    )
    assert (failure.code, ended) == ("E0802", ["cancelled"])
