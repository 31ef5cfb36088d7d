"""The doorway: the one file that turns a step plan's ints into tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
import torch
from torch import Tensor

from radixkv.step_plan import BlockCopy, SequencePlan, StepPlan
from radixkv.tokens import TokenArray
from radixkv_kernels.protocols import AttentionBatch, SharedPrefixGroup


@dataclass(frozen=True)
class StepTensors:
    """What the decoder and the attention backend take of one step.

    `ends[i]` is one past sequence i's last row.
    """

    token_ids: Tensor  # (num_tokens,) int64
    positions: Tensor  # (num_tokens,) int64
    batch: AttentionBatch
    ends: tuple[int, ...]


def step_tensors(plan: StepPlan, device: torch.device) -> StepTensors:
    """Tensors of a plan with at least one sequence; linear in its tokens and block ids."""
    sequences = plan.sequences
    counts = [len(sequence.token_ids) for sequence in sequences]
    ends = list(accumulate(counts))
    shifts = [sequence.start - end + count for sequence, end, count in zip(sequences, ends, counts, strict=True)]
    positions = np.arange(ends[-1]) + np.repeat(shifts, counts)
    token_ids = np.concatenate([ids_array(sequence.token_ids) for sequence in sequences])
    return StepTensors(
        token_ids=torch.from_numpy(token_ids).to(device, torch.int64),
        positions=torch.from_numpy(positions).to(device),
        batch=_attention_batch(plan, ends, device),
        ends=tuple(ends),
    )


def copy_tensors(copies: Sequence[BlockCopy], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Sources, targets and token counts of block copies, (num_copies,) int32 each."""
    return (
        _ints([copy.source for copy in copies], device),
        _ints([copy.target for copy in copies], device),
        _ints([copy.tokens for copy in copies], device),
    )


def ids_array(ids: TokenArray) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """A read-only view of a token array; nothing is copied."""
    view = np.frombuffer(memoryview(ids), dtype=np.int32)
    view.flags.writeable = False
    return view


def _attention_batch(plan: StepPlan, ends: list[int], device: torch.device) -> AttentionBatch:
    sequences: Iterable[SequencePlan] = plan.sequences
    tables = [sequence.block_table for sequence in sequences]
    return AttentionBatch(
        query_pointers=_ints([0, *ends], device),
        table_pointers=_ints([0, *accumulate(map(len, tables))], device),
        table_ids=_ints(list(chain.from_iterable(tables)), device),
        kv_lengths=_ints([sequence.kv_length for sequence in sequences], device),
        groups=tuple(
            SharedPrefixGroup(_ints(group.block_ids, device), _ints(group.rows, device)) for group in plan.groups
        ),
    )


def _ints(numbers: Sequence[int], device: torch.device) -> Tensor:
    return torch.from_numpy(np.array(numbers, dtype=np.int32)).to(device)
