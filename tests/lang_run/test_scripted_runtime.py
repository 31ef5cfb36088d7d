"""The scripted runtime keeps the contract of `Runtime`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from frontend_lang.runtime import (
    ContextId,
    GenParams,
    GenResult,
    Role,
    RoleClose,
    RoleOpen,
    Runtime,
    RuntimeFailure,
    Text,
)
from frontend_lang.scripted import ScriptedRuntime


def play(script: Callable[[ScriptedRuntime], Awaitable[None]], runtime: ScriptedRuntime) -> None:
    asyncio.run(script(runtime))  # type: ignore[arg-type]


async def generated(runtime: ScriptedRuntime, context: ContextId, params: GenParams | None = None) -> GenResult:
    items = [item async for item in runtime.generate(context, params or GenParams())]
    assert isinstance(items[-1], GenResult)
    assert "".join(item.text for item in items[:-1]) == items[-1].text
    return items[-1]


def test_it_is_a_runtime() -> None:
    runtime: Runtime = ScriptedRuntime()
    assert runtime.info.deterministic


def test_neighbouring_text_is_tokenised_jointly_and_generated_tokens_are_kept() -> None:
    async def script(runtime: ScriptedRuntime) -> None:
        context = await runtime.open()
        await runtime.append(context, [Text("Hel"), Text("lo wor"), Text("ld")])
        assert await runtime.commit(context) == 2
        await generated(runtime, context)
        await runtime.append(context, [Text("!")])
        assert await runtime.commit(context) == 4
        assert await runtime.count("a b  c") == 3
        assert len(set(await runtime.tokens(context))) == 4
        assert runtime.context_text(context) == "Hello world again!"

    play(script, ScriptedRuntime([" again"]))


def test_stop_and_max_tokens() -> None:
    async def script(runtime: ScriptedRuntime) -> None:
        context = await runtime.open()
        result = await generated(runtime, context, GenParams(stop=("END", "x")))
        assert (result.text, result.finish_reason, len(result.token_ids)) == ("a b", "stop", 2)
        result = await generated(runtime, context, GenParams(max_tokens=2))
        assert (result.text, result.finish_reason, result.usage.completion_tokens) == (" c d", "length", 2)
        assert result.usage.prompt_tokens == result.usage.cached_tokens == 2

    play(script, ScriptedRuntime(["a bEND x", " c d e"]))


def test_closing_a_generation_early_rolls_back() -> None:
    async def script(runtime: ScriptedRuntime) -> None:
        context = await runtime.open()
        await runtime.append(context, [Text("p")])
        stream = runtime.generate(context, GenParams())
        await anext(stream)
        with pytest.raises(RuntimeFailure, match="generating"):
            await runtime.commit(context)
        await stream.aclose()  # type: ignore[attr-defined]
        assert runtime.context_text(context) == "p"
        assert await runtime.commit(context) == 1

    play(script, ScriptedRuntime(["a b c"]))


def test_score_reopens_the_last_text_token() -> None:
    async def script(runtime: ScriptedRuntime) -> None:
        context = await runtime.open()
        await runtime.append(context, [Text("The answer is ")])
        scores = await runtime.score(context, ["yes", "no"])
        assert (scores.best, sum(scores.probabilities)) == (1, pytest.approx(1.0))
        await runtime.append(context, [Text("no")])
        assert await runtime.commit(context) == 4
        assert runtime.context_text(context) == "The answer is no"
        await generated(runtime, context)
        before = await runtime.tokens(context)
        await runtime.score(context, ["a"])
        assert await runtime.tokens(context) == before

    play(script, ScriptedRuntime(["x"], scores={"yes": 0.0, "no": 1.0}))


def test_fork_adopt_truncate_release() -> None:
    async def script(runtime: ScriptedRuntime) -> None:
        parent = await runtime.open()
        await runtime.append(parent, [RoleOpen(Role.USER), Text("a b")])
        fork = await runtime.fork(parent, 2)
        assert (fork.shared_tokens, fork.usage.forks, fork.usage.computed_tokens, runtime.live) == (3, 2, 3, 3)
        first, second = fork.children
        await runtime.append(first, [Text(" c"), RoleClose()])
        await runtime.adopt(parent, first)
        assert runtime.context_text(parent) == "<|user|>a b c<|end|>"
        await runtime.commit(parent)
        await runtime.truncate(parent, 2)
        assert runtime.context_text(parent) == "<|user|>a"
        assert runtime.context_text(second) == "<|user|>a b"
        for context in (parent, second, second):
            await runtime.release(context)
        assert runtime.live == 0

    play(script, ScriptedRuntime())


@pytest.mark.parametrize("verb", ["append", "commit", "generate", "score", "fork", "truncate", "tokens", "adopt"])
def test_use_after_release_is_a_failure(verb: str) -> None:
    async def script(runtime: ScriptedRuntime) -> None:
        context = await runtime.open()
        other = await runtime.open()
        await runtime.release(context)
        with pytest.raises(RuntimeFailure, match="not live") as caught:
            await misuse(runtime, context, other)
        assert caught.value.code == "E0702"

    async def misuse(runtime: ScriptedRuntime, context: ContextId, other: ContextId) -> None:
        if verb == "generate":
            await generated(runtime, context)
        elif verb == "adopt":
            await runtime.adopt(other, context)
        else:
            arguments = {"append": [[Text("x")]], "score": [["a"]], "fork": [1], "truncate": [0]}.get(verb, [])
            await getattr(runtime, verb)(context, *arguments)

    play(script, ScriptedRuntime(["a"]))


def test_roles_must_nest() -> None:
    async def script(runtime: ScriptedRuntime) -> None:
        context = await runtime.open()
        with pytest.raises(RuntimeFailure, match="closed"):
            await runtime.append(context, [RoleClose()])
        with pytest.raises(RuntimeFailure, match="inside"):
            await runtime.append(context, [RoleOpen(Role.USER), RoleOpen(Role.SYSTEM)])

    play(script, ScriptedRuntime())
