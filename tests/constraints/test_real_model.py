"""Constraints on the default model."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator

import pytest

from radixkv.config import EngineConfig
from radixkv.constraint import Choice, Constraint, JsonSchema, Regex
from radixkv.engine import Engine, Generation, Text
from radixkv.models import ModelFiles
from radixkv.request import SamplingParams

pytestmark = pytest.mark.model

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 20},
        "country": {"enum": ["France", "Norway"]},
        "capital": {"type": "boolean"},
    },
    "required": ["city", "country", "capital"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def engine(smollm2_files: ModelFiles) -> Iterator[Engine]:
    engine = Engine.start(EngineConfig(str(smollm2_files.path), dtype="float32", num_blocks=256))
    yield engine
    engine.check_integrity()
    engine.close_now()


def test_json_comes_in_fewer_forwards_than_tokens(engine: Engine) -> None:
    sampling = SamplingParams(temperature=0.0, max_tokens=80)
    prompt = "Paris is the capital of France. As JSON:"
    completion = asyncio.run(engine.submit(prompt, sampling, constraint=JsonSchema(json.dumps(SCHEMA))))
    value = json.loads(completion.text)
    assert value["country"] == "France"
    assert isinstance(value["capital"], bool)
    assert engine.stats().scheduler.steps < 0.7 * completion.usage.completion_tokens


def test_a_typed_answer_has_the_same_tokens_on_both_sides_of_the_space(engine: Engine) -> None:
    async def answer(text: str, constraint: Constraint) -> tuple[str, list[int]]:
        context = await engine.open()
        await engine.append(context, [Text(text)])
        items = [item async for item in engine.generate(context, SamplingParams(temperature=0.0), constraint)]
        tokens = await engine.tokens(context)
        await engine.release(context)
        assert isinstance(items[-1], Generation)
        return items[-1].text, tokens

    left, one = asyncio.run(answer("The capital of Norway is", Choice([" Oslo", " Bergen"])))
    right, other = asyncio.run(answer("The capital of Norway is ", Choice(["Oslo", "Bergen"])))
    assert (left, right) == (" Oslo", "Oslo")
    assert one == other == engine.tokenizer.encode("The capital of Norway is Oslo").tolist()


def test_chat_ends_where_the_grammar_lets_it(engine: Engine) -> None:
    messages = [{"role": "user", "content": "In which year did people first walk on the moon? Only the year."}]
    sampling = SamplingParams(temperature=0.0, max_tokens=10)
    assert re.fullmatch(
        r"19[0-9]{2}|20[0-2][0-9]",
        asyncio.run(engine.submit(messages, sampling, constraint=Regex(r"19[0-9]{2}|20[0-2][0-9]"))).text,
    )
