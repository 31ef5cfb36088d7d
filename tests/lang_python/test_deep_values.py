"""Values that are nested too deeply, or in themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from frontend_lang import ProgramError, ScriptedRuntime, State, fence, gen, prompt, select, tool


def nested(core: Any = None, levels: int = 2000) -> list[Any]:
    value = [core]
    for _ in range(levels):
        value = [value]
    return value


def ring() -> list[Any]:
    value = list[Any]()
    value.append({"k": value})
    return value


@tool
def same(x: Any) -> Any:
    return x


@tool
def first(x: list[Any]) -> list[Any]:
    return ring()


VALUES: dict[str, Callable[[], Any]] = {"deep": nested, "in itself": ring, "deep tuple": lambda: (nested(),)}
USES: dict[str, Callable[[State, Any], Any]] = {
    "appended": lambda s, value: s.user(value),
    "emitted": lambda s, value: s.emit(value),
    "fenced": lambda s, value: s.user(fence(value)),
    "message of a check": lambda s, value: s.check(True, value),
    "vote": lambda s, value: s.fork(2, lambda b: value).vote(),
    "key": lambda s, value: s.fork(2, lambda b: "x").best(lambda found: value),
    "kept": lambda s, value: s.fork(2, lambda b: value).all(keep=True),
    "option": lambda s, value: s.user(gen("a", stop=value)),
    "default": lambda s, value: s.set(stop=value),
    "tool's result in a text": lambda s, value: s.user(s.invoke("same", value)),
}


@pytest.mark.parametrize("what", VALUES)
@pytest.mark.parametrize("use", USES)
def test_what_is_too_deep_for_a_text_or_a_vote_is_an_error_of_the_program(what: str, use: str) -> None:
    @prompt(tools=[same])
    def body(s: State) -> Any:
        return USES[use](s, VALUES[what]())

    with pytest.raises(ProgramError) as caught:
        body(runtime=ScriptedRuntime(lambda text, call: "5"), on_event=lambda event: None)
    assert caught.value.code in ("E0808", "E0402")
    if use not in ("option", "default"):
        assert caught.value.code == "E0808"


@pytest.mark.parametrize("what", VALUES)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_is_returned_comes_out_as_it_is(what: str, asynchronous: bool) -> None:
    value = VALUES[what]()

    def body(s: State) -> Any:
        s.fork(1, lambda b: value).all().value  # noqa: B018 - waits
        return value

    async def later(s: State) -> Any:
        return value

    events = list[Any]()
    runtime = ScriptedRuntime()
    result = prompt(later if asynchronous else body).run(runtime=runtime, on_event=events.append)
    assert result.value is value
    assert "nested" in str(result.to_dict()["value"])
    assert [event.to_dict()["event"] for event in events][-1] == "run.end"


def test_a_promise_that_is_too_deep_in_what_is_returned_is_an_error_of_the_program() -> None:
    def body(s: State) -> Any:
        s += gen("a")
        return nested(s["a"])

    with pytest.raises(ProgramError) as caught:
        prompt(body)(runtime=ScriptedRuntime(["x"]))
    assert caught.value.code == "E0808"


OTHERS: dict[str, Callable[[State, Any], Any]] = {
    "options of a select": lambda s, value: s.user(select("a", value)),
    "a tool's typed result": lambda s, value: s.user(s.invoke("first", [1])),
    "a join": lambda s, value: s.fork(2, lambda b: value).concat(),
}


@pytest.mark.parametrize("use", OTHERS)
def test_nothing_else_that_is_in_itself_crashes(use: str) -> None:
    @prompt(tools=[first])
    def body(s: State) -> Any:
        return OTHERS[use](s, ring())

    with pytest.raises(ProgramError) as caught:
        body.run(runtime=ScriptedRuntime(lambda text, call: "5"), on_event=lambda event: event.to_dict())
    assert caught.value.code in ("E0402", "E0808")
