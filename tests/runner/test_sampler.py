from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from radixkv.request import SamplingParams
from radixkv.runner.cutoffs import thresholds
from radixkv.runner.sampler import Sampled, sample
from radixkv.step_plan import SamplingState
from radixkv.tokens import token_array
from step_plans import GREEDY


def state(
    params: SamplingParams = GREEDY,
    *,
    seed: int = 1,
    position: int = 0,
    prompt: Sequence[int] = (),
    output: Sequence[int] = (),
    banned: tuple[int, ...] = (),
) -> SamplingState:
    return SamplingState(params, seed, 0, position, token_array(prompt), token_array(output), banned)


def sample_one(logits: Tensor, given: SamplingState) -> Sampled:
    return sample(logits[None].clone(), [given])[0]


def logprobs_by_id(logits: Tensor, given: SamplingState) -> dict[int, float]:
    sampled = sample_one(logits, replace(given, params=replace(given.params, logprobs=len(logits))))
    assert sampled.logprob is not None
    return dict(sampled.logprob.top)


def kept_ids(logits: Tensor, params: SamplingParams) -> set[int]:
    """The definition of the cuts: sorted, token by token, fp64."""
    scaled = (logits / params.temperature).double()
    ranked = sorted(range(len(logits)), key=lambda i: (-scaled[i].item(), i))
    if params.top_k:
        least = scaled[ranked[min(params.top_k, len(ranked)) - 1]]
        ranked = [i for i in ranked if scaled[i] >= least]
    if params.top_p < 1.0:
        mass = torch.softmax(scaled[ranked], -1).tolist()
        count = next((n + 1 for n in range(len(ranked)) if sum(mass[: n + 1]) >= params.top_p), len(ranked))
        ranked = [i for i in ranked if scaled[i] >= scaled[ranked[count - 1]]]
    if params.min_p:
        ranked = [i for i in ranked if scaled[i] >= scaled[ranked[0]] + math.log(params.min_p)]
    return set(ranked)


# ---- greedy


def test_greedy_takes_the_largest_and_of_equal_ones_the_lowest_id() -> None:
    assert sample_one(torch.tensor([1.0, 3.0, 2.0]), state()).token_id == 1
    logits = torch.zeros(5000)
    logits[[4001, 77, 3000]] = 2.5
    assert sample_one(logits, state()).token_id == 77


def test_r014_a_seed_does_nothing_to_greedy() -> None:
    logits = torch.randn(300, generator=torch.Generator().manual_seed(3))
    assert {sample_one(logits, state(seed=seed)).token_id for seed in (0, 5, 6, 2**63 - 1)} == {int(logits.argmax())}


# ---- noise and batch


def test_r014_a_seed_decides_the_draws() -> None:
    logits = torch.zeros(300)
    params = SamplingParams(temperature=0.7)

    def text(seed: int) -> list[int]:
        return [sample_one(logits, state(params, seed=seed, position=i)).token_id for i in range(32)]

    assert text(5) == text(5)
    assert len({tuple(text(seed)) for seed in (0, 1, 5, 6, 2**63 - 1)}) == 5


def test_choices_of_one_seed_differ() -> None:
    logits = torch.zeros(300)
    drawn = [replace(state(SamplingParams()), choice=choice) for choice in range(8)]
    assert len({sample_one(logits, each).token_id for each in drawn}) > 4


