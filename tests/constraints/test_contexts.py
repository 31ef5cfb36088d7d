"""Constraints in contexts: the token border, what a context keeps, how errors reach the language."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from frontend_lang import runtime as language
from radixkv.config import engine_config
from radixkv.constraint import Choice, Constraint, JsonSchema, Regex
from radixkv.engine import Engine, Generation, Text
from radixkv.models import load_model, locate_model
from radixkv.programs import EngineRuntime
from radixkv.request import FinishReason, SamplingParams
from radixkv.tokenizer import load_tokenizer

GREEDY = SamplingParams(temperature=0.0, max_tokens=12)


@pytest.fixture(scope="module")
def merging(padded_llama: Path) -> Iterator[Engine]:
    """An engine whose vocabulary has merges, such as ` the`."""
    model = load_model(locate_model(str(padded_llama)), "float32")
    config = engine_config(str(padded_llama), {"dtype": "float32", "num_blocks": 256, "threads": 1})
    engine = Engine.from_model(config, model, load_tokenizer(model.files))
    yield engine
    engine.check_integrity()
    engine.close_now()


async def generate(
    engine: Engine, text: str, constraint: Constraint | None, sampling: SamplingParams = GREEDY
) -> tuple[Generation, list[int], str]:
    """What a context of this text gives, its tokens afterwards, and its text with what is buffered."""
    context = await engine.open()
    await engine.append(context, [Text(text)])
    shown, last = "", None
    async for item in engine.generate(context, sampling, constraint):
        shown += "" if isinstance(item, Generation) else item.text
        last = item
    assert isinstance(last, Generation)
    assert shown == last.text
    tokens = await engine.tokens(context)
    await engine.commit(context)
    whole = engine.tokenizer.decode(await engine.tokens(context))
    await engine.release(context)
    return last, tokens, whole


@pytest.mark.parametrize("border", ["Say:", "Say: "])
def test_a_space_left_or_right_of_the_border_gives_the_tokens_of_the_whole_text(merging: Engine, border: str) -> None:
    answer = " the end" if border == "Say:" else "the end"
    generation, tokens, whole = asyncio.run(generate(merging, border, Choice([answer])))
    assert generation.text == answer
    assert whole == "Say: the end"
    assert tokens == merging.tokenizer.encode("Say: the end").tolist()


def test_sampled_tokens_and_the_only_token_are_not_reopened(merging: Engine) -> None:
    async def run() -> list[int]:
        context = await merging.open()
        await merging.append(context, [Text("t")])
        async for _item in merging.generate(context, GREEDY, Choice(["he"])):
            pass
        before = await merging.tokens(context)
        async for _item in merging.generate(context, GREEDY, Choice([" the"])):
            pass
        after = await merging.tokens(context)
        assert after[: len(before)] == before
        return after

    encode = merging.tokenizer.encode
    assert asyncio.run(run()) == [*encode("t"), *encode("he"), *encode(" the")]


@pytest.mark.parametrize("max_tokens", [1, 2, 3])
def test_max_tokens_counts_without_the_reopened_token(merging: Engine, max_tokens: int) -> None:
    sampling = SamplingParams(temperature=0.0, max_tokens=max_tokens)
    generation, _tokens, whole = asyncio.run(generate(merging, "N: ", Regex("[0-9]{5}"), sampling))
    assert re.fullmatch(f"[0-9]{{{max_tokens}}}", generation.text)
    assert generation.finish_reason is FinishReason.LENGTH
    assert whole == f"N: {generation.text}"


@pytest.mark.parametrize(("stop", "kept"), [("t", ""), (" e", "the"), ("nd", "the e")])
def test_a_stop_string_leaves_the_reopened_text_where_it_was(merging: Engine, stop: str, kept: str) -> None:
    sampling = SamplingParams(temperature=0.0, stop=stop)
    generation, _tokens, whole = asyncio.run(generate(merging, "Say: ", Choice(["the end"]), sampling))
    assert generation.text == kept
    assert whole == f"Say: {kept}"


def test_a_cancelled_generation_leaves_the_context_as_committed(merging: Engine) -> None:
    async def run() -> tuple[list[int], list[int]]:
        context = await merging.open()
        await merging.append(context, [Text("Say: ")])
        await merging.commit(context)
        before = await merging.tokens(context)
        items = merging.generate(context, SamplingParams(max_tokens=200), Regex("[a-z]{150,}"))
        async for _item in items:
            break
        await items.aclose()
        after = await merging.tokens(context)
        await merging.release(context)
        return before, after

    before, after = asyncio.run(run())
    assert before == after


def test_what_follows_a_constrained_text_computes_only_what_is_new(merging: Engine) -> None:
    async def run() -> None:
        context = await merging.open()
        await merging.append(context, [Text("a long beginning of forty characters or so: ")])
        async for _item in merging.generate(context, GREEDY, Choice(["a text that is forced"])):
            pass
        fork = await merging.fork(context, 2)
        assert fork.usage.computed_tokens <= len(merging.tokenizer.encode("a text that is forced")) + 1
        again = await merging.fork(context, 2)
        assert again.usage.computed_tokens == 0
        for child in (context, *fork.children, *again.children):
            await merging.release(child)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("constraint", "code", "words"),
    [
        (language.Regex("(a"), "E0504", "character 1"),
        (language.JsonSchema('{"type": "objekt"}'), "E0504", "objekt"),
        (language.JsonSchema('{"type": "integer", "multipleOf": 99999999}'), "E0505", "over budget"),
        (language.JsonSchema('{"uniqueItems": true}'), "E0506", "`uniqueItems` at #"),
        (language.Lark("start: x"), "E0504", "x"),
        (language.Choice(("a" * 70_000,)), "E0505", "65536"),
    ],
)
def test_r136_the_language_gets_a_code_and_no_text(
    merging: Engine, constraint: language.Constraint, code: str, words: str
) -> None:
    async def run() -> None:
        runtime = EngineRuntime(merging)
        context = await runtime.open()
        await runtime.append(context, [language.Text("Say: ")])
        async for item in runtime.generate(context, language.GenParams(), constraint):
            raise AssertionError(f"{item} was generated")

    steps = merging.stats().steps
    with pytest.raises(language.RuntimeFailure, match=re.escape(words)) as failure:
        asyncio.run(run())
    assert failure.value.code == code
    assert merging.stats().steps == steps


def test_the_language_decodes_under_its_constraints(merging: Engine) -> None:
    async def run(constraint: language.Constraint) -> str:
        runtime = EngineRuntime(merging)
        context = await runtime.open()
        await runtime.append(context, [language.Text("Say: ")])
        items = [
            item async for item in runtime.generate(context, language.GenParams(max_tokens=20, seed=1), constraint)
        ]
        await runtime.release(context)
        assert isinstance(items[-1], language.GenResult)
        return items[-1].text

    assert re.fullmatch("[ab]{3}", asyncio.run(run(language.Regex("[ab]{3}"))))
    assert asyncio.run(run(language.JsonSchema('{"type": "boolean"}'))) in {"true", "false"}
    assert asyncio.run(run(language.Choice(("yes", "no")))) in {"yes", "no"}
    assert asyncio.run(run(language.Lark('start: "(" /[0-9]/ ")"')))[::2] == "()"


def test_a_schema_that_is_true_or_false(engine_of: Callable[..., Engine]) -> None:
    engine = engine_of()
    sampling = SamplingParams(temperature=0.0, max_tokens=3)
    assert asyncio.run(engine.submit("x", sampling, constraint=JsonSchema("true"))).text
    with pytest.raises(Exception, match="allows no value"):
        asyncio.run(engine.submit("x", sampling, constraint=JsonSchema("false")))
