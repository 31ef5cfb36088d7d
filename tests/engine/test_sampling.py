"""Sampling as a caller sees it: seeds, penalties, biases, vocabulary."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import torch

from radixkv.engine import Engine
from radixkv.errors import InvalidRequest
from radixkv.models import LoadedModel
from radixkv.request import Completion, SamplingParams
from radixkv.tokenizer import Tokenizer
from whole_sequence import whole_logits


def submit(engine: Engine, *prompts: Any, sampling: SamplingParams | list[SamplingParams]) -> list[Completion]:
    """All at once, in this order."""
    each = sampling if isinstance(sampling, list) else [sampling] * len(prompts)

    async def run() -> list[Completion]:
        return await asyncio.gather(*(engine.submit(p, s) for p, s in zip(prompts, each, strict=True)))

    return asyncio.run(run())


def ids(completions: list[Completion]) -> list[tuple[int, ...]]:
    return [completion.choices[0].token_ids for completion in completions]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_r011_padding_rows_are_never_sampled_nor_listed(
    padded: LoadedModel, make_engine: Any, temperature: float
) -> None:
    engine = make_engine(padded)
    raw = whole_logits(padded, engine.tokenizer.encode("once upon a time"), padded.config.vocab_size)
    assert raw.shape[1] == 320
    assert int(raw.argmax(dim=1).min()) >= 300, "without a mask a padding row would win at every position"
    sampling = SamplingParams(temperature=temperature, seed=3, max_tokens=40, logprobs=5, prompt_logprobs=5)
    completion = submit(engine, "once upon a time", sampling=sampling)[0]
    choice = completion.choices[0]
    assert choice.logprobs is not None
    assert completion.prompt_logprobs is not None
    listed = [entry for entry in (*choice.logprobs, *completion.prompt_logprobs) if entry is not None]
    seen = set(choice.token_ids) | {token_id for entry in listed for token_id, _ in entry.top}
    assert max(seen) < engine.tokenizer.vocab_size == 300
    with pytest.raises(InvalidRequest, match=r"prompt.*310"):
        submit(engine, [1, 310], sampling=sampling)


def test_r013_a_seed_gives_the_same_ids_in_any_order_and_batch(make_engine: Any) -> None:
    engine = make_engine()
    prompts = [f"prompt number {index}" for index in range(6)]
    params = [SamplingParams(seed=seed + 1, max_tokens=24) for seed in range(6)]
    together = ids(submit(engine, *prompts, sampling=params))
    reverse = ids(submit(engine, *prompts[::-1], sampling=params[::-1]))[::-1]
    singly = [ids(submit(engine, prompt, sampling=each))[0] for prompt, each in zip(prompts, params, strict=True)]
    assert together == reverse == singly


def test_r014_seeds_belong_to_requests(make_engine: Any) -> None:
    engine = make_engine()

    def run(temperature: float, seed: int | None) -> tuple[int, ...]:
        sampling = SamplingParams(temperature=temperature, seed=seed, max_tokens=32)
        return ids(submit(engine, "once", sampling=sampling))[0]

    assert run(0.7, 5) == run(0.7, 5) != run(0.7, 6)
    assert run(0.0, 5) == run(0.0, 6)
    assert run(0.7, 0) == run(0.7, 0)
    assert run(0.7, 2**63 - 1)
    for bad in (-1, 2**63):
        with pytest.raises(InvalidRequest, match="seed"):
            run(0.7, bad)


def test_a_drawn_seed_is_reported_and_repeats_the_answer(make_engine: Any) -> None:
    engine = make_engine()
    first = submit(engine, "once", sampling=SamplingParams(max_tokens=16))[0]
    again = submit(engine, "once", sampling=SamplingParams(max_tokens=16, seed=first.seed))[0]
    assert first.choices[0].token_ids == again.choices[0].token_ids
    assert first.seed != submit(engine, "once", sampling=SamplingParams(max_tokens=1))[0].seed


def test_an_engine_seed_makes_drawn_seeds_repeatable(make_engine: Any) -> None:
    seeds = [
        [c.seed for c in submit(make_engine(seed=9), "a", "b", sampling=SamplingParams(max_tokens=1))] for _ in "12"
    ]
    assert seeds[0] == seeds[1]


def test_r017_prompt_tokens_count_for_the_repetition_penalty_alone(
    tiny: LoadedModel, tokenizer: Tokenizer, make_engine: Any
) -> None:
    engine = make_engine()
    prompt = [69] * 10
    logits = whole_logits(tiny, prompt, tokenizer.vocab_size)[-1].clone()

    def first_logprobs(**penalties: float) -> dict[int, float]:
        sampling = SamplingParams(temperature=0.0, max_tokens=1, logprobs=100, **penalties)
        logprobs = submit(engine, prompt, sampling=sampling)[0].choices[0].logprobs
        assert logprobs is not None
        return dict(logprobs[0].top)

    def expected(top: dict[int, float]) -> Any:
        rows = torch.log_softmax(logits, dim=0)
        return pytest.approx({token_id: float(rows[token_id]) for token_id in top}, abs=1e-4)

    plain = first_logprobs()
    assert plain == expected(plain)
    assert first_logprobs(presence_penalty=2, frequency_penalty=2) == expected(plain)
    repeated = first_logprobs(repetition_penalty=1.5)
    logits[69] = logits[69] / 1.5 if logits[69] > 0 else logits[69] * 1.5
    assert repeated == expected(repeated)
    assert 69 in repeated
    assert float(logits[69]) != float(whole_logits(tiny, prompt, tokenizer.vocab_size)[-1, 69])


@pytest.mark.parametrize("bias", [{99_999_999: 5}, {-1: 5}, {"abc": 5}, {5: 1e9}, {5: "x"}, {260: 1.0}])
def test_r019_a_bad_logit_bias_is_refused_while_others_go_on(make_engine: Any, bias: dict[Any, Any]) -> None:
    engine = make_engine()

    async def run() -> None:
        running = asyncio.create_task(engine.submit("a stream", SamplingParams(temperature=0.0, max_tokens=30)))
        await asyncio.sleep(0)
        with pytest.raises(InvalidRequest, match="logit_bias"):
            await engine.submit("q", SamplingParams(logit_bias=bias, max_tokens=2))
        assert (await running).usage.completion_tokens == 30

    asyncio.run(run())


def test_a_stop_id_outside_the_vocabulary_is_refused(make_engine: Any) -> None:
    with pytest.raises(InvalidRequest, match="stop_token_ids"):
        submit(make_engine(), "q", sampling=SamplingParams(stop_token_ids=(5000,)))


def test_a_logit_bias_decides(make_engine: Any) -> None:
    sampling = SamplingParams(temperature=0.0, logit_bias={ord("z"): 100.0}, max_tokens=5)
    assert submit(make_engine(), "q", sampling=sampling)[0].text == "zzzzz"


def test_no_prompt_is_no_request(make_engine: Any) -> None:
    engine = make_engine()
    for empty in ("", []):
        with pytest.raises(InvalidRequest, match="prompt"):
            submit(engine, empty, sampling=SamplingParams())
