"""gen, select, types and texts that cannot be: what was found, what was expected, and the way out."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import pytest

import frontend_lang
from frontend_lang import (
    Float,
    Int,
    List,
    ProgramError,
    Regex,
    Schema,
    ScriptedRuntime,
    State,
    Str,
    gen,
    prompt,
    select,
    tool,
)


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Word(enum.StrEnum):
    FIVE = "5"


class Pair(enum.Enum):
    ONE = (1, 2)


T = TypeVar("T")


@tool
def double(n: int) -> int:
    return 2 * n


def outcome(act: Callable[[State], Any]) -> Any:
    """What a body that does this gives."""

    @prompt(tools=[double])
    def body(s: State) -> Any:
        return act(s)

    return body(runtime=ScriptedRuntime(lambda text, call: "5"))


WRONG: list[tuple[Callable[[State], Any], str, str]] = [
    (lambda s: s.user(gen("a", stop=3)), "E0402", "`stop` is 3, expected a text or a list of texts"),  # type: ignore[arg-type]
    (lambda s: s.user(gen("a", stop="")), "E0401", "`stop` is empty text, which is everywhere (leave it out)"),
    (lambda s: s.user(gen("a", stop=["x", ""])), "E0401", "`stop` is empty text"),
    (lambda s: s.user(gen("a", stop=["x", 3])), "E0402", "option `stop` needs a str or a list of str"),  # type: ignore[list-item]
    (lambda s: s.user(gen(None)), "E0402", "`gen` binds None, expected a name"),  # type: ignore[arg-type]
    (lambda s: s.user(gen(3)), "E0402", "`gen` binds 3, expected a name"),  # type: ignore[arg-type]
    (lambda s: s.user(gen("")), "E0402", "`gen` binds '', expected a name"),
    (lambda s: s.user(gen("a", until=3)), "E0402", "`until` of `gen` is 3, expected a function"),  # type: ignore[arg-type]
    (lambda s: s.user(gen("a", until=lambda a: "no")), "E0402", "`until` of `a` gave 'no', expected True or False"),  # type: ignore[arg-type, return-value]
    (lambda s: s.user(gen("a", until=lambda a: None)), "E0402", "`until` of `a` gave None, expected True or False"),  # type: ignore[arg-type, return-value]
    (lambda s: s.user(select("a", "abc")), "E0402", "`select` from 'abc', expected a list of texts"),
    (lambda s: s.user(select("a", 3)), "E0402", "`select` from 3, expected a list of texts"),  # type: ignore[arg-type]
    (lambda s: s.user(select("a", {"x", "y"})), "E0402", "expected a list of texts"),
    (lambda s: s.user(select("a", Mood)), "E0402", "found.GOOD"),  # type: ignore[arg-type]
    (lambda s: s.user(select("a", [None])), "E0402", "an option of `select` is None, expected text"),  # type: ignore[list-item]
    (lambda s: s.user(select("a", [b"x"])), "E0402", "an option of `select` is b'x', expected text"),  # type: ignore[list-item]
    (lambda s: s.user(select(3, ["x"])), "E0402", "`select` binds 3, expected a name"),  # type: ignore[arg-type]
    (lambda s: s.user(s), "E0402", "a context is no value that can be written (s.text() is what it has so far)"),  # type: ignore[arg-type]
    (lambda s: s.user(s.fork(1, lambda b: "x")), "E0402", "(say how it is joined: fork.all())"),  # type: ignore[arg-type]
    (lambda s: s.user(lambda: 1), "E0402", "(call it)"),  # type: ignore[arg-type]
    (lambda s: s.user(prompt(lambda s: 1)), "E0402", "(call it, or s.use(it))"),  # type: ignore[arg-type]
    (lambda s: s.user(b"x"), "E0402", "a Python bytes is no value of the language (data.decode()"),  # type: ignore[arg-type]
    (lambda s: s.user([1, bytearray(b"x")]), "E0402", "a Python bytearray is no value"),
    (lambda s: s.emit({"x": b"x"}), "E0402", "a Python bytes is no value"),
    (lambda s: s.invoke(3), "E0402", "`invoke` of 3, expected the name of a tool"),  # type: ignore[arg-type]
    (
        lambda s: s.user(gen("a", type=Pair)),
        "E0506",
        "type Pair: the value (1, 2) cannot be generated (an Enum of texts",
    ),
    (lambda s: s.user(gen("a", type=list[Pair])), "E0506", "the value (1, 2) cannot be generated"),
    (lambda s: s.user(gen("a", type=Literal[Mood.GOOD])), "E0506", "cannot be generated (the Enum itself can"),
    (lambda s: s.user(gen("a", type=T)), "E0506", "a type variable stands for no type of its own"),
    (lambda s: s.user(gen("a", type=List(T))), "E0506", "a type variable stands for no type of its own"),
]


@pytest.mark.parametrize(("act", "code", "said"), WRONG)
def test_what_cannot_be_generated_or_appended_is_refused(act: Callable[[State], Any], code: str, said: str) -> None:
    with pytest.raises(ProgramError) as caught:
        outcome(act)
    assert caught.value.code == code
    assert said.replace("found.", "Mood.") in str(caught.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Int("a"), "Int(min='a', max=None): min is 'a', expected a whole number"),
        (lambda: Int(1.5), "min is 1.5, expected a whole number"),
        (lambda: Float(max="x"), "max is 'x', expected a number"),
        (lambda: Str(max="3"), "max is '3', expected a whole number"),
        (lambda: Str(min=None), "min is None, expected a whole number"),
        (lambda: List(int, max="3"), "max is '3', expected a whole number"),
        (lambda: Regex(3), "pattern is 3, expected a pattern"),
        (lambda: Schema(3), "Schema(schema=3): expected a dict"),
        (lambda: Schema(None), "expected a dict"),
        (lambda: prompt(tools=3)(lambda s: 1), "tools=3, expected a list of functions: tools=[wiki]"),  # type: ignore[arg-type]
        (lambda: frontend_lang.run(3, runtime=ScriptedRuntime([])), "source=3, expected the text of a program"),  # type: ignore[arg-type]
        (lambda: frontend_lang.run("return 1", 3, runtime=ScriptedRuntime([])), "args=3, expected arguments by name"),  # type: ignore[arg-type]
        (lambda: frontend_lang.run("return 1", tools="wiki", runtime=ScriptedRuntime([])), "tools='wiki', expected"),
    ],
)
def test_a_bound_of_another_type_is_refused_where_it_is_given(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(TypeError) as caught:
        make()
    assert said in str(caught.value)


def test_promises_are_options_and_stops_and_what_until_gives() -> None:
    def act(s: State) -> Any:
        s += gen("a")
        s += gen("b", stop=[s["a"], "x"], until=lambda b: s["a"] == "5")
        s += select("c", [s["a"], "6"])
        s += select("d", Word)
        return [s["c"], s["d"]]

    assert outcome(act) == ["5", Word.FIVE]
