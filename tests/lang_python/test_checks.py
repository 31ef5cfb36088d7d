"""`s.check`: what it can be told, and what it tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from frontend_lang import Event, ProgramError, ScriptedRuntime, State, gen, prompt


def checks_of(act: Callable[[State], Any], asynchronous: bool = False) -> list[tuple[bool, str]]:
    """The checks of a body that binds `a` to "no", `b` to False and does this; they are told as events too."""

    @prompt
    def body(s: State) -> None:
        s += gen("a")
        s += gen("b", type=bool)
        act(s)

    @prompt
    async def later(s: State) -> None:
        body.function(s)

    events: list[Event] = []
    runtime = ScriptedRuntime(["no", "false"])
    found = (later if asynchronous else body).run(runtime=runtime, on_event=events.append)
    told = [(event.data["ok"], event.data["message"]) for event in events if event.event == "check"]
    assert told == [(check["ok"], check["message"]) for check in found.checks]
    return told


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_check_is_told_a_bool_or_the_promise_of_one(asynchronous: bool) -> None:
    def act(s: State) -> None:
        s.check(True, "yes")
        s.check(s["b"], s["a"])

    assert checks_of(act, asynchronous) == [(True, "yes"), (False, "no")]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("act", "shown"),
    [
        (lambda s: s.check(s["a"]), "'no'"),
        (lambda s: s.check(s["a"], "polite"), "'no'"),
        (lambda s: s.check("no"), "'no'"),
        (lambda s: s.check(None), "None"),
        (lambda s: s.check(1), "1"),
        (lambda s: s.check([s["b"]]), None),
        (lambda s: s.check(gen("a")), "gen('a')"),
        (lambda s: s.check(lambda: True), None),
    ],
)
def test_what_is_no_bool_is_no_check(act: Callable[[State], Any], shown: str | None, asynchronous: bool) -> None:
    with pytest.raises(ProgramError) as caught:
        checks_of(act, asynchronous)
    if shown is not None:
        assert (caught.value.code, caught.value.message) == ("E0402", f"`check` of {shown}, expected True or False")
        assert "s.check(" in (caught.value.hint or "")


def test_a_check_of_another_kind_is_raised_where_the_line_is() -> None:
    with pytest.raises(ProgramError) as caught:
        checks_of(lambda s: s.check(s["a"]))
    assert caught.value.file == __file__
