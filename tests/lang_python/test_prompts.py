"""Prompts as they are called: nested, inline, in batches, as streams, from files, with tools."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import frontend_lang
from frontend_lang import Event, Fail, Limits, ProgramError, ScriptedRuntime, State, fence, gen, prompt, tool
from frontend_lang.scripted import ScriptedCall
from frontend_lang.tools import Tool


def echo(text: str, call: ScriptedCall) -> str:
    return f"<{text.split()[-1]}>"


@prompt
def ask(s: State, word: str, *, times: int = 1) -> Any:
    """Ask for a word."""
    s += f"Say {word}"
    s += gen("a")
    return s["a"].value * times


@pytest.fixture
def runtime() -> Iterator[ScriptedRuntime]:
    scripted = ScriptedRuntime(echo)
    with frontend_lang.use_runtime(scripted):
        yield scripted
    assert scripted.live == 0


def test_a_prompt_looks_like_its_function_without_the_context() -> None:
    assert str(inspect.signature(ask)) == "(word: 'str', *, times: 'int' = 1) -> 'Any'"
    assert (ask.__doc__, ask.name) == ("Ask for a word.", "ask")
    assert "ask(word" in repr(ask)


def test_calls_take_run_options_beside_their_own_parameters() -> None:
    runtime = ScriptedRuntime(echo)
    events: list[Event] = []
    assert ask("x", times=2, runtime=runtime, seed=4, limits=Limits(), on_event=events.append) == "<x><x>"
    assert events[0].data["seed"] == 4
    with pytest.raises(TypeError, match="missing a required argument: 'word'"):
        ask(runtime=runtime)
    with pytest.raises(TypeError, match="'wrod'"):
        ask("x", wrod="x", runtime=runtime)


def test_without_a_runtime_the_error_says_how_to_give_one() -> None:
    with pytest.raises(ProgramError) as caught:
        contextvars.Context().run(ask, "x")
    assert "use_runtime" in (caught.value.hint or "")


@pytest.mark.parametrize("function", [lambda: None, lambda s, runtime: None])
def test_a_function_that_cannot_be_a_prompt_is_refused(function: Any) -> None:
    with pytest.raises(TypeError):
        prompt(function)


def test_a_prompt_called_in_a_body_is_part_of_its_run(runtime: ScriptedRuntime) -> None:
    events: list[Event] = []

    @prompt
    def outer(s: State) -> Any:
        first, second = ask.start("b"), ask.start("c")
        return [ask("a"), first, second, (lambda: ask("d"))()]

    assert outer(on_event=events.append) == ["<a>", "<b>", "<c>", "<d>"]
    assert len({event.run for event in events}) == 1
    assert {event.path for event in events if event.event == "gen.end"} == {"outer.ask"}
    assert runtime.prompts.count("Say a") == 1


def test_an_async_body_awaits_other_prompts(runtime: ScriptedRuntime) -> None:
    @prompt
    async def outer(s: State) -> Any:
        with pytest.raises(ProgramError) as caught:
            ask("x")
        assert "ask.a" in (caught.value.hint or "")
        both = await asyncio.gather(ask.a("a"), asyncio.create_task(ask.a("b")))
        return [*both, await ask.a("c")]

    assert outer() == ["<a>", "<b>", "<c>"]


def test_the_async_twin_in_a_sync_body_is_refused(runtime: ScriptedRuntime) -> None:
    with pytest.raises(ProgramError) as caught:
        prompt(lambda s: asyncio.run(ask.a("x")))()
    assert (caught.value.code, caught.value.hint) == ("E0810", "ask(…)")


@dataclass
class Point:
    x: int
    label: tuple[str, ...]


def test_objects_of_the_host_are_their_fields_in_json(runtime: ScriptedRuntime) -> None:
    events: list[Event] = []

    @prompt
    def body(s: State) -> Any:
        return s.fork(1, lambda b: Point(1, ("a",))).all()

    result = body.run(on_event=events.append)
    assert result.value == [Point(1, ("a",))]
    assert result.to_dict()["value"] == [{"x": 1, "label": ["a"]}]
    ends = {event.event: event.to_dict()["value"] for event in events if "value" in event.data}
    assert ends["branch.end"] == {"x": 1, "label": ["a"]}
    assert ends["join"] == ends["run.end"] == [{"x": 1, "label": ["a"]}]


def test_calls_of_one_prompt_draw_seeds_of_their_own(runtime: ScriptedRuntime) -> None:
    @prompt
    def outer(s: State) -> Any:
        return [ask("a"), ask("a")]

    outer(seed=1)
    outer(seed=1)
    seeds = [call.params.seed for call in runtime.generations]
    assert seeds[0] != seeds[1]
    assert seeds[:2] == seeds[2:]


def test_use_runs_a_prompt_in_the_context_of_the_caller(runtime: ScriptedRuntime) -> None:
    @prompt
    def greet(s: State, name: str) -> str:
        s += f"Hello {name}. "
        s += gen("a")
        return f"greeted {name}"

    @prompt
    async def part(s: State) -> Any:
        s += " Bye "
        s += gen("a")
        return await s["a"]

    @prompt
    async def outer(s: State) -> Any:
        told = s.use(greet, "Ada")
        more = await s.use(part)
        with pytest.raises(ProgramError):
            s["a"]
        return [told, more, s.text()]

    assert outer() == ["greeted Ada", "<Bye>", "Hello Ada. <Ada.> Bye <Bye>"]


def test_fail_and_exceptions_of_the_body_come_out_as_they_are(runtime: ScriptedRuntime) -> None:
    @prompt
    def failing(s: State) -> Any:
        raise Fail("no answer")

    @prompt
    def broken(s: State) -> Any:
        s += "x"
        return {}["key"]

    with pytest.raises(Fail) as caught:
        failing()
    assert caught.value.code == "E0610"
    with pytest.raises(KeyError) as plain:
        broken()
    assert plain.traceback[-1].name == "broken"
    with pytest.raises(KeyError):
        prompt(lambda s: broken())()


@tool
def double(n: int) -> int:
    """Twice."""
    return 2 * n


@tool
async def shout(text: str) -> str:
    return text.upper()


@tool
def fails(text: str) -> str:
    raise LookupError(f"nothing on {text}")


def test_tools_are_called_in_order_and_their_failures_can_be_caught(runtime: ScriptedRuntime) -> None:
    events: list[Event] = []

    @prompt(tools=[double, shout, fails])
    def body(s: State) -> Any:
        found = [s.invoke("double", 4), s.invoke("shout", text="a")]
        s.emit({"found": found})
        s.check(found[0] == 8, "eight")
        s.check(False)
        try:
            s.invoke("fails", "x").value  # noqa: B018 - waits
        except ProgramError as error:
            found.append(f"{error.code}: {error.message}")
        return found

    result = body.run(on_event=events.append)
    assert result.value == [8, "A", "E0704: tool `fails` failed: nothing on x"]
    told = [event.event for event in events if event.event in ("tool.call", "tool.end", "emit", "check")]
    assert told == ["tool.call", "tool.end"] * 2 + ["emit", "check", "check", "tool.call", "tool.end"]
    assert [(check["ok"], check["message"], check["file"]) for check in result.checks] == [
        (True, "eight", __file__),
        (False, "", __file__),
    ]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda s: s.invoke("other"), "E0301"),
        (lambda s: s.invoke("double"), "E0307"),
        (lambda s: s.invoke("double", 1, 2), "E0307"),
        (lambda s: s.invoke("double", "four"), "E0402"),
    ],
)
def test_a_wrong_call_of_a_tool_is_an_error(runtime: ScriptedRuntime, call: Any, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        prompt(tools=[double])(call)()
    assert (caught.value.code, caught.value.file) == (code, __file__)


def test_a_failed_tool_that_nobody_waited_for_is_the_error_of_the_run(runtime: ScriptedRuntime) -> None:
    with pytest.raises(ProgramError) as caught:
        prompt(tools=[fails])(lambda s: s.invoke("fails", "x") and "done")()
    assert caught.value.code == "E0704"


def test_a_tool_that_takes_too_long_and_too_many_tools(runtime: ScriptedRuntime) -> None:
    async def sleeps() -> None:
        await asyncio.sleep(5)

    slow = Tool("sleeps", "", (), None, sleeps, timeout_s=0.02)
    with pytest.raises(ProgramError) as caught:
        prompt(tools=[slow])(lambda s: s.invoke("sleeps").value)()
    assert caught.value.code == "E0803"
    with pytest.raises(ProgramError) as caught:
        prompt(tools=[double])(lambda s: [s.invoke("double", n) for n in range(3)])(limits=Limits(tool_calls=2))
    assert caught.value.code == "E0811"


def test_fence_takes_promises(runtime: ScriptedRuntime) -> None:
    assert "\n8\n" in prompt(tools=[double])(lambda s: fence(s.invoke("double", 4)))()


@prompt
def picky(s: State, word: str) -> Any:
    if word == "bad":
        raise ValueError(word)
    return ask(word)


def test_a_batch_is_ordered_and_one_bad_row_loses_no_other(runtime: ScriptedRuntime) -> None:
    rows = [{"word": word} for word in ("a", "bad", "c")]
    kept = picky.batch(rows, width=2)
    assert (kept[0], type(kept[1]), kept[2]) == ("<a>", ValueError, "<c>")
    assert picky.batch(rows, on_error="none") == ["<a>", None, "<c>"]
    assert picky.batch(rows, on_error="drop") == ["<a>", "<c>"]
    with pytest.raises(ValueError, match="bad"):
        picky.batch(rows, on_error="fail")
    assert asyncio.run(picky.a.batch(rows[:1])) == ["<a>"]
    assert isinstance(picky.batch([{"wrod": "a"}])[0], TypeError)


def test_a_batch_keeps_to_its_width_and_pulls_rows_as_they_are_needed() -> None:
    live: list[int] = []
    pulled: list[int] = []
    runtime = ScriptedRuntime(echo, delay=lambda verb, context: live.append(runtime.live) or 0.001)  # type: ignore[func-returns-value]

    def rows() -> Iterator[dict[str, str]]:
        for index in range(30):
            pulled.append(index)
            assert len(pulled) - runtime.history.__len__() <= 4
            yield {"word": str(index)}

    assert ask.batch(rows(), width=3, runtime=runtime) == [f"<{index}>" for index in range(30)]
    assert max(live) <= 3
    with pytest.raises(ProgramError):
        ask.batch([], width=0, runtime=runtime)
    with pytest.raises(TypeError, match="takes no 'wide'"):
        ask.batch([], wide=3, runtime=runtime)


def test_rows_of_a_batch_draw_seeds_of_their_own(runtime: ScriptedRuntime) -> None:
    ask.batch([{"word": "a"}] * 3, seed=1)
    ask.batch([{"word": "a"}] * 3, seed=1, width=1)
    seeds = [call.params.seed for call in runtime.generations]
    assert len(set(seeds[:3])) == 3
    assert sorted(seeds[:3]) == sorted(seeds[3:])


def test_a_stream_gives_events_and_raises_what_the_run_raises(runtime: ScriptedRuntime) -> None:
    events = list(ask.stream("x"))
    assert [event.event for event in events][-1] == "run.end"
    assert events[-1].data["value"] == "<x>"
    with pytest.raises(ValueError, match="bad"):
        list(picky.stream("bad"))

    async def main() -> list[str]:
        return [event.event async for event in ask.a.stream("x")]

    assert asyncio.run(main()) == [event.event for event in events]


def test_leaving_a_stream_early_cancels_the_run() -> None:
    runtime = ScriptedRuntime(lambda text, call: "word " * 50, delay=lambda verb, context: 0.01 * (verb == "delta"))
    for event in ask.stream("x", runtime=runtime):
        if event.event == "gen.delta":
            break
    assert runtime.live == 0


TEXT = """param city: str = "Oslo"
def twice(word: str, sep: str = "-") -> str { return "@{word}@{sep}@{word}" }
def reads(path: str) -> str { return read(path) }
"Visit @{city}"
gen a
return [a, twice(city)]
"""


@pytest.fixture
def program(tmp_path: Path) -> frontend_lang.python_api.modules.ProgramModule:
    (tmp_path / "trip.rkv").write_text(TEXT)
    (tmp_path / "note.txt").write_text("note")
    return frontend_lang.load(tmp_path / "trip.rkv")


def test_a_text_program_is_a_module(program: Any, runtime: ScriptedRuntime) -> None:
    assert program.twice("a") == "a-a"
    assert program.twice("a", sep="+") == "a+a"
    assert program.reads("note.txt") == "note"
    assert program(city="Rome") == ["<Rome>", "Rome-Rome"]
    assert program.main.run().value == ["<Oslo>", "Oslo-Oslo"]
    assert program.twice.batch([{"word": "a"}, {"word": "b"}]) == ["a-a", "b-b"]
    assert asyncio.run(program.twice.a("b")) == "b-b"
    assert str(inspect.signature(program.twice)) == '(word: str, sep: str = "-") -> str'
    assert {"twice", "reads"} <= set(dir(program))
    with pytest.raises(AttributeError, match="no def 'thrice'; it has: twice, reads"):
        program.thrice  # noqa: B018
    with pytest.raises(TypeError, match="'wrod'"):
        program.twice("a", wrod="a")


def test_a_text_program_can_be_called_in_a_body(program: Any, runtime: ScriptedRuntime) -> None:
    @prompt
    def outer(s: State) -> Any:
        return [program.twice("a"), program(city="Rome"), s.usage()["completion_tokens"]]

    assert outer() == ["a-a", ["<Rome>", "Rome-Rome"], 1]


def test_a_text_program_with_errors_is_rejected_with_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "bad.rkv").write_text("return x\nlet y = z")
    with pytest.raises(frontend_lang.ProgramRejected) as caught:
        frontend_lang.load(tmp_path / "bad.rkv")
    assert len(caught.value.diagnostics) >= 2
    with pytest.raises(FileNotFoundError):
        frontend_lang.load(tmp_path / "none.rkv")
