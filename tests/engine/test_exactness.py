"""The cache never changes an answer: on, off, warm, cold, after eviction and preemption, in any batch."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

from radixkv.engine import CompletionDelta, Engine
from radixkv.models import LoadedModel
from radixkv.request import Completion, SamplingParams, TokenLogprob
from radixkv.tokenizer import Tokenizer
from whole_sequence import gap_of_top_two

GREEDY = SamplingParams(temperature=0.0, max_tokens=24, ignore_eos=True)
TIE = 1e-3  # how close the two likeliest tokens may be for their order to be open
ALLOWED_TIES = 1  # in 50 requests, and one more in each further 50


def serve(engine: Engine, prompts: Sequence[Any], sampling: Any = GREEDY, width: int = 64) -> list[Completion]:
    """Run requests, at most `width` at once; the completions in order."""
    each = sampling if isinstance(sampling, list) else [sampling] * len(prompts)

    async def run() -> list[Completion]:
        slots = asyncio.Semaphore(width)

        async def one(prompt: Any, params: SamplingParams) -> Completion:
            async with slots:
                return await engine.submit(prompt, params)

        return list(await asyncio.gather(*map(one, prompts, each)))

    return asyncio.run(run())


def ids(completions: Sequence[Completion]) -> list[tuple[int, ...]]:
    return [choice.token_ids for completion in completions for choice in completion.choices]


def mixed_requests(count: int) -> tuple[list[list[int]], list[SamplingParams]]:
    """Prompts of 1 to 150 tokens, many with common beginnings, and outputs of 1 to 24 tokens."""
    rng = random.Random(7)
    heads = [[rng.randrange(32, 127) for _ in range(length)] for length in (16, 37, 64, 110)]
    prompts, params = [], []
    for index in range(count):
        head = heads[rng.randrange(4)] if index % 5 else []
        prompts.append(head + [rng.randrange(32, 127) for _ in range(rng.randrange(1, 40))])
        params.append(SamplingParams(temperature=0.0, max_tokens=rng.randrange(1, 25), ignore_eos=True))
    return prompts, params


def count_ties(
    model: LoadedModel, vocab_size: int, prompts: Sequence[Sequence[int]], one: Sequence[Any], other: Sequence[Any]
) -> int:
    """Requests whose answers differ, each of which must begin to differ at a near tie."""
    ties = 0
    for prompt, left, right in zip(prompts, one, other, strict=True):
        if left != right:
            place = next(index for index, pair in enumerate(zip(left, right, strict=True)) if pair[0] != pair[1])
            gap = gap_of_top_two(model, [*prompt, *left[:place]], vocab_size)
            print(f"tie: prompt of {len(prompt)} tokens, output token {place}, top two {gap:.2e} apart")
            assert gap < TIE
            ties += 1
    return ties


def assert_close(one: Sequence[TokenLogprob | None] | None, other: Sequence[TokenLogprob | None] | None) -> None:
    """The same tokens, log-probabilities and rivals within 1e-4."""
    assert one
    assert other
    for left, right in zip(one, other, strict=True):
        assert left is not None
        assert right is not None
        assert left.token_id == right.token_id
        assert left.logprob == pytest.approx(right.logprob, abs=1e-4)
        assert dict(left.top) == pytest.approx(dict(right.top), abs=1e-4)


@pytest.mark.parametrize("count", [50, pytest.param(1000, marks=pytest.mark.slow)])
def test_mixed_requests_answer_the_same_whatever_the_cache_does(
    tiny: LoadedModel, tokenizer: Tokenizer, make_engine: Any, count: int
) -> None:
    prompts, params = mixed_requests(count)
    plain = ids(serve(make_engine(prefix_cache=False), prompts, params, width=1))
    warm = make_engine(num_blocks=512)
    runs = {
        "cache off, batch 16": ids(serve(make_engine(prefix_cache=False), prompts, params, width=16)),
        "cache on, batch 1": ids(serve(make_engine(num_blocks=512), prompts, params, width=1)),
        "cache on, batch 16": ids(serve(warm, prompts, params, width=16)),
        "warm, batch 16": ids(serve(warm, prompts, params, width=16)),
        "small steps": ids(serve(make_engine(num_blocks=512, step_tokens=32, max_running=16), prompts, params)),
    }
    assert warm.stats().cache.hit_tokens > 0
    tiny_pool = make_engine(num_blocks=48, block_size=4)
    runs["tiny pool"] = ids(serve(tiny_pool, prompts, params, width=16))
    for again in range(5):  # which requests meet in the pool is a matter of timing: until one had to make room
        if not tiny_pool.stats().scheduler.preemptions:
            runs[f"tiny pool, round {again}"] = ids(serve(tiny_pool, prompts, params, width=16 + 8 * again))
    stats = tiny_pool.stats()
    assert stats.scheduler.preemptions > 0
    assert stats.cache.evicted_blocks > 0
    print(f"tiny pool: {stats.scheduler.preemptions} preemptions, {stats.cache.evicted_blocks} blocks evicted")
    for name, answers in runs.items():
        ties = count_ties(tiny, tokenizer.vocab_size, prompts, plain, answers)
        print(f"{name}: {ties} ties in {len(prompts)}")
        assert ties <= ALLOWED_TIES * count // 50, name


@pytest.mark.parametrize("length", [15, 16, 17, 33])
def test_r068_prompt_logprobs_recompute_a_cached_prompt_and_are_the_same(make_engine: Any, length: int) -> None:
    """Each row of the prompt needs logits, which no KV gives, so nothing of it counts as cached."""
    engine = make_engine()
    prompt = list(range(40, 40 + length))
    sampling = SamplingParams(temperature=0.0, max_tokens=1, logprobs=1, prompt_logprobs=1)
    first, second = (serve(engine, [prompt], sampling)[0] for _ in range(2))
    assert [run.usage.cached_tokens for run in (first, second)] == [0, 0]
    assert [run.usage.computed_tokens for run in (first, second)] == [length, length]
    assert first.prompt_logprobs is not None
    assert second.prompt_logprobs is not None
    assert len(first.prompt_logprobs) == len(second.prompt_logprobs) == length
    assert first.prompt_logprobs[0] is second.prompt_logprobs[0] is None, "nothing comes before the first token"
    assert_close(first.prompt_logprobs[1:], second.prompt_logprobs[1:])
    assert_close(first.choices[0].logprobs, second.choices[0].logprobs)
    assert first.choices[0].token_ids == second.choices[0].token_ids
    plain = serve(engine, [prompt], SamplingParams(temperature=0.0, max_tokens=1, logprobs=1))[0]
    assert plain.usage.cached_tokens == length - 1, "without them the same prompt is a hit"
    assert_close(first.choices[0].logprobs, plain.choices[0].logprobs)


def test_r071_a_repeated_greedy_prompt_answers_the_same_with_and_without_cache(make_engine: Any) -> None:
    prompt = list(range(40, 90))
    sampling = SamplingParams(temperature=0.0, max_tokens=64, ignore_eos=True)
    engine = make_engine()
    answers = {ids(serve(engine, [prompt], sampling))[0] for _ in range(5)}
    answers |= set(ids(serve(make_engine(prefix_cache=False), [prompt], sampling)))
    assert len(answers) == 1


@pytest.mark.parametrize("length", [16, 32, 48])
def test_r072_a_whole_hit_still_computes_one_token(make_engine: Any, length: int) -> None:
    engine = make_engine()
    prompt = list(range(40, 40 + length))
    sampling = SamplingParams(temperature=0.0, max_tokens=1, logprobs=5)
    runs = [serve(engine, [prompt], sampling)[0] for _ in range(3)]
    tops = [dict(run.choices[0].logprobs[0].top) for run in runs if run.choices[0].logprobs]
    assert tops[1] == pytest.approx(tops[0], abs=1e-4)
    assert tops[2] == pytest.approx(tops[0], abs=1e-4)
    assert [run.usage.cached_tokens for run in runs] == [0, length - 1, length - 1]
    assert [run.usage.computed_tokens for run in runs] == [length, 1, 1]
    longer = serve(engine, [[*prompt, *runs[0].choices[0].token_ids]], sampling)[0]
    assert (longer.usage.cached_tokens, longer.usage.computed_tokens) == (length, 1)


@pytest.mark.parametrize("length", [4, 8, 12])
def test_r075_prompts_that_fill_their_last_block_repeat(make_engine: Any, length: int) -> None:
    engine = make_engine(block_size=4)
    sampling = SamplingParams(temperature=0.0, max_tokens=20 - length, ignore_eos=True)
    assert len({ids(serve(engine, [list(range(60, 60 + length))], sampling))[0] for _ in range(5)}) == 1
    engine.check_integrity()


@pytest.mark.parametrize("prompt", [[70], [70, 71, 72]])
def test_r079_equal_prompts_shorter_than_a_block_answer_the_same_in_one_batch(
    make_engine: Any, prompt: list[int]
) -> None:
    solo = ids(serve(make_engine(), [prompt]))[0]
    assert set(ids(serve(make_engine(), [prompt] * 5))) == {solo}


def test_r080_two_that_share_a_partial_block_do_not_disturb_each_other(make_engine: Any) -> None:
    prefix, five = list(range(65, 71)), SamplingParams(temperature=0.0, max_tokens=5, ignore_eos=True)
    engine = make_engine(block_size=4)
    serve(engine, [prefix], five)
    a, b = ids(serve(engine, [[*prefix, 90], [*prefix, 91]], five))
    assert ids(serve(engine, [[*prefix, 90]], five)) == [a]
    assert ids(serve(make_engine(block_size=4), [[*prefix, 91]], five)) == [b]


def test_r090_preempted_requests_lose_nothing_and_repeat_nothing(make_engine: Any) -> None:
    sampling = SamplingParams(temperature=0.0, max_tokens=40, ignore_eos=True)
    prompts = [[70 + index, 71, 72] for index in range(4)]
    solo = [serve(make_engine(block_size=4), [prompt], sampling)[0].text for prompt in prompts]
    engine = make_engine(num_blocks=20, block_size=4)

    async def stream(prompt: list[int]) -> tuple[str, Completion]:
        text, last = "", None
        async for item in engine.stream(prompt, sampling):
            text += item.text if isinstance(item, CompletionDelta) else ""
            last = item
        assert isinstance(last, Completion)
        return text, last

    async def run() -> list[tuple[str, Completion]]:
        return list(await asyncio.gather(*map(stream, prompts)))

    streamed = asyncio.run(run())
    preemptions = engine.stats().scheduler.preemptions
    assert preemptions > 0
    assert [text for text, _ in streamed] == [completion.text for _, completion in streamed] == solo
    assert [completion.usage.completion_tokens for _, completion in streamed] == [40] * 4
    asyncio.run(engine.clear_cache())
    whole = serve(engine, prompts, sampling)
    assert engine.stats().scheduler.preemptions > preemptions
    assert [completion.text for completion in whole] == solo
    assert [completion.usage.completion_tokens for completion in whole] == [40] * 4


def test_r097_three_choices_in_a_small_pool_equal_those_in_a_big_one(make_engine: Any) -> None:
    sampling = SamplingParams(n=3, max_tokens=50, seed=1, ignore_eos=True)
    big = serve(make_engine(block_size=4), ["abc"], sampling)[0]
    engine = make_engine(num_blocks=20, block_size=4)
    small = serve(engine, ["abc"], sampling)[0]
    assert engine.stats().scheduler.preemptions > 0
    assert ids([small]) == ids([big])
    assert [len(answer) for answer in ids([small])] == [50] * 3
    assert len(set(ids([small]))) == 3, "each choice has noise of its own"
    assert small.usage.completion_tokens == 150
    assert small.usage == big.usage
    assert small.usage.prompt_tokens == small.usage.computed_tokens == 3 + 2, "the others compute the last one again"
