"""Wrong types are refused by name where they come in, and whatever slips through ends one request, not the engine."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest

from radixkv.engine import Engine, RoleOpen, Text
from radixkv.errors import InvalidRequest, RequestFailed
from radixkv.request import SamplingParams

THREE = SamplingParams(temperature=0.0, max_tokens=3, ignore_eos=True)
Call = Callable[[Engine, str], Awaitable[object]]


async def drained(engine: Engine, prompt: Any, sampling: Any = THREE, **settings: Any) -> None:
    async for _ in engine.stream(prompt, sampling, **settings):
        pass


async def generated(engine: Engine, context: str, sampling: Any) -> None:
    async for _ in engine.generate(context, sampling):
        pass


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda e, c: e.submit("a", THREE, salt=["x"]), "salt"),
        (lambda e, c: e.submit("a", THREE, salt=None), "salt"),
        (lambda e, c: e.submit("a", THREE, priority="high"), "priority"),
        (lambda e, c: e.submit("a", THREE, priority=float("nan")), "priority"),
        (lambda e, c: e.submit("a", THREE, priority=2**40), "priority"),
        (lambda e, c: e.submit("a", THREE, priority=True), "priority"),
        (lambda e, c: drained(e, "a", priority=None), "priority"),
        (lambda e, c: drained(e, "a", salt=7), "salt"),
        (lambda e, c: e.submit("a", {"max_tokens": 3}), "sampling"),
        (lambda e, c: e.submit("a", None), "sampling"),
        (lambda e, c: e.submit(None), "prompt"),
        (lambda e, c: e.submit(5), "prompt"),
        (lambda e, c: e.submit(b"text"), "prompt"),
        (lambda e, c: e.submit({"role": "user", "content": "a"}), "prompt"),
        (lambda e, c: e.submit(np.int64(5)), "prompt"),
        (lambda e, c: e.submit(np.array([[1, 2]])), "prompt[0]"),
        (lambda e, c: e.submit([1, 2.0]), "prompt[1]"),
        (lambda e, c: e.submit([np.bool_(True)]), "prompt[0]"),
        (lambda e, c: e.submit([{"role": "user", "content": 5}]), "prompt[0]"),
        (lambda e, c: e.submit([{"role": "user", "content": "a"}, None]), "prompt[1]"),
        (lambda e, c: e.open(["x"]), "namespace"),
        (lambda e, c: e.open("", ["x"]), "model"),
        (lambda e, c: e.append(c, [Text(5)]), "parts[0]"),
        (lambda e, c: e.append(c, [Text("fine"), "bare"]), "parts[1]"),
        (lambda e, c: e.append(c, "bare"), "parts"),
        (lambda e, c: e.append(c, [RoleOpen(None)]), "parts[0]"),
        (lambda e, c: e.append(None, []), "context"),
        (lambda e, c: e.release(["x"]), "context"),
        (lambda e, c: e.score(c, None), "options"),
        (lambda e, c: e.score(c, []), "options"),
        (lambda e, c: e.score(c, "yes"), "options"),
        (lambda e, c: e.score(c, ["yes", 5]), "options[1]"),
        (lambda e, c: e.score(c, ["yes", ""]), "options[1]"),
        (lambda e, c: e.score(c, ["yes"], "mean"), "norm"),
        (lambda e, c: e.score(c, ["yes"], 3), "norm"),
        (lambda e, c: e.truncate(c, "x"), "length"),
        (lambda e, c: e.truncate(c, -1), "length"),
        (lambda e, c: e.fork(c, 1.5), "n"),
        (lambda e, c: e.fork(c, 0), "n"),
        (lambda e, c: e.count(None), "text"),
        (lambda e, c: generated(e, c, {"max_tokens": 3}), "sampling"),
    ],
)
def test_a_wrong_value_is_refused_by_name_and_the_engine_goes_on(make_engine: Any, call: Call, field: str) -> None:
    engine = make_engine()

    async def run() -> None:
        context = await engine.open()
        await engine.append(context, [Text("some text")])
        with pytest.raises(InvalidRequest) as refusal:
            await asyncio.wait_for(call(engine, context), 10)
        assert refusal.value.field == field
        assert (await engine.submit("a", THREE)).usage.completion_tokens == 3
        assert await engine.commit(context) == len("some text"), "nothing of a refused call has happened"

    asyncio.run(run())


@pytest.mark.parametrize(
    "ids",
    [
        (70, 71, 72),
        range(70, 73),
        array("q", [70, 71, 72]),
        np.array([70, 71, 72]),
        [np.int32(70), 71, np.uint8(72)],
    ],
    ids=["tuple", "range", "array", "numpy", "numpy scalars"],
)
def test_token_ids_may_come_in_any_sequence_of_integers(make_engine: Any, ids: Any) -> None:
    completion = asyncio.run(make_engine().submit(ids, THREE))
    assert completion.prompt_token_ids.tolist() == [70, 71, 72]


def test_messages_may_be_plain_mappings(make_engine: Any) -> None:
    engine = make_engine()
    completion = asyncio.run(engine.submit([{"role": "user", "content": "Hi"}], THREE))
    prompt = engine.tokenizer.decode(completion.prompt_token_ids, skip_special=False)
    assert prompt == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize("after_the_fact", [False, True])
def test_a_request_that_breaks_the_scheduler_as_it_comes_in_fails_alone(
    make_engine: Any, monkeypatch: pytest.MonkeyPatch, after_the_fact: bool
) -> None:
    engine = make_engine()
    scheduler = engine._parts.scheduler
    real = scheduler.add

    def add(request: Any) -> None:
        if len(request.prompt) != 1 or after_the_fact:
            real(request)
        if len(request.prompt) == 1:
            raise TypeError("no such thing")

    async def run() -> None:
        monkeypatch.setattr(scheduler, "add", add)
        with pytest.raises(RequestFailed, match="no such thing") as failure:
            await asyncio.wait_for(engine.submit("a", THREE), 10)
        assert isinstance(failure.value.__cause__, TypeError)
        assert (await engine.submit("ab", THREE)).usage.completion_tokens == 3
        engine.check_integrity()
        assert engine.stats().live_requests == 0

    asyncio.run(run())


def test_a_child_of_another_namespace_is_not_adopted(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        one, other = await engine.open("one"), await engine.open("other")
        await engine.append(other, [Text("a secret")])
        with pytest.raises(InvalidRequest, match="namespace"):
            await engine.adopt(one, other)
        assert await engine.commit(one) == 0
        assert await engine.commit(other) == len("a secret")

    asyncio.run(run())
