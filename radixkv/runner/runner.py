"""The runner: one step plan in, one step result out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from math import isnan
from typing import Final, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from radixkv.request import TokenLogprob
from radixkv.runner.logprobs import LogprobQuery, answer_in_parts
from radixkv.runner.sampler import Sampled, sample
from radixkv.runner.step_tensors import StepTensors, copy_tensors, step_tensors
from radixkv.step_plan import (
    ConstraintId,
    Continuation,
    SamplingState,
    SequencePlan,
    SequenceResult,
    StepPlan,
    StepResult,
    forced_logprob,
)
from radixkv_kernels.protocols import PagedAttention

HEAD_ELEMENTS: Final = 1 << 23  # logits held at a time while targets are scored: 32 MiB

LogitsOf: TypeAlias = Callable[[Sequence[int]], Tensor]


class StepModel(Protocol):
    """What the runner needs of a model; `radixkv.models.Decoder` is one."""

    def forward(self, token_ids: Tensor, positions: Tensor, attention: PagedAttention) -> Tensor:
        """(num_tokens,) twice -> hidden states (num_tokens, hidden_size)."""
        ...

    def logits(self, hidden: Tensor) -> Tensor:
        """(num_rows, hidden_size) -> (num_rows, head rows) fp32."""
        ...


class StepConstraints(Protocol):
    """What the runner needs of constraints; `radixkv.constraints.ConstraintTable` is one."""

    def allowed(self, constraint_id: ConstraintId) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """One bit for each token that may come next, (at least ceil(vocab_size / 8),) uint8, low bits first."""
        ...

    def advance(self, sampled: Sequence[tuple[ConstraintId, int]]) -> list[Continuation]:
        """What follows each sampled token."""
        ...


class Runner:
    """Runs steps on one model and one attention backend, from one thread.

    `vocab_size` is the tokenizer's: rows of the head beyond it are padding and are dropped before anything
    looks at logits (R011).
    """

    def __init__(
        self,
        decoder: StepModel,
        attention: PagedAttention,
        *,
        vocab_size: int,
        device: torch.device | str = "cpu",
        constraints: StepConstraints | None = None,
    ) -> None:
        self._decoder = decoder
        self._constraints = constraints
        self._attention = attention
        self._vocab_size = vocab_size
        self._device = torch.device(device)

    @torch.inference_mode()
    def run(self, plan: StepPlan) -> StepResult:
        """Run the copies, then one forward, then sampling and scoring; constraints follow what was sampled.

        Writes the KV of all the plan's tokens. Raises ValueError for a plan that contradicts itself, before any
        KV is written. A sequence whose logits are no numbers gets an `error`, the others their results.
        """
        step = self._planned(plan)
        if plan.copies:
            self._attention.copy_blocks(*copy_tensors(plan.copies, self._device))
        if step is None:
            return StepResult(plan.step, ())
        hidden = self._decoder.forward(step.token_ids, step.positions, self._attention)
        logits_of = partial(self._logits, hidden)
        sampled = self._sample(plan.sequences, step, logits_of)
        scored = self._score(plan.sequences, step, logits_of)
        results = list(map(_sequence_result, plan.sequences, sampled, scored))
        if self._constraints is not None:
            _follow(self._constraints, plan.sequences, results)
        return StepResult(plan.step, tuple(results))

    def _planned(self, plan: StepPlan) -> StepTensors | None:
        """The step's tensors, checked and planned in the backend; None for a plan of copies alone."""
        if not plan.sequences:
            return None
        check_targets(plan, self._vocab_size)
        step = step_tensors(plan, self._device)
        low, high = (int(bound) for bound in step.token_ids.aminmax())
        if low < 0 or high >= self._vocab_size:
            raise ValueError(f"token_ids: expected ids from 0 to {self._vocab_size - 1}, got {low} to {high}")
        self._attention.plan(step.batch)
        return step

    def _logits(self, hidden: Tensor, rows: Sequence[int]) -> Tensor:
        """Logits of some rows of the step, (num_rows, vocab_size) fp32."""
        return self._decoder.logits(hidden[torch.tensor(rows, device=hidden.device)])[:, : self._vocab_size]

    def _sample(
        self, sequences: Sequence[SequencePlan], step: StepTensors, logits_of: LogitsOf
    ) -> list[Sampled | None]:
        """What was chosen after the last row of each sequence that samples."""
        results: list[Sampled | None] = [None] * len(sequences)
        states = {i: sequence.sampling for i, sequence in enumerate(sequences) if sequence.sampling is not None}
        if states:
            logits = logits_of([step.ends[i] - 1 for i in states])
            allowed = self._allowed([sequences[i].constraint_id for i in states])
            for i, sampled in zip(states, sample(logits, list(states.values()), allowed), strict=True):
                results[i] = sampled
        return results

    def _allowed(self, constraint_ids: Sequence[ConstraintId | None]) -> dict[int, Tensor]:
        """The tokens that constrained rows may choose from, (vocab_size,) bool by row."""
        allowed = {}
        for row, constraint_id in enumerate(constraint_ids):
            if constraint_id is not None and self._constraints is not None:
                bits = self._constraints.allowed(constraint_id)
                ones = np.unpackbits(bits, count=self._vocab_size, bitorder="little")
                allowed[row] = torch.from_numpy(ones.view(np.bool_)).to(self._device)
        return allowed

    def _score(
        self, sequences: Sequence[SequencePlan], step: StepTensors, logits_of: LogitsOf
    ) -> list[tuple[TokenLogprob, ...]]:
        """The scored targets of each sequence."""
        queries = [
            LogprobQuery(end - len(sequence.token_ids) + target.row, target.token_id, sequence.prompt_logprobs_top)
            for sequence, end in zip(sequences, step.ends, strict=True)
            for target in sequence.targets
        ]
        answers = iter(answer_in_parts(queries, logits_of, max(1, HEAD_ELEMENTS // self._vocab_size)))
        return [tuple(islice(answers, len(sequence.targets))) for sequence in sequences]


def check_targets(plan: StepPlan, vocab_size: int) -> None:
    """Raise ValueError for a target outside the sequence's tokens or the vocabulary."""
    for i, sequence in enumerate(plan.sequences):
        for target in sequence.targets:
            if not 0 <= target.row < len(sequence.token_ids):
                last = len(sequence.token_ids) - 1
                raise ValueError(f"sequences[{i}].targets: expected rows from 0 to {last}, got {target.row}")
            if not 0 <= target.token_id < vocab_size:
                raise ValueError(
                    f"sequences[{i}].targets: expected ids from 0 to {vocab_size - 1}, got {target.token_id}"
                )


def _sequence_result(
    sequence: SequencePlan, sampled: Sampled | None, targets: tuple[TokenLogprob, ...]
) -> SequenceResult:
    error = sampled.error if sampled is not None else None
    if error is None and any(isnan(target.logprob) for target in targets):
        error = "the model's logits are not finite at a scored token"
    if error is not None:
        return SequenceResult(sequence.sequence_id, error=error)
    if sampled is None:
        return SequenceResult(sequence.sequence_id, targets=targets)
    logprobs = () if sampled.logprob is None else (sampled.logprob,)
    return SequenceResult(sequence.sequence_id, (sampled.token_id,), logprobs, targets)


def _follow(constraints: StepConstraints, sequences: Sequence[SequencePlan], results: list[SequenceResult]) -> None:
    """Let constraints see what was sampled; results get the tokens that are forced after it."""
    rows = [
        (i, sequence.constraint_id, results[i].token_ids[0])
        for i, sequence in enumerate(sequences)
        if sequence.constraint_id is not None and results[i].token_ids
    ]
    if not rows:
        return
    continuations = constraints.advance([(constraint_id, token_id) for _, constraint_id, token_id in rows])
    for (i, _, _), continuation in zip(rows, continuations, strict=True):
        results[i] = _continued(results[i], sequences[i].sampling, continuation)


def _continued(result: SequenceResult, state: SamplingState | None, continuation: Continuation) -> SequenceResult:
    forced = continuation.forced
    if continuation.error is not None:
        return SequenceResult(result.sequence_id, error=continuation.error)
    if continuation.complete and state is not None and state.position + 1 + len(forced) < state.params.min_tokens:
        error = (
            f"the constraint lets nothing follow after {state.position + 1 + len(forced)} tokens, "
            f"and min_tokens is {state.params.min_tokens}"
        )
        return SequenceResult(result.sequence_id, error=error)
    return replace(
        result,
        token_ids=result.token_ids + forced,
        logprobs=result.logprobs + (tuple(map(forced_logprob, forced)) if result.logprobs else ()),
        complete=continuation.complete,
    )
