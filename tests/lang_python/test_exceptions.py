"""Exceptions that the host's functions raise come out as they are, wherever they are raised."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from frontend_lang import Fail, ProgramError, ScriptedRuntime, State, gen, prompt


class Stop(BaseException):
    """One that `except Exception` does not catch."""


ERRORS = [
    KeyError("k"),
    SystemExit(3),
    KeyboardInterrupt("k"),
    asyncio.CancelledError("c"),
    Stop("s"),
    StopIteration(1),
]


def fails(error: BaseException) -> Any:
    raise error


def body(s: State, error: BaseException) -> Any:
    s += "x"
    fails(error)


async def later(s: State, error: BaseException) -> Any:
    s += "x"
    fails(error)


def branch(s: State, error: BaseException) -> Any:
    return s.fork(3, lambda b, index: fails(error) if index == 1 else index).all().value


def promised(s: State, error: BaseException) -> Any:
    return [s.fork_over(["a"], lambda b, item: fails(error)).all()]


def key(s: State, error: BaseException) -> Any:
    return s.fork(2, lambda b, index: index).best(lambda value: fails(error))


def join(s: State, error: BaseException) -> Any:
    return s.fork(2, lambda b, index: index).join(lambda values: fails(error))


def until(s: State, error: BaseException) -> Any:
    s += gen("a", until=lambda value: fails(error))
    return s["a"].value


def until_async(s: State, error: BaseException) -> Any:
    async def accepts(value: Any) -> bool:
        fails(error)
        return True

    s += gen("a", until=accepts)


def nested(s: State, error: BaseException) -> Any:
    return prompt(branch)(error)


async def nested_async(s: State, error: BaseException) -> Any:
    return await prompt(later).a(error)


BODIES = [body, later, branch, promised, key, join, until, until_async, nested, nested_async]


def raised(call: Callable[[ScriptedRuntime], Any]) -> BaseException:
    runtime = ScriptedRuntime(lambda text, call: "x")
    with pytest.raises(BaseException) as caught:
        call(runtime)
    assert runtime.live == 0
    return caught.value


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("function", BODIES)
def test_an_exception_comes_out_as_it_is(function: Any, error: BaseException) -> None:
    found = raised(lambda runtime: prompt(function)(error, runtime=runtime))
    if isinstance(error, StopIteration):  # no coroutine can raise it
        assert isinstance(found, RuntimeError)
    elif isinstance(error, asyncio.CancelledError):  # asyncio makes a new one where a task ends with it
        assert isinstance(found, asyncio.CancelledError)
    else:
        assert found is error


@pytest.mark.parametrize("error", ERRORS[:5], ids=lambda error: type(error).__name__)
def test_a_body_can_catch_it(error: BaseException) -> None:
    def catching(s: State) -> Any:
        try:
            return prompt(branch)(error)
        except BaseException as found:  # noqa: BLE001 - any of them
            return found is error

    assert prompt(catching)(runtime=ScriptedRuntime()) is True


@pytest.mark.parametrize("error", [SystemExit(3), Stop("s")], ids=lambda error: type(error).__name__)
def test_no_branch_and_no_row_is_dropped_for_what_ends_the_program(error: BaseException) -> None:
    def dropping(s: State, n: int = 0) -> Any:
        return s.fork(3, lambda b, index: fails(error) if index == 1 else index, on_error="drop").all()

    asking = prompt(dropping)
    assert raised(lambda runtime: asking(runtime=runtime)) is error
    assert raised(lambda runtime: asking.batch([{"n": 1}, {"n": 2}], on_error="drop", runtime=runtime)) is error
    assert raised(lambda runtime: list(asking.stream(runtime=runtime))) is error


def test_a_row_that_cancels_itself_loses_no_other() -> None:
    @prompt
    def row(s: State, bad: bool) -> Any:
        return fails(asyncio.CancelledError("c")) if bad else "done"

    rows = [{"bad": True}, {"bad": False}, {"bad": True}]
    found = row.batch(rows, width=1, runtime=ScriptedRuntime())
    assert [type(value) for value in found] == [asyncio.CancelledError, str, asyncio.CancelledError]


def _helper(s: State) -> None:
    s.user("x", gen("a", temp=-1))


PLACED: dict[str, Callable[[State], Any]] = {
    "an option": lambda s: s.user(gen("a", temp=-1)),
    "what cannot be appended": lambda s: s.user(object()),  # type: ignore[arg-type]
    "an unknown name": lambda s: s["zz"],
    "a gen without a name": lambda s: s.user(gen("")),
    "a fork of none": lambda s: s.fork(-1, lambda b: None),
    "a check": lambda s: s.check("no"),
    "a failure": lambda s: (_ for _ in ()).throw(Fail("x")),
}


@pytest.mark.parametrize("what", [*PLACED, "a helper"])
@pytest.mark.parametrize("where", ["sync", "async", "branch", "call", "use"])
def test_an_error_of_a_call_of_the_body_has_the_line_of_that_call(what: str, where: str) -> None:
    act = PLACED.get(what, _helper)

    @prompt
    def inner(s: State) -> Any:
        return act(s)

    @prompt
    async def later(s: State) -> Any:
        return act(s)

    @prompt
    def outer(s: State) -> Any:
        ways: dict[str, Callable[[], Any]] = {
            "branch": lambda: s.fork(1, inner).all().value,
            "call": inner,
            "use": lambda: s.use(inner),
        }
        return ways[where]()

    with pytest.raises(ProgramError) as caught:
        {"sync": inner, "async": later}.get(where, outer)(runtime=ScriptedRuntime(lambda text, call: "5"))
    error = caught.value
    assert error.span is not None
    assert (error.file, error.span.line) == (__file__, act.__code__.co_firstlineno + (what == "a helper"))
