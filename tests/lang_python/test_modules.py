"""Text programs as modules: values as they are, and calls in a body as a part of its run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import frontend_lang
from frontend_lang import Event, Limits, ProgramError, ScriptedRuntime, State, gen, prompt, tool

TEXT = """tool double(n: int) -> int
def says(word: str) -> str { "Say @{word}"; gen a; check len(a) > 0, "says something"; return a }
def takes(x: json) -> json { return x }
def number(n: int) -> int { return n }
def either(x: str | int) -> json { return x }
def doubled(n: int) -> int { return double(n) }
def reads(path: str) -> str { return read(path) }
def fails() { "F"; fail "no" }
def forks(n: int) -> list[str] { "F"; let all = fork n { gen a; yield a }; return all }
def deep() { return says("x") }
"""


@tool
def double(n: int) -> int:
    return 2 * n


@pytest.fixture
def module(tmp_path: Path) -> Any:
    (tmp_path / "m.rkv").write_text(TEXT)
    (tmp_path / "note.txt").write_text("note")
    return frontend_lang.load(tmp_path / "m.rkv", tools=[double])


@pytest.fixture
def runtime() -> Iterator[ScriptedRuntime]:
    scripted = ScriptedRuntime(lambda text, call: "one two")
    with frontend_lang.use_runtime(scripted):
        yield scripted
    assert scripted.live == 0


SIGNATURES = """param city: str
param days: int = 3
param lang: str
def f(q: str, n: int = 1 + 2, tags: list[str] = ["a"]) -> str { return q }
def g(a, b = "x", c: int) { return a }
def h() -> list[int] { return [1] }
"""


def test_signatures_of_a_module_are_as_the_program_has_them(tmp_path: Path) -> None:
    (tmp_path / "s.rkv").write_text(SIGNATURES)
    module = frontend_lang.load(tmp_path / "s.rkv")
    shown = [str(inspect.signature(part)) for part in (module.f, module.g, module.h, module.main)]
    assert shown == [
        '(q: str, n: int = 1 + 2, tags: list[str] = ["a"]) -> str',
        '(a, b="x", c: int = …)',
        "() -> list[int]",
        "(*, city: str, days: int = 3, lang: str)",
    ]
    assert module.f.__doc__ == 'f(q: str, n: int = 1 + 2, tags: list[str] = ["a"]) -> str of s.rkv'


def test_a_tool_looks_like_its_function() -> None:
    @tool(name="twice", timeout_s=3)
    def double(n: int, times: int = 2) -> int:
        """Multiply."""
        return times * n

    assert (double.__doc__, double.__name__, double.__module__) == ("Multiply.", "twice", __name__)  # type: ignore[attr-defined]
    assert str(inspect.signature(double)) == "(n: 'int', times: 'int' = 2) -> 'int'"


def test_a_call_in_a_body_is_part_of_its_run(module: Any, runtime: ScriptedRuntime) -> None:
    events: list[Event] = []

    @prompt
    def outer(s: State) -> Any:
        begun = module.says.start("b")
        return [module.says("a"), begun, module.doubled(4), module.reads("note.txt")]

    result = outer.run(on_event=events.append)
    assert result.value == ["one two", "one two", 8, "note"]
    assert [(check["ok"], check["path"]) for check in result.checks] == [(True, "outer.says")] * 2
    assert result.usage.completion_tokens == 4
    assert len({event.run for event in events}) == 1
    assert [event.event for event in events].count("gen.end") == 2
    assert [event.event for event in events].count("run.start") == 1
    assert {event.path for event in events if event.event == "tool.call"} == {"outer.doubled"}


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(branches=5), "E0807"),
        (Limits(steps=12), "E0804"),
        (Limits(tool_calls=2), "E0811"),
        (Limits(tokens=20), "E0809"),
        (Limits(call_depth=1), "E0806"),
    ],
)
def test_limits_of_a_run_hold_for_the_modules_that_it_calls(
    module: Any, runtime: ScriptedRuntime, limits: Limits, code: str
) -> None:
    @prompt
    def outer(s: State) -> Any:
        return [(module.forks(2), module.doubled(1), module.deep()) for _ in range(3)]

    with pytest.raises(ProgramError) as caught:
        outer(limits=limits)
    assert caught.value.code == code


def test_seeds_differ_between_calls_and_come_again(module: Any, runtime: ScriptedRuntime) -> None:
    @prompt
    def outer(s: State) -> Any:
        return [module.says("a"), module.says("a")]

    outer(seed=3)
    outer(seed=3)
    seeds = [call.params.seed for call in runtime.generations]
    assert len(set(seeds[:2])) == 2
    assert seeds[:2] == seeds[2:]


def test_an_error_of_a_module_has_its_place_and_can_be_caught(module: Any, runtime: ScriptedRuntime) -> None:
    @prompt
    def outer(s: State) -> Any:
        with pytest.raises(ProgramError) as caught:
            module.fails()
        error = caught.value
        assert error.span is not None
        return [error.code, error.file, error.span.line, error.path, module.number(3)]

    assert outer() == ["E0610", "m.rkv", 8, "outer.fails", 3]


def test_strings_from_python_are_strings(module: Any, runtime: ScriptedRuntime) -> None:
    assert module.takes("5") == "5"
    assert (module.takes(5), module.takes({"a": (1,)}), module.number(5)) == (5, {"a": [1]}, 5)
    assert (module.either("zz"), module.either("5"), module.either(5)) == ("zz", "5", 5)
    with pytest.raises(ProgramError) as caught:
        module.number("5")
    assert caught.value.code == "E0402"
    source = "param x: int\nreturn x"
    assert frontend_lang.run(source, {"x": "5"}, runtime=runtime).value == 5


def test_a_promise_given_to_a_module_is_its_value(module: Any, runtime: ScriptedRuntime) -> None:
    @prompt
    def outer(s: State) -> Any:
        s += "Q"
        s += gen("a")
        return [module.takes(s["a"]), module.takes([s["a"]])]

    assert outer() == ["one two", ["one two"]]


def test_a_missing_argument_is_said_in_the_way_that_it_is_given(tmp_path: Path) -> None:
    text = "def f(a = 1, n: int, m: int) { return n }"
    program = tmp_path / "p.rkv"
    program.write_text(text)
    ways: list[tuple[Callable[[], Any], str]] = [
        (lambda: frontend_lang.run(text, runtime=ScriptedRuntime()), 'args={"n": …, "m": …}'),
        (lambda: frontend_lang.load(program).f(2, runtime=ScriptedRuntime()), "n=…, m=…"),
    ]
    for call, hint in ways:
        with pytest.raises(ProgramError) as caught:
            call()
        assert (caught.value.code, caught.value.hint) == ("E0307", hint)