def test_r013_a_row_is_drawn_alike_whatever_the_batch() -> None:
    generator = torch.Generator().manual_seed(4)
    kinds = [
        SamplingParams(),
        SamplingParams(temperature=0.0),
        SamplingParams(top_k=5),
        SamplingParams(top_p=0.8, temperature=0.7),
        SamplingParams(min_p=0.1, logprobs=2),
        SamplingParams(top_k=50, top_p=0.9, min_p=0.05, repetition_penalty=1.3, presence_penalty=0.5),
    ]
    states = [
        state(params, seed=seed, position=seed, prompt=[1, 2], output=[3, 3]) for seed, params in enumerate(kinds * 2)
    ]
    logits = torch.randn(len(states), 300, generator=generator) * 3
    alone = [sample_one(row, each) for row, each in zip(logits, states, strict=True)]
    assert sample(logits.clone(), states) == alone
    assert sample(logits.flip(0).clone(), states[::-1]) == alone[::-1]


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(),
        SamplingParams(temperature=0.5),
        SamplingParams(temperature=2.0, top_k=4),
        SamplingParams(top_p=0.7),
        SamplingParams(min_p=0.2),
        SamplingParams(temperature=1.3, top_k=6, top_p=0.9, min_p=0.05),
    ],
    ids=str,
)
def test_draws_follow_the_distribution_that_the_settings_define(params: SamplingParams) -> None:
    """Chi-square over 10,000 draws with fixed seeds; the bound is the 99.99 % quantile."""
    draws = 10_000
    logits = torch.tensor([2.0, 1.5, 1.0, 0.5, 0.0, -0.5, -1.0, -1.5, -2.0, -2.5])
    kept = kept_ids(logits, params)
    weights = [math.exp(logits[i].item() / params.temperature) if i in kept else 0.0 for i in range(10)]
    expected = [draws * weight / sum(weights) for weight in weights]
    states = [state(params, seed=seed % 50, position=seed // 50) for seed in range(draws)]
    counts = Counter(each.token_id for each in sample(logits.repeat(draws, 1), states))
    assert set(counts) <= kept
    chi_square = sum((counts[i] - expected[i]) ** 2 / expected[i] for i in kept)
    quantile = {3: 18.4, 4: 21.1, 5: 23.5, 6: 25.7, 7: 27.9, 8: 29.9, 9: 31.8, 10: 33.7}  # 1e-4, len(kept) - 1 degrees
    assert chi_square < quantile[len(kept)], (chi_square, len(kept))


# ---- cuts


@given(
    values=st.lists(st.integers(-40, 40), min_size=1, max_size=60),
    temperature=st.sampled_from([0.25, 1.0, 3.0]),
    top_k=st.integers(0, 70),
    top_p=st.sampled_from([1.0, 0.999, 0.9, 0.51, 0.1, 1e-6]),
    min_p=st.sampled_from([0.0, 0.01, 0.3, 1.0]),
)
@settings(max_examples=200, deadline=None)
def test_thresholds_keep_what_the_definition_keeps(
    values: list[int], temperature: float, top_k: int, top_p: float, min_p: float
) -> None:
    params = SamplingParams(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    logits = torch.tensor(values, dtype=torch.float32) / 8 + 0.0123
    scaled = logits / temperature
    least = thresholds(scaled[None], [params])[0]
    assert set((scaled >= least).nonzero().squeeze(-1).tolist()) == kept_ids(logits, params)


def test_a_flat_distribution_needs_more_candidates_than_the_first_ones() -> None:
    logits = torch.linspace(0.0, 1.0, 9000)[None].repeat(2, 1)
    logits[1] *= 100
    least = thresholds(logits, [SamplingParams(top_p=0.9), SamplingParams(top_p=0.9)])
    for row in range(2):
        mass = torch.softmax(logits[row].double(), -1)
        kept = logits[row] >= least[row]
        assert mass[kept].sum() >= 0.9 > mass[kept].sum() - mass[kept].min()


def test_top_k_one_and_a_tiny_top_p_are_greedy() -> None:
    logits = torch.randn(300, generator=torch.Generator().manual_seed(3))
    for params in (SamplingParams(top_k=1), SamplingParams(top_p=1e-9), SamplingParams(min_p=1.0)):
        assert sample_one(logits, state(params)).token_id == int(logits.argmax())


def test_top_k_beyond_the_vocabulary_keeps_everything() -> None:
    logits = torch.randn(300, generator=torch.Generator().manual_seed(3))
    assert sample_one(logits, state(SamplingParams(top_k=10**6))) == sample_one(logits, state(SamplingParams()))


# ---- bias, penalties, bans

LOGITS = torch.tensor([0.5, 2.0, -1.0, 1.0, 3.0, -2.0])


def unnormalised(logprobs: dict[int, float], anchor: int, value: float) -> list[float]:
    """Logits again, given that `anchor` is known to have kept its value."""
    return [round(logprobs[i] - logprobs[anchor] + value, 4) for i in range(len(logprobs))]


def test_r017_presence_and_frequency_look_at_the_output_only() -> None:
    params = SamplingParams(temperature=0.0, presence_penalty=2.0, frequency_penalty=2.0)
    with_prompt = logprobs_by_id(LOGITS, state(params, prompt=[5] * 10))
    assert with_prompt == logprobs_by_id(LOGITS, state())
    changed = logprobs_by_id(LOGITS, state(params, output=[1, 1, 3]))
    assert unnormalised(changed, 0, 0.5) == [0.5, 2.0 - 2 * 2 - 2, -1.0, 1.0 - 2 - 2, 3.0, -2.0]


def test_r017_repetition_divides_a_positive_logit_and_multiplies_a_negative_one() -> None:
    params = SamplingParams(temperature=0.0, repetition_penalty=1.5)
    changed = logprobs_by_id(LOGITS, state(params, prompt=[5] * 10, output=[1, 1]))
    assert unnormalised(changed, 0, 0.5) == [0.5, round(2.0 / 1.5, 4), -1.0, 1.0, 3.0, -3.0]


def test_bias_comes_before_penalties() -> None:
    params = SamplingParams(temperature=0.0, logit_bias={1: -6.0}, repetition_penalty=2.0)
    changed = logprobs_by_id(LOGITS, state(params, output=[1]))
    assert unnormalised(changed, 0, 0.5)[1] == (2.0 - 6.0) * 2


def test_a_large_bias_decides() -> None:
    for temperature in (0.0, 1.0):
        params = SamplingParams(temperature=temperature, logit_bias={2: 100.0})
        assert sample_one(LOGITS, state(params)).token_id == 2


def test_banned_ids_are_never_chosen() -> None:
    assert sample_one(LOGITS, state(banned=(4,))).token_id == 1
    drawn = {
        sample_one(LOGITS, state(SamplingParams(temperature=9.0), seed=seed, banned=(4, 1))).token_id
        for seed in range(60)
    }
    assert drawn == {0, 2, 3, 5}


def test_rows_that_ask_for_nothing_keep_their_logits() -> None:
    logits = LOGITS.repeat(3, 1)
    params = SamplingParams(temperature=0.0, presence_penalty=1.0)
    sample(logits, [state(), state(params, output=[4]), state(banned=())])
    assert logits[0].tolist() == LOGITS.tolist() == logits[2].tolist()


# ---- log-probabilities


def test_logprobs_zero_gives_the_chosen_token_alone() -> None:
    sampled = sample_one(LOGITS, state(SamplingParams(temperature=0.0, logprobs=0)))
    assert sampled.logprob is not None
    assert (sampled.logprob.token_id, sampled.logprob.top) == (4, ())
    assert sampled.logprob.logprob == pytest.approx(LOGITS.log_softmax(-1)[4].item(), abs=1e-6)
    assert sample_one(LOGITS, state()).logprob is None


def test_logprobs_do_not_depend_on_temperature_nor_on_cuts_and_are_finite() -> None:
    for params in (
        SamplingParams(temperature=0.2, top_k=1, logprobs=6),
        SamplingParams(temperature=3.0, top_p=0.01, logprobs=6),
        SamplingParams(temperature=0.0, logprobs=6),
    ):
        sampled = sample_one(LOGITS, state(params, banned=(1,)))
        assert sampled.logprob is not None
        assert [token_id for token_id, _ in sampled.logprob.top] == [4, 1, 3, 0, 2, 5]
        values = torch.tensor([value for _, value in sampled.logprob.top])
        torch.testing.assert_close(values, LOGITS[[4, 1, 3, 0, 2, 5]] - LOGITS.logsumexp(-1))


def test_equal_likeliest_tokens_are_listed_by_id_even_at_the_border() -> None:
    logits = torch.zeros(1000)
    logits[[500, 20, 900]] = 1.0
    sampled = sample_one(logits, state(SamplingParams(temperature=0.0, logprobs=5)))
    assert sampled.logprob is not None
    assert [token_id for token_id, _ in sampled.logprob.top] == [20, 500, 900, 0, 1]


# ---- rows that cannot be sampled


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("params", [GREEDY, SamplingParams(top_p=0.9, logprobs=2)])
def test_a_broken_row_fails_alone(value: float, params: SamplingParams) -> None:
    logits = LOGITS.repeat(3, 1)
    logits[1, 3 if value > 0 or math.isnan(value) else slice(None)] = value
    results = sample(logits, [state(params, seed=seed) for seed in range(3)])
    assert results[1].error is not None
    assert results[0] == sample_one(LOGITS, state(params, seed=0))
    assert results[2] == sample_one(LOGITS, state(params, seed=2))


def test_a_row_with_everything_banned_says_so() -> None:
    results = sample(LOGITS.repeat(2, 1), [state(banned=tuple(range(6))), state()])
    assert "no token is left" in (results[0].error or "")
    assert results[1].token_id == 4


def test_r019_a_bias_for_an_unknown_token_fails_its_own_row() -> None:
    params = SamplingParams(temperature=0.0, logit_bias={99_999_999: 5.0})
    results = sample(LOGITS.repeat(2, 1), [state(params), state()])
    assert "99999999" in (results[0].error or "")
    assert results[1].token_id == 4
