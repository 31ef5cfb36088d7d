from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch

from radixkv.models import Decoder
from radixkv.request import SamplingParams
from radixkv.runner import Runner
from radixkv.runner import runner as runner_module
from radixkv.step_plan import BlockCopy, SequencePlan, SharedPrefix, StepPlan
from radixkv_kernels.protocols import KVLayout
from radixkv_kernels.reference import ReferenceAttention
from step_plans import GREEDY, logprobs_of, sampling_state, score_all, sequence_plan, step_plan

VOCAB_SIZE = 300
PROMPT = [72, 101, 108, 108, 111, 44, 32, 119, 111, 114, 108, 100, 33]
LOGPROBS = SamplingParams(temperature=0.0, logprobs=5)
NEAR = 1e-4  # of log-probabilities: torch's matrix products differ in the last bits with the number of rows


def full_logprobs(decoder: Decoder, token_ids: Sequence[int]) -> torch.Tensor:
    """Log-probabilities after every token from one plain forward, (num_tokens, VOCAB_SIZE)."""
    config = decoder.config
    layout = KVLayout(config.num_layers, 32, 4, config.num_kv_heads, config.head_dim, torch.float32)
    attention = ReferenceAttention(layout)
    runner = Runner(decoder, attention, vocab_size=config.vocab_size)
    runner.run(step_plan(sequence_plan(token_ids, range(32))))  # fills the storage and plans it
    hidden = decoder.forward(torch.tensor(token_ids), torch.arange(len(token_ids)), attention)
    return decoder.logits(hidden)[:, :VOCAB_SIZE].log_softmax(-1)


def greedy_tokens(runner: Runner, prompt: Sequence[int], blocks: Sequence[int], count: int) -> list[int]:
    token_ids, start, pending = [], 0, list(prompt)
    while len(token_ids) < count:
        result = runner.run(step_plan(sequence_plan(pending, blocks, start=start, sampling=sampling_state())))
        token_ids.append(result.sequences[0].token_ids[0])
        start, pending = start + len(pending), token_ids[-1:]
    return token_ids


def test_targets_are_log_softmax_of_the_full_logits(runner: Runner, decoder: Decoder) -> None:
    expected = full_logprobs(decoder, PROMPT)
    result = runner.run(step_plan(score_all(PROMPT, range(4)))).sequences[0]
    assert logprobs_of(result) == pytest.approx([expected[i, t].item() for i, t in enumerate(PROMPT[1:])], abs=NEAR)
    assert [target.token_id for target in result.targets] == PROMPT[1:]
    assert result.token_ids == ()


def test_targets_bring_the_likeliest_tokens(runner: Runner, decoder: Decoder) -> None:
    plan = sequence_plan(PROMPT, range(4), targets=[(0, 7), (12, 8)], top=3)
    expected = full_logprobs(decoder, PROMPT)
    for row, target in zip((0, 12), runner.run(step_plan(plan)).sequences[0].targets, strict=True):
        best = expected[row].topk(3)
        assert [token_id for token_id, _ in target.top] == best.indices.tolist()
        assert [value for _, value in target.top] == pytest.approx(best.values.tolist(), abs=NEAR)


def test_long_scoring_takes_the_head_in_parts(
    runner: Runner, decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "HEAD_ELEMENTS", 5 * VOCAB_SIZE)
    sizes = []
    logits = decoder.logits

    def watched(hidden: torch.Tensor) -> torch.Tensor:
        sizes.append(len(hidden))
        return logits(hidden)

    monkeypatch.setattr(decoder, "logits", watched)
    parts = logprobs_of(runner.run(step_plan(score_all(PROMPT, range(4)))).sequences[0])
    monkeypatch.undo()
    assert sizes == [5, 5, 2]
    whole = logprobs_of(runner.run(step_plan(score_all(PROMPT, range(4)))).sequences[0])
    assert parts == pytest.approx(whole, abs=NEAR)


