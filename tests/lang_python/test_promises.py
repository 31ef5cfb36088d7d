"""Promises as their values, and values with promises in them."""

from __future__ import annotations

import asyncio
import copy
import math
import pickle
import statistics
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import pydantic
import pytest

from frontend_lang import ProgramError, ScriptedRuntime, State, gen, prompt


def run(function: Any, answers: Any, **options: Any) -> Any:
    runtime = ScriptedRuntime(answers)
    try:
        return prompt(function)(runtime=runtime, **options)
    finally:
        assert runtime.live == 0


def test_gather_waits_for_promises() -> None:
    async def body(s: State) -> Any:
        s += gen("a")
        s += gen("b")
        return [await asyncio.gather(s["a"], s["b"], s["a"]), s["a"] == s["b"]]

    assert run(body, ["x", "x"]) == [["x", "x", "x"], True]


def test_a_sync_body_finds_promises_in_sets_and_dicts() -> None:
    def body(s: State) -> Any:
        s += gen("a")
        return s["a"] in {"x"}, {"x": 1}[s["a"]], {s["a"]: 2}["x"]

    assert run(body, ["x"]) == (True, 1, 2)


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "round": round,
    "round to tens": lambda n: round(n, -1),
    "abs": abs,
    "trunc": math.trunc,
    "floor": math.floor,
    "ceil": math.ceil,
    "complex": complex,
    "power": lambda n: (n**2, 2**n, pow(n, 2, 5)),
    "divmod": lambda n: (divmod(n, 3), divmod(30, n)),
    "floor division": lambda n: (n // 2, 30 // n, n % 4, 30 % n),
    "bits": lambda n: (n & 3, 3 & n, n | 8, 8 | n, n ^ 1, 1 ^ n, n << 1, 1 << n, n >> 1, 9999 >> n, ~n),
    "signs": lambda n: (+n, -n),
    "of both": lambda n: (n + n, n - n, n * n, n / n, n**n),
    "index": lambda n: ("x" * n, list(range(20))[n], hex(n)),
    "mean": lambda n: statistics.fmean([n, n]),
    "sum": lambda n: sum([n, n, 1]),
    "largest": lambda n: max(n, 2),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_a_promise_does_what_a_number_does(what: str) -> None:
    def body(s: State) -> Any:
        s += gen("n", type=int)
        return NUMBERS[what](s["n"])

    assert run(body, ["7"]) == NUMBERS[what](7)


def test_a_promise_does_what_a_list_does() -> None:
    def body(s: State) -> Any:
        s += gen("n", type=list[int])
        return [list(reversed(s["n"])), s["n"] + [4], [0] + s["n"], s["n"][1:], sorted(s["n"])]

    assert run(body, ["[1,2,3]"]) == [[3, 2, 1], [1, 2, 3, 4], [0, 1, 2, 3], [2, 3], [1, 2, 3]]


def test_promises_in_a_list_are_their_values_in_a_prompt() -> None:
    def body(s: State) -> None:
        s += gen("a")
        s += f"{[s['a'], {'k': s['a']}]} {s['a']!r}"
        s += gen("b")

    runtime = ScriptedRuntime(["x", "y"])
    prompt(body)(runtime=runtime)
    assert runtime.prompts[-1] == "x['x', {'k': 'x'}] 'x'"


def test_the_repr_of_a_value_that_is_not_there_is_refused_in_an_async_body() -> None:
    async def body(s: State) -> Any:
        s += gen("a")
        with pytest.raises(ProgramError) as caught:
            f"{[s['a']]}"
        assert (caught.value.code, "await" in (caught.value.hint or "")) == ("E0810", True)
        return [await s["a"], repr(s["a"])]

    assert run(body, ["x"]) == ["x", "'x'"]


def test_outside_of_bodies_the_repr_says_how_far_a_promise_is() -> None:
    kept: list[Any] = []

    async def body(s: State) -> Any:
        s += gen("a")
        s += gen("n", type=int)
        kept.extend([s["a"], s["n"]])
        return await s["a"]

    with pytest.raises(ProgramError):
        run(body, ["x", "no number"])
    assert repr(kept) == "[<Promise `a`: 'x'>, <Promise `n`: failed>]"


@dataclass(frozen=True, slots=True)
class Answer:
    text: Any
    notes: list[Any] = field(default_factory=list)


class Pair(NamedTuple):
    left: Any
    right: Any


class Row(msgspec.Struct, frozen=True):
    text: Any


class Model(pydantic.BaseModel):
    text: Any


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "dataclass": lambda p: Answer(p, [p, {"k": p}]),
    "named tuple": lambda p: Pair(p, [p]),
    "struct": Row,
    "pydantic model": lambda p: Model.model_construct(text=[p]),
    "dicts": lambda p: [OrderedDict(k=p), defaultdict(list, k=[p]), {"k": {"l": (p,)}}],
    "sequences": lambda p: [deque([p], maxlen=3), (p, [p])],
    "other objects": lambda p: {"text": p, "kind": Answer, "function": len, "runtime": OTHER},
}
OTHER = ScriptedRuntime()


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_promises_in_what_a_body_returns_are_their_values(holder: str, asynchronous: bool) -> None:
    def body(s: State) -> Any:
        s += gen("a")
        return HOLDERS[holder](s["a"])

    async def later(s: State) -> Any:
        return body(s)

    found, expected = run(later if asynchronous else body, ["x"]), HOLDERS[holder]("x")
    assert found == expected
    assert repr(found) == repr(expected)


def test_promises_in_sets_and_as_keys_are_their_values() -> None:
    def body(s: State) -> Any:
        s += gen("a")
        return [{s["a"]}, frozenset([s["a"]]), {s["a"]: 1}]

    assert run(body, ["x"]) == [{"x"}, frozenset(["x"]), {"x": 1}]


def test_what_holds_itself_and_what_has_no_promise_come_out_as_they_are() -> None:
    plain = [Answer("x")]

    def body(s: State) -> Any:
        s += gen("a")
        ring: list[Any] = [s["a"]]
        ring.append(ring)
        return ring

    ring = run(body, ["x"])
    assert ring[0] == "x"
    assert ring[1] is ring
    assert run(lambda s: plain, []) is plain


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_a_copy_of_a_promise_is_its_value(again: Callable[[Any], Any]) -> None:
    def body(s: State) -> Any:
        s += gen("n", type=list[int])
        found = again(s["n"])
        assert type(found) is list
        return [found, again([s["n"]])]

    found = run(body, ["[1,2]"])
    assert found == [[1, 2], [[1, 2]]]
