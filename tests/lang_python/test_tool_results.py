"""What tools give, held to their annotations."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypedDict

import pytest

from frontend_lang import Fail, ProgramError, ScriptedRuntime, State, prompt, tool


class Colour(Enum):
    RED = "red"


@dataclass
class Found:
    title: str


@dataclass
class Best(Found):
    score: int = 1


class Options(TypedDict):
    size: int


class Client:
    """An object that is no data."""


def gives(annotation: Any, result: Any) -> Any:
    def function() -> Any:
        return result

    function.__annotations__["return"] = annotation
    return tool(name="lookup")(function)


def invoked(lookup: Any) -> Any:
    def body(s: State) -> Any:
        return s.invoke("lookup")

    return prompt(tools=[lookup])(body)(runtime=ScriptedRuntime())


@pytest.mark.parametrize(
    ("annotation", "result"),
    [
        (int, "s"),
        (int, float("nan")),
        (int, True),
        (int, None),
        (str, 1),
        (None, 1),
        (list[int], [1, "2"]),
        (dict[str, int], {"k": "v"}),
        (Found, {"name": "x"}),
        (Colour, "blue"),
        (Options, {"size": "x"}),
        (Client, "x"),
        (int | str, 1.5),
    ],
)
def test_a_result_that_does_not_fit_its_annotation_is_an_error(annotation: Any, result: Any) -> None:
    with pytest.raises(ProgramError) as caught:
        invoked(gives(annotation, result))
    assert (caught.value.code, caught.value.file) == ("E0704", __file__)
    assert "the result of tool `lookup`" in caught.value.message


@pytest.mark.parametrize(
    ("annotation", "result", "value"),
    [
        (int, 3, 3),
        (float, 3, 3.0),
        (bool, True, True),
        (None, None, None),
        (Any, {1, 2}, {1, 2}),
        (list[int], (1, 2), [1, 2]),
        (Found, {"title": "x"}, Found("x")),
        (Found, Best("x"), Best("x")),
        (Colour, "red", Colour.RED),
        ("NoSuchType", "x", "x"),
    ],
)
def test_a_result_is_a_value_of_its_annotation(annotation: Any, result: Any, value: Any) -> None:
    found = invoked(gives(annotation, result))
    assert (found, type(found)) == (value, type(value))


def test_an_object_of_the_host_is_given_as_it_is() -> None:
    client = Client()
    assert invoked(gives(Client, client)) is client


@pytest.mark.parametrize("error", [asyncio.CancelledError(), ValueError("it was cancelled"), Fail("it was cancelled")])
def test_whatever_a_tool_raises_is_a_failure_of_the_tool(error: BaseException) -> None:
    @tool
    async def lookup() -> str:
        raise error

    with pytest.raises(ProgramError) as caught:
        invoked(lookup)
    assert (caught.value.code, "it was cancelled" in caught.value.message) == ("E0704", True)
