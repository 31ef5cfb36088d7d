"""Contexts, forks, gens and coroutines where a text or a value is wanted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from frontend_lang import ProgramError, ScriptedRuntime, State, gen, prompt, select


def run(function: Any, **options: Any) -> Any:
    runtime = ScriptedRuntime(lambda text, call: "5")
    try:
        return prompt(function)(runtime=runtime, **options)
    finally:
        assert runtime.live == 0


def say(b: State, index: int) -> int:
    return index


TEXTS: dict[str, Callable[[Any], str]] = {
    "str": str,
    "f-string": lambda x: f"x {x}",
    "f-string with a format": lambda x: f"x {x:>5}",
    "f-string with !s": lambda x: f"x {x!s}",
    "format": lambda x: "x {}".format(x),  # noqa: UP032
    "percent": lambda x: "x %s" % x,  # noqa: UP031
}
HANDLES: dict[str, tuple[Callable[[State], Any], str]] = {
    "gen": (lambda s: gen("a"), 'a gen in a text (append it: s.assistant("…", gen("a")))'),
    "select": (lambda s: select("a", ["x"]), 'a select in a text (append it: s.assistant("…", select("a", ["yes", "n'),
    "context": (lambda s: s, "a context in a text (s.text() is what it has so far)"),
    "fork": (lambda s: s.fork(2, say), "a fork in a text (say how it is joined: fork.all())"),
    "fork over": (lambda s: s.fork_over([1], say), "a fork in a text (say how it is joined: fork.all())"),
}


@pytest.mark.parametrize("what", HANDLES)
@pytest.mark.parametrize("written", TEXTS)
def test_no_text_has_a_handle_in_it(what: str, written: str) -> None:
    make, said = HANDLES[what]

    def body(s: State) -> None:
        s.user(TEXTS[written](make(s)))

    with pytest.raises(ProgramError) as caught:
        run(body)
    assert caught.value.code == "E0402"
    assert said in str(caught.value)


def test_the_repr_of_a_handle_stays_for_who_debugs() -> None:
    assert repr(gen("a", max=3, type=int)) == "gen('a', max=3, type=<class 'int'>)"
    assert repr(select("a", ["x", 1], norm="sum")) == "select('a', ['x', 1], norm='sum')"
    assert run(lambda s: repr(s)) == "<context of <lambda>>"


@pytest.mark.parametrize("what", HANDLES)
@pytest.mark.parametrize("holder", [lambda x: [x], lambda x: {"k": [x]}])
def test_nothing_that_is_appended_has_a_handle_in_it(what: str, holder: Callable[[Any], Any]) -> None:
    with pytest.raises(ProgramError) as caught:
        run(lambda s: s.user(holder(HANDLES[what][0](s))))
    assert caught.value.code == "E0402"
    assert "is no value that can be written" in str(caught.value)


@dataclasses.dataclass
class Answer:
    of: Any


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "list": lambda x: [1, x],
    "dict": lambda x: {"k": (x,)},
    "dataclass": Answer,
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_fork_that_is_returned_is_joined_with_all(holder: str, asynchronous: bool) -> None:
    def body(s: State) -> Any:
        s.user("x")
        return HOLDERS[holder](s.fork(2, say))

    async def later(s: State) -> Any:
        return body(s)

    assert run(later if asynchronous else body) == HOLDERS[holder]([0, 1])


def test_a_fork_that_is_returned_has_the_value_of_its_join() -> None:
    def body(s: State) -> Any:
        voted = s.fork(3, lambda b: "x")
        voted.vote()
        alone = s.fork({"pro": lambda b: 1, "con": lambda b: 2})
        s.user("goes on")
        return [voted, alone, alone, s.use(inner)]

    @prompt
    def inner(s: State) -> Any:
        return s.fork(1, lambda b: "y")

    assert run(body) == ["x", {"pro": 1, "con": 2}, {"pro": 1, "con": 2}, ["y"]]


def test_forks_of_branches_and_of_calls_are_joined_too() -> None:
    @prompt
    def inner(s: State) -> Any:
        return s.fork(2, say)

    def body(s: State) -> Any:
        return [inner(), inner.start(), s.fork(2, lambda b: b.fork(2, say)), s.fork(2, inner)]

    assert run(body) == [[0, 1], [0, 1], [[0, 1], [0, 1]], [[0, 1], [0, 1]]]


def test_a_fork_is_awaited_like_its_all() -> None:
    async def body(s: State) -> Any:
        found = await s.fork(2, say)
        fork = s.fork(3, lambda b: "x")
        fork.vote()
        return [found, await fork]

    assert run(body) == [[0, 1], "x"]


RETURNED: dict[str, tuple[Callable[[State], Any], str]] = {
    "gen": (lambda s: gen("a"), 'a gen is no value (append it by itself, and return what it binds: s += gen("a")'),
    "select": (lambda s: select("a", ["x"]), "a select is no value (append it by itself"),
    "context": (lambda s: s, 'a context is no value (return s.text(), or s["name"])'),
}


@pytest.mark.parametrize("what", RETURNED)
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("where", ["prompt", "branch", "call", "emit", "join"])
def test_a_handle_that_is_returned_says_what_to_do_instead(what: str, holder: str, where: str) -> None:
    make, said = RETURNED[what]

    @prompt
    def inner(s: State) -> Any:
        return HOLDERS[holder](make(s))

    def body(s: State) -> Any:
        ways: dict[str, Callable[[], Any]] = {
            "prompt": lambda: inner.function(s),
            "branch": lambda: s.fork(1, inner),
            "call": inner,
            "emit": lambda: s.emit(inner.function(s)),
            "join": lambda: s.fork(1, say).join(lambda values: inner.function(s)),
        }
        return ways[where]()

    with pytest.raises(ProgramError) as caught:
        run(body)
    assert caught.value.code == "E0402"
    assert said in str(caught.value)


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_coroutine_that_nobody_awaits_is_refused(holder: str) -> None:
    @prompt
    async def inner(s: State, word: str) -> Any:
        return word

    async def returned(s: State) -> Any:
        return HOLDERS[holder](inner.a("x"))

    async def appended(s: State) -> Any:
        s.user(HOLDERS[holder](inner.a("x")))

    for body in (returned, appended):
        with pytest.raises(ProgramError) as caught:
            run(body)
        assert caught.value.code == "E0402"
        assert "coroutine" in caught.value.message
        assert caught.value.hint == "await it"


def test_what_a_fork_keeps_is_the_text_of_any_value() -> None:
    def body(s: State) -> Any:
        s.fork_over([(1, 2), Answer("x"), {1: None}], lambda b, item: item).all(keep=True)
        return s.text()

    assert run(body) == '[1,2]{"of":"x"}{"1":null}'
