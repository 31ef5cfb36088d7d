"""The step plan: one forward of the engine, described in plain ints.

The scheduler writes it, the runner turns it into tensors. Nothing here knows torch.
Intervals are half-open.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from radixkv.errors import RadixKVError
from radixkv.request import SamplingParams, TokenLogprob
from radixkv.tokens import TokenArray, token_array

ConstraintId: TypeAlias = tuple[str, int]  # request id and choice


@dataclass(frozen=True)
class BlockCopy:
    """Copy the KV of the first `tokens` slots of block `source` to block `target`, all layers, before the step."""

    source: int
    target: int
    tokens: int


@dataclass(frozen=True)
class SharedPrefix:
    """Whole blocks that several sequences of the step share as their first ones.

    `rows` are indices into `StepPlan.sequences`; each of those sequences begins its block table with `block_ids`.
    A sequence may be a row of several groups, the longer `block_ids` then begin with the shorter.
    """

    block_ids: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Target:
    """The log-probability of `token_id` after row `row` (index into the sequence's `token_ids` of this step)."""

    row: int
    token_id: int


@dataclass(frozen=True)
class SamplingState:
    """What the sampler needs of one sequence in one step.

    `position` counts sampled tokens from 0 and, with `seed` and `choice`, determines the noise.
    `output_ids` and `prompt_ids` are given only where a penalty looks at them, else empty.
    `banned_ids` may not be sampled (end-of-sequence and stop ids before `min_tokens`).
    """

    params: SamplingParams
    seed: int
    choice: int
    position: int
    prompt_ids: TokenArray = field(default_factory=token_array)
    output_ids: TokenArray = field(default_factory=token_array)
    banned_ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class SequencePlan:
    """The part of one sequence in a step: tokens [start, start + len(token_ids)) are computed.

    `kv_length` = start + len(token_ids): KV that exists after the step's writes.
    `block_table` covers at least kv_length tokens. The last row's logits are sampled when `sampling` is set.
    `targets` are scored rows; `prompt_logprobs_top` says how many likeliest tokens come with each
    target (0: none).
    """

    sequence_id: int
    token_ids: TokenArray
    start: int
    block_table: tuple[int, ...]
    sampling: SamplingState | None = None
    targets: tuple[Target, ...] = ()
    prompt_logprobs_top: int = 0
    constraint_id: ConstraintId | None = None  # what is sampled has to be allowed there

    @property
    def kv_length(self) -> int:
        """Tokens of KV after this step."""
        return self.start + len(self.token_ids)


@dataclass(frozen=True)
class StepPlan:
    """One forward."""

    step: int
    sequences: tuple[SequencePlan, ...]
    groups: tuple[SharedPrefix, ...] = ()
    copies: tuple[BlockCopy, ...] = ()

    @property
    def num_tokens(self) -> int:
        """Tokens computed in this step."""
        return sum(len(sequence.token_ids) for sequence in self.sequences)


@dataclass(frozen=True)
class Continuation:
    """What a constraint says after a token: `forced` tokens come next, and with `complete` nothing can follow those.

    With `error` it cannot be followed any further.
    """

    forced: tuple[int, ...] = ()
    complete: bool = False
    error: RadixKVError | None = None


def forced_logprob(token_id: int) -> TokenLogprob:
    """Log-probability of a token that a constraint forces: 0, for nothing else may come there."""
    return TokenLogprob(token_id, 0.0)


@dataclass(frozen=True)
class SequenceResult:
    """New ids of one sequence: none while its prefill is unfinished, else the sampled one and those that a constraint
    forces after it. `complete`: the constraint lets nothing follow them.

    With `error` nothing could be sampled or scored for this sequence (its logits were not numbers, say);
    the other sequences of the step are not touched by that.
    """

    sequence_id: int
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()  # one per new id when asked for
    targets: tuple[TokenLogprob, ...] = ()  # one per SequencePlan.targets
    error: str | RadixKVError | None = None
    complete: bool = False


@dataclass(frozen=True)
class StepResult:
    """What a step computed, in the order of the plan's sequences."""

    step: int
    sequences: tuple[SequenceResult, ...]