def test_the_head_sees_only_wanted_rows(runner: Runner, decoder: Decoder, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    logits = decoder.logits

    def watched(hidden: torch.Tensor) -> torch.Tensor:
        sizes.append(len(hidden))
        return logits(hidden)

    monkeypatch.setattr(decoder, "logits", watched)
    options = [(12, 5), (12, 6), (12, 7)]  # three options after one row cost one row
    runner.run(
        step_plan(
            sequence_plan(PROMPT, range(4), targets=options),
            sequence_plan(PROMPT, range(4, 8)),
            sequence_plan(PROMPT, range(8, 12), sampling=sampling_state()),
        )
    )
    assert sizes == [1, 1]


def test_a_ragged_mixed_step_equals_each_sequence_alone(make_runner: Callable[[], Runner]) -> None:
    def histories(runner: Runner) -> None:
        runner.run(step_plan(sequence_plan(PROMPT, range(4)), sequence_plan(PROMPT[:9], range(4, 7))))

    steps = [
        sequence_plan([40], range(4), start=13, sampling=sampling_state(LOGPROBS)),  # decode
        sequence_plan([50, 51, 52], range(4, 7), start=9, sampling=sampling_state(LOGPROBS)),  # chunk with history
        sequence_plan([7], [7], sampling=sampling_state(LOGPROBS)),  # a prompt of one token
        sequence_plan(PROMPT[::-1], range(8, 12), sampling=sampling_state(LOGPROBS), targets=[(3, 9)]),  # fresh prefill
    ]
    together = make_runner()
    histories(together)
    mixed = together.run(step_plan(*steps)).sequences
    for i, step in enumerate(steps):
        alone_runner = make_runner()
        histories(alone_runner)
        alone = alone_runner.run(step_plan(step)).sequences[0]
        assert alone.token_ids == mixed[i].token_ids
        assert logprobs_of(alone) == pytest.approx(logprobs_of(mixed[i]), abs=NEAR)
        for (a, first), (b, second) in zip(alone.logprobs[0].top, mixed[i].logprobs[0].top, strict=True):
            assert (a, first) == (b, pytest.approx(second, abs=NEAR))


@pytest.mark.parametrize("prompt", [[7], [7, 8, 9], [7, 8, 9, 10]])
def test_r079_equal_short_prompts_give_equal_rows(make_runner: Callable[[], Runner], prompt: list[int]) -> None:
    solo = make_runner().run(step_plan(sequence_plan(prompt, [3], sampling=sampling_state(LOGPROBS)))).sequences[0]
    batch = [sequence_plan(prompt, [block], sampling=sampling_state(LOGPROBS)) for block in (9, 2, 5, 30, 63)]
    for result in make_runner().run(step_plan(*batch)).sequences:
        assert result.token_ids == solo.token_ids
        assert result.logprobs[0].logprob == pytest.approx(solo.logprobs[0].logprob, abs=NEAR)


@pytest.mark.parametrize("chunk", [1, 3, 4, 5, 12])
def test_a_chunked_prefill_equals_the_whole(make_runner: Callable[[], Runner], chunk: int) -> None:
    whole = make_runner().run(step_plan(sequence_plan(PROMPT, range(4), sampling=sampling_state(LOGPROBS))))
    chunked = make_runner()
    for start in range(0, len(PROMPT), chunk):
        part = PROMPT[start : start + chunk]
        result = chunked.run(step_plan(sequence_plan(part, range(4), start=start, sampling=sampling_state(LOGPROBS))))
    assert result.sequences[0].token_ids == whole.sequences[0].token_ids
    assert result.sequences[0].logprobs[0].logprob == pytest.approx(whole.sequences[0].logprobs[0].logprob, abs=NEAR)


def test_copies_run_in_order_before_the_step(make_runner: Callable[[], Runner]) -> None:
    runner = make_runner()
    runner.run(step_plan(sequence_plan(PROMPT, range(4))))
    # 13 tokens: block 3 holds one. The copy goes by way of block 20, which the first copy fills.
    copies = (BlockCopy(3, 20, 1), BlockCopy(20, 21, 1))
    tail = sequence_plan([40], [0, 1, 2, 21], start=13, sampling=sampling_state(LOGPROBS))
    copied = runner.run(replace(step_plan(tail), copies=copies)).sequences[0]
    plain = runner.run(step_plan(sequence_plan([40], range(4), start=13, sampling=sampling_state(LOGPROBS))))
    assert copied == replace(plain.sequences[0], sequence_id=copied.sequence_id)


def test_a_plan_of_copies_alone_runs_them(runner: Runner) -> None:
    runner.run(step_plan(sequence_plan(PROMPT, range(4))))
    assert runner.run(StepPlan(5, (), copies=(BlockCopy(0, 9, 4),))).sequences == ()
    tail = runner.run(step_plan(sequence_plan([40], [9, 1, 2, 3], start=13, sampling=sampling_state(LOGPROBS))))
    assert tail.sequences[0].error is None


def test_shared_prefix_groups_change_nothing_but_the_work(make_runner: Callable[[], Runner]) -> None:
    runner = make_runner()
    runner.run(step_plan(sequence_plan(PROMPT, range(4))))
    branches = [
        sequence_plan([60 + i] * (1 + i % 2), [0, 1, 30 + i], start=8, sampling=sampling_state(LOGPROBS))
        for i in range(4)
    ]
    plain = runner.run(step_plan(*branches)).sequences
    groups = (SharedPrefix((0, 1), (0, 1, 3)), SharedPrefix((0,), (0, 1, 2, 3)))
    grouped = runner.run(replace(step_plan(*branches), groups=groups)).sequences
    for one, other in zip(plain, grouped, strict=True):
        assert one.token_ids == other.token_ids
        assert one.logprobs[0].logprob == pytest.approx(other.logprobs[0].logprob, abs=NEAR)


def test_r011_ids_beyond_the_tokenizer_are_never_sampled_nor_listed(runner: Runner) -> None:
    params = SamplingParams(temperature=1.0, logprobs=20)
    plans = [
        sequence_plan(
            PROMPT,
            range(4),
            sampling=sampling_state(replace(params, temperature=0.0)),
            top=9,
            targets=[(row, 1) for row in range(13)],
        )
    ]
    plans += [
        sequence_plan(PROMPT, range(4 * i, 4 * i + 4), sampling=sampling_state(params, seed=i)) for i in range(1, 9)
    ]
    for result in runner.run(step_plan(*plans)).sequences:
        ids = [*result.token_ids, *(id_ for entry in (*result.logprobs, *result.targets) for id_, _ in entry.top)]
        assert max(ids) < VOCAB_SIZE
        assert sum(2.718281828**value for _, value in result.logprobs[0].top) <= 1.0001


def test_greedy_decode_follows_the_full_forward(runner: Runner, decoder: Decoder) -> None:
    tokens = greedy_tokens(runner, PROMPT, range(8), 12)
    expected = full_logprobs(decoder, [*PROMPT, *tokens])
    assert tokens == expected.argmax(-1)[len(PROMPT) - 1 : -1].tolist()


@pytest.mark.parametrize(
    ("sequence", "named"),
    [
        (sequence_plan([1, 310], range(2)), "token_ids"),
        (sequence_plan([1, 2], range(2), targets=[(2, 1)]), "targets"),
        (sequence_plan([1, 2], range(2), targets=[(0, 300)]), "targets"),
        (sequence_plan([1] * 9, range(2)), "table_pointers"),
        (sequence_plan([1], [64]), "table_ids"),
    ],
)
def test_a_contradictory_plan_is_refused_before_any_work(runner: Runner, sequence: SequencePlan, named: str) -> None:
    plan = replace(step_plan(sequence), copies=(BlockCopy(0, 1, 1),))
    with pytest.raises(ValueError, match=named):
        runner.run(plan)


def test_broken_logits_fail_their_own_sequence_alone(
    make_runner: Callable[[], Runner], decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    logits = decoder.logits

    def broken(hidden: torch.Tensor) -> torch.Tensor:
        rows = logits(hidden).clone()
        rows[1] = float("nan")
        return rows

    plans = [sequence_plan(PROMPT, range(4 * i, 4 * i + 4), sampling=sampling_state(GREEDY)) for i in range(3)]
    plans.append(sequence_plan(PROMPT, range(12, 16), targets=[(0, 1), (1, 2)]))
    healthy = make_runner().run(step_plan(*plans)).sequences
    monkeypatch.setattr(decoder, "logits", broken)
    results = make_runner().run(step_plan(*plans)).sequences
    assert [result.error is None for result in results] == [True, False, True, False]
    assert results[1].token_ids == ()
    assert "not finite" in (results[1].error or "")
    assert results[0] == healthy[0]
    assert results[2] == healthy[2]
