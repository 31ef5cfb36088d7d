"""Calls, tools and options of decorators that are none: what was given, what was expected, how to give it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import frontend_lang
from frontend_lang import ProgramError, ScriptedRuntime, State, gen, prompt, select, tool


@tool
def add(a: int, b: int = 2) -> int:
    return a + b


def bare(a: int) -> int:
    return a


@prompt
def few(s: State, q: str) -> None:
    s.user(q)


class Judge:
    @prompt
    def ask(self, s: State, q: str) -> str:
        return q

    @prompt
    def free(s: State, q: str) -> str:
        return q


RUNTIME = ScriptedRuntime(lambda text, call: "5")
CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: few(qq="a"), "prompt few(q: 'str') -> 'None': no parameter is named 'qq': did you mean q?"),  # type: ignore[call-overload]
    (lambda: few("a", zzz=1), "prompt few(q: 'str') -> 'None': no parameter is named 'zzz'"),  # type: ignore[call-overload]
    (lambda: few("a", runtim=RUNTIME), "no parameter is named 'runtim': did you mean runtime?"),  # type: ignore[call-overload]
    (lambda: few(), "prompt few(q: 'str') -> 'None': missing a required argument: 'q'"),  # type: ignore[call-overload]
    (lambda: few.batch([{"qq": 1}], on_error="fail", runtime=RUNTIME), "no parameter is named 'qq'"),
    (lambda: Judge.ask("a"), "prompt ask is a method: call it of an object, not of its class"),
    (lambda: Judge.ask(Judge(), "a"), "prompt ask is a method: call it of an object"),
    (lambda: Judge().ask(qq="a"), "no parameter is named 'qq': did you mean q?"),
]


@pytest.mark.parametrize(("call", "said"), CALLS)
def test_an_argument_that_nothing_takes_is_named(call: Callable[[], Any], said: str) -> None:
    with frontend_lang.use_runtime(RUNTIME), pytest.raises(TypeError) as caught:
        call()
    assert said in str(caught.value)


def test_an_argument_that_no_def_of_a_module_takes_is_named(tmp_path: Path) -> None:
    program = tmp_path / "p.rkv"
    program.write_text("def f(city: str) { return city }")
    with pytest.raises(TypeError) as caught:
        frontend_lang.load(program).f(citty="a", runtime=RUNTIME)
    assert "f(city: str): no parameter is named 'citty': did you mean city?" in str(caught.value)


def test_methods_of_objects_and_prompts_of_classes_are_called() -> None:
    assert Judge().ask("a", runtime=RUNTIME) == "a"
    assert Judge.free("a", runtime=RUNTIME) == "a"
    named = prompt(lambda self, q: q)
    assert named("a", runtime=RUNTIME) == "a"


USES: list[tuple[Callable[[State], Any], str]] = [
    (
        lambda s: s.use(few("z")),
        "`use` of None, expected a prompt: a function with @prompt; its arguments come after it, since a call",
    ),
    (lambda s: s.use(Judge().ask("z")), "`use` of 'z', expected a prompt"),  # type: ignore[arg-type]
    (lambda s: s.use(Judge.ask, "z"), "prompt ask is a method: call it of an object"),
    (lambda s: s.use(few, qq="z"), "no parameter is named 'qq'"),  # type: ignore[call-arg]
]


@pytest.mark.parametrize(("act", "said"), USES)
def test_what_is_no_prompt_is_named_where_it_is_used(act: Callable[[State], Any], said: str) -> None:
    with pytest.raises(TypeError) as caught:
        prompt(lambda s: act(s))(runtime=RUNTIME)
    assert said in str(caught.value)


MADE: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: prompt(tools=["add"]),
        TypeError,
        "tools has 'add', expected a function, marked with @tool or not: tools=[add]",
    ),  # type: ignore[list-item]
    (lambda: prompt(tools=[3]), TypeError, "tools has 3, expected a function, marked with @tool or not: tools=[wiki]"),  # type: ignore[list-item]
    (lambda: prompt(tools=add), TypeError, "tools=add, expected a list of functions: tools=[add]"),  # type: ignore[call-overload]
    (lambda: prompt(tools=bare), TypeError, "tools=bare, expected a list of functions: tools=[bare]"),  # type: ignore[call-overload]
    (lambda: prompt(tools="add"), TypeError, "tools='add', expected a list of functions: tools=[wiki]"),
    (lambda: prompt(tools={"add": 3}), TypeError, "a tool is 3, expected a function"),  # type: ignore[dict-item]
    (lambda: prompt(tool=[add]), TypeError, "@prompt has no option 'tool': did you mean tools?"),  # type: ignore[call-overload]
    (lambda: prompt(zzz=3), TypeError, "@prompt has no option 'zzz': options: name, tools"),  # type: ignore[call-overload]
    (lambda: prompt(name=3), TypeError, "prompt of name=3, expected a text"),  # type: ignore[call-overload]
    (
        lambda: tool(timeout_s="1"),
        TypeError,
        "a tool of timeout_s='1', expected a number of seconds: @tool(timeout_s=10)",
    ),  # type: ignore[call-overload]
    (lambda: tool(timeout_s=True), TypeError, "a tool of timeout_s=True, expected a number of seconds"),
    (lambda: tool(timeout_s=0), ValueError, "timeout_s=0 of a tool, expected more than 0"),
    (lambda: tool(timeout_s=float("nan")), ValueError, "timeout_s=nan of a tool, expected more than 0"),
    (lambda: tool(timeout=3), TypeError, "@tool has no option 'timeout': did you mean timeout_s?"),  # type: ignore[call-overload]
    (lambda: tool(name=3), TypeError, 'a tool of name=3, expected a text: @tool(name="wiki")'),  # type: ignore[call-overload]
    (lambda: tool("wiki"), TypeError, "a tool is 'wiki', expected a function"),  # type: ignore[call-overload]
]


@pytest.mark.parametrize(("make", "error", "said"), MADE)
def test_what_a_decorator_is_given_is_checked_at_once(
    make: Callable[[], Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as caught:
        make()(lambda s: 1)
    assert said in str(caught.value)


INVOKED: list[tuple[Callable[[State], Any], str, str]] = [
    (lambda s: s.invoke(add, 1), "E0402", '`invoke` of add itself, expected the name of a tool (s.invoke("add", …))'),  # type: ignore[arg-type]
    (
        lambda s: s.invoke(bare, 1),
        "E0402",
        '`invoke` of bare itself, expected the name of a tool (s.invoke("bare", …))',
    ),  # type: ignore[arg-type]
    (lambda s: s.invoke(None), "E0402", "`invoke` of None, expected the name of a tool"),  # type: ignore[arg-type]
    (lambda s: s.invoke("ad", 1), "E0301", "unknown tool `ad` (tools of this prompt: `add`)"),
]


@pytest.mark.parametrize(("act", "code", "said"), INVOKED)
def test_what_is_no_name_of_a_tool_is_refused(act: Callable[[State], Any], code: str, said: str) -> None:
    with pytest.raises(ProgramError) as caught:
        prompt(tools=[add])(lambda s: act(s))(runtime=RUNTIME)
    assert caught.value.code == code
    assert said in str(caught.value)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_model_can_choose_the_tool(asynchronous: bool) -> None:
    def body(s: State) -> Any:
        s += select("tool", ["add"])
        s += gen("n", type=int)
        return s.invoke(s["tool"], s["n"])

    async def later(s: State) -> Any:
        return body(s)

    assert prompt(tools=[add])(later if asynchronous else body)(runtime=RUNTIME) == 7
