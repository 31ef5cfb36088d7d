"""`yield` is a word of text programs: a Python function with it would be a generator that nobody runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import pytest

from frontend_lang import ScriptedRuntime, State, prompt, tool


def generator(s: Any = None, item: Any = None) -> Iterator[int]:
    yield 1


async def generator_async(s: Any = None, item: Any = None) -> AsyncIterator[int]:
    yield 1


def in_body(use: Callable[[State], Any]) -> Any:
    return prompt(lambda s: use(s))(runtime=ScriptedRuntime())


USES: dict[str, Callable[[Any], Any]] = {
    "prompt": prompt,
    "prompt with tools": lambda f: prompt(tools=[])(f),
    "tool": tool,
    "tool of a prompt": lambda f: prompt(tools=[f])(lambda s: None),
    "fork": lambda f: in_body(lambda s: s.fork(2, f)),
    "fork_over": lambda f: in_body(lambda s: s.fork_over(["a"], f)),
    "arms": lambda f: in_body(lambda s: s.fork({"a": f})),
    "best": lambda f: in_body(lambda s: s.fork(2, lambda b: 1).best(f)),
    "vote": lambda f: in_body(lambda s: s.fork(2, lambda b: 1).vote(by=f)),
    "join": lambda f: in_body(lambda s: s.fork(2, lambda b: 1).join(f)),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("function", [generator, generator_async, partial(generator, item=1)])
def test_a_generator_function_is_refused_where_it_is_given(use: str, function: Any) -> None:
    if isinstance(function, partial):
        function.__name__ = "generator"  # type: ignore[attr-defined]
        function.__module__ = __name__
    with pytest.raises(TypeError, match="generator function: `return` its value"):
        USES[use](function)
