"""Step plans written by hand, for tests of the runner without a scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from radixkv.request import SamplingParams
from radixkv.step_plan import SamplingState, SequencePlan, SequenceResult, StepPlan, Target
from radixkv.tokens import token_array

GREEDY = SamplingParams(temperature=0.0)


def sampling_state(
    params: SamplingParams = GREEDY, *, seed: int = 0, choice: int = 0, position: int = 0
) -> SamplingState:
    return SamplingState(params, seed, choice, position)


def sequence_plan(
    token_ids: Sequence[int],
    blocks: Sequence[int],
    *,
    start: int = 0,
    sampling: SamplingState | None = None,
    targets: Sequence[tuple[int, int]] = (),
    top: int = 0,
) -> SequencePlan:
    """One sequence; targets are (row, token id)."""
    return SequencePlan(
        sequence_id=blocks[0],
        token_ids=token_array(token_ids),
        start=start,
        block_table=tuple(blocks),
        sampling=sampling,
        targets=tuple(Target(row, token_id) for row, token_id in targets),
        prompt_logprobs_top=top,
    )


def step_plan(*sequences: SequencePlan, step: int = 0) -> StepPlan:
    return StepPlan(step, tuple(replace(each, sequence_id=i) for i, each in enumerate(sequences)))


def score_all(token_ids: Sequence[int], blocks: Sequence[int], *, start: int = 0) -> SequencePlan:
    """A sequence that scores each of its tokens from the row before."""
    targets = [(row, token_id) for row, token_id in enumerate(token_ids[1:])]
    return sequence_plan(token_ids, blocks, start=start, targets=targets)


def logprobs_of(result: SequenceResult) -> list[float]:
    return [target.logprob for target in result.targets]
