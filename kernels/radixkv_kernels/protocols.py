"""The contract between the engine and an attention backend.

A backend is made once with the KV storage, told once per step what the batch looks like
(`plan`), and then called once per layer (`write_kv`, `run`). Intervals are half-open;
all index tensors are int32 on the storage's device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class KVLayout:
    """Shape of the KV storage: `num_blocks` blocks of `block_size` tokens for every layer."""

    num_layers: int
    num_blocks: int
    block_size: int
    num_kv_heads: int
    head_dim: int
    dtype: torch.dtype

    @property
    def bytes_per_token(self) -> int:
        """Bytes of K and V of one token over all layers."""
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim * self.dtype.itemsize

    @property
    def bytes_per_block(self) -> int:
        """Bytes of one block over all layers."""
        return self.bytes_per_token * self.block_size


@dataclass(frozen=True)
class AttentionSpec:
    """What one layer's attention computes, beside the batch.

    Query token at position p sees keys at positions max(0, p - window + 1) .. p (`window` None: from 0).
    Scores are q.k * scale; with `soft_cap` c they become c * tanh(score / c) before the softmax.
    """

    num_heads: int
    scale: float
    window: int | None = None
    soft_cap: float | None = None


@dataclass(frozen=True)
class SharedPrefixGroup:
    """Whole blocks that open the block tables of several sequences of the batch."""

    block_ids: Tensor  # (num_shared_blocks,)
    rows: Tensor  # (num_sharing_sequences,) indices into the batch


@dataclass(frozen=True)
class AttentionBatch:
    """A ragged batch of one step.

    Sequence i has query tokens [query_pointers[i], query_pointers[i + 1]), which are the last
    ones of its kv_lengths[i] tokens, and blocks table_ids[table_pointers[i] : table_pointers[i + 1]].
    """

    query_pointers: Tensor  # (num_sequences + 1,)
    table_pointers: Tensor  # (num_sequences + 1,)
    table_ids: Tensor  # (total_blocks,)
    kv_lengths: Tensor  # (num_sequences,)
    groups: tuple[SharedPrefixGroup, ...] = ()


class PagedAttention(Protocol):
    """Attention over blocks. Not thread-safe: one engine step at a time."""

    @property
    def layout(self) -> KVLayout:
        """Shape of the storage it was made with."""
        ...

    def plan(self, batch: AttentionBatch) -> None:
        """Prepare one step; replaces the plan before. Raises ValueError naming what is inconsistent."""
        ...

    def write_kv(self, layer: int, key: Tensor, value: Tensor) -> None:
        """Store the step's keys and values, both (num_tokens, num_kv_heads, head_dim), RoPE already applied."""
        ...

    def run(self, layer: int, query: Tensor, spec: AttentionSpec) -> Tensor:
        """Attend: query (num_tokens, num_heads, head_dim) -> (num_tokens, num_heads, head_dim), same dtype."""
        ...

    def copy_blocks(self, sources: Tensor, targets: Tensor, tokens: Tensor) -> None:
        """Copy the first tokens[i] slots of block sources[i] to block targets[i], every layer; (num_copies,) each."""
        ...


class Linear(Protocol):
    """A linear layer whose weights a backend may have packed its own way."""

    def __call__(self, rows: Tensor) -> Tensor:
        """(num_rows, in_features) -> (num_rows, out_features)."""
        ...
