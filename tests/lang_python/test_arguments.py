"""Arguments that are none: each error says what was found, what was expected, and how to give it."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import frontend_lang
from frontend_lang import Limits, ProgramError, ScriptedRuntime, State, gen, prompt, use_runtime


def five() -> ScriptedRuntime:
    return ScriptedRuntime(lambda text, call: "5")


@prompt
def ask(s: State, i: int = 0) -> Any:
    s += f"Say {i}"
    s += gen("a", max=5)
    return s["a"]


RUN_ARGUMENTS = [
    ({"runtime": 3}, TypeError, "runtime=3, expected a runtime: with radixkv"),
    ({"runtime": ScriptedRuntime}, TypeError, "expected a runtime"),
    ({"seed": "x"}, TypeError, "seed='x', expected an int: seed=7"),
    ({"seed": True}, TypeError, "seed=True, expected an int"),
    ({"seed": 1.5}, TypeError, "seed=1.5, expected an int"),
    ({"seed": -1}, ProgramError, "seed=-1"),
    ({"limits": 3}, TypeError, "limits=3, expected Limits: Limits(tokens=2000"),
    ({"limits": {"wall_s": 1}}, TypeError, "expected Limits"),
    ({"on_event": 3}, TypeError, "on_event=3, expected a function of an event"),
    ({"data": "folder"}, TypeError, "data='folder', expected a source of texts: frontend_lang.sources.FolderSource"),
    ({"data": {}}, TypeError, "data={}, expected a source of texts"),
]


@pytest.mark.parametrize("way", ["call", "batch", "stream", "text", "module"])
@pytest.mark.parametrize(("given", "error", "said"), RUN_ARGUMENTS, ids=lambda item: str(item)[:30])
def test_what_a_run_is_given_is_checked_before_it_begins(
    way: str, given: dict[str, Any], error: type[Exception], said: str, tmp_path: Path
) -> None:
    if way == "stream" and "on_event" in given:
        return  # a stream is its own listener
    program = tmp_path / "program.rkv"
    program.write_text("def f() { return 1 }")
    options: dict[str, Any] = {"runtime": five(), **given}
    ways = {
        "call": lambda: ask(1, **options),
        "batch": lambda: ask.batch([{"i": 1}], **options),
        "stream": lambda: list(ask.stream(1, **options)),
        "text": lambda: frontend_lang.run("return 1", **options),
        "module": lambda: frontend_lang.load(program).f(**options),
    }
    with pytest.raises(error) as caught:
        ways[way]()
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"steps": "x"}, "limit steps: got 'x', expected an int"),
        ({"steps": None}, "limit steps: got None, expected an int"),
        ({"steps": True}, "limit steps: got True, expected an int"),
        ({"tokens": 1.5}, "limit tokens: got 1.5, expected an int"),
        ({"wall_s": "3s"}, "limit wall_s: got '3s', expected a number"),
        ({"wall": 3}, "no limit is named wall: did you mean wall_s?"),
        ({"step": 3}, "no limit is named step: did you mean steps?"),
        ({"zzz": 3}, f"no limit is named zzz: limits: {', '.join(item.name for item in fields(Limits))}"),
    ],
)
def test_a_limit_of_another_type_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError) as caught:
        Limits(**given)
    assert str(caught.value) == said
    assert pickle.loads(pickle.dumps(replace(Limits(wall_s=3), steps=5))) == Limits(wall_s=3, steps=5)


async def arriving() -> AsyncIterator[dict[str, int]]:
    yield {"i": 1}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (3, "batch of 3, expected a list"),
        (None, "batch of None, expected a list"),
        ("abc", "batch of 'abc', expected a list"),
        ({"i": 1}, "batch of {'i': 1}, expected a list"),
        (arriving(), "[row async for row in rows]"),
    ],
)
def test_a_batch_of_what_is_no_rows_is_refused(rows: Any, said: str) -> None:
    for batch in (ask.batch, lambda rows, runtime: asyncio.run(ask.a.batch(rows, runtime=runtime))):
        with pytest.raises(TypeError) as caught:
            batch(rows, runtime=five())
        assert said in str(caught.value)


@pytest.mark.parametrize("row", [3, "ab", None, {3: 1}, [("i", 1)]])
def test_a_row_that_is_no_keyword_arguments_fails_by_itself_and_says_which(row: Any) -> None:
    good, bad = ask.batch([{"i": 1}, row], runtime=five())
    assert (good, type(bad)) == ("5", TypeError)
    assert str(bad) == f'row 1 of the batch is {row!r}, expected keyword arguments: {{"name": value}}'


CALLS: list[Callable[..., Any]] = [
    lambda **options: ask(1, **options),
    lambda **options: ask.start(1, **options),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("option", ["runtime", "seed", "limits", "on_event", "data"])
def test_a_call_in_a_body_says_that_it_takes_no_options_of_a_run(call: Callable[..., Any], option: str) -> None:
    @prompt
    def outer(s: State) -> Any:
        return call(**{option: None})

    with pytest.raises(TypeError) as caught:
        outer(runtime=five())
    assert str(caught.value) == (
        f"ask in the body of a prompt is part of its run and takes no '{option}': "
        f"ask.run(…, {option}=…) is a run of its own"
    )


def test_runs_that_a_body_begins_are_on_its_runtime_unless_told_otherwise() -> None:
    other = ScriptedRuntime(lambda text, call: "other")

    @prompt
    def sync(s: State) -> Any:
        values = [ask.run(1).value, *ask.batch([{"i": 1}]), [event.data for event in ask.stream(1)][-1]["value"]]
        with use_runtime(other):
            return [*values, ask.run(1).value, ask.run(1, runtime=five()).value]

    @prompt
    async def on_loop(s: State) -> Any:
        return [(await ask.a.run(1)).value, *await ask.a.batch([{"i": 1}])]

    with use_runtime(other):
        assert sync(runtime=five()) == ["5", "5", "5", "other", "5"]
        assert on_loop(runtime=five()) == ["5", "5"]
        assert ask() == "other"
        assert sync.batch([{}], runtime=five()) == [["5", "5", "5", "other", "5"]]


def test_in_another_thread_the_error_says_that_use_runtime_is_of_one_thread() -> None:
    with use_runtime(five()), ThreadPoolExecutor() as pool, pytest.raises(ProgramError) as caught:
        pool.submit(ask, 1).result()
    assert "`use_runtime` holds for the thread that it is in" in (caught.value.hint or "")


def test_use_runtime_refuses_what_is_no_runtime() -> None:
    with pytest.raises(TypeError, match="runtime=3, expected a runtime"), use_runtime(3):  # type: ignore[arg-type]
        pass
