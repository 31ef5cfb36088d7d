"""A step's batch, checked once: from here on nobody looks for mistakes again."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from radixkv_kernels.protocols import AttentionBatch, KVLayout, SharedPrefixGroup


@dataclass(frozen=True)
class Sequence:
    """One sequence of the batch: query tokens [query_start, query_start + num_queries) at positions [start, length)."""

    index: int
    query_start: int
    num_queries: int
    length: int  # tokens of KV, this step's included

    @property
    def start(self) -> int:
        """Position of the first query token."""
        return self.length - self.num_queries

    @property
    def query_end(self) -> int:
        """One past the last query token."""
        return self.query_start + self.num_queries


@dataclass(frozen=True)
class Group:
    """A shared-prefix group in ints."""

    block_ids: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True)
class CheckedBatch:
    """An AttentionBatch whose numbers have been checked against each other and against the layout."""

    sequences: tuple[Sequence, ...]
    groups: tuple[Group, ...]  # shortest first
    table_starts: Tensor  # (num_sequences,) int64
    table_ids: Tensor  # (total_blocks,) int64

    @property
    def num_tokens(self) -> int:
        """Query tokens of all sequences."""
        return self.sequences[-1].query_end


def check_batch(batch: AttentionBatch, layout: KVLayout, device: torch.device) -> CheckedBatch:
    """Check a batch in time linear in its ints; raises ValueError naming the argument that is wrong."""
    for name in ("query_pointers", "table_pointers", "table_ids", "kv_lengths"):
        _check_ints(name, getattr(batch, name), device)
    lengths = batch.kv_lengths.tolist()
    if not lengths:
        raise ValueError("kv_lengths: expected at least one sequence, got none")
    queries = _check_pointers("query_pointers", batch.query_pointers, len(lengths), least=1)
    tables = _check_pointers("table_pointers", batch.table_pointers, len(lengths), least=0)
    if tables[-1] != len(batch.table_ids):
        raise ValueError(f"table_ids: expected {tables[-1]} ids (the last table pointer), got {len(batch.table_ids)}")
    for i, length in enumerate(lengths):
        _check_sequence(i, length, queries[i + 1] - queries[i], tables[i + 1] - tables[i], layout)
    _check_block_ids("table_ids", batch.table_ids, layout)
    sequences = tuple(Sequence(i, queries[i], queries[i + 1] - queries[i], length) for i, length in enumerate(lengths))
    return CheckedBatch(
        sequences=sequences,
        groups=_check_groups(batch, tables, sequences, layout, device),
        table_starts=batch.table_pointers[:-1].long(),
        table_ids=batch.table_ids.long(),
    )


def _check_ints(name: str, tensor: Tensor, device: torch.device) -> None:
    if tensor.dtype != torch.int32 or tensor.dim() != 1:
        raise ValueError(f"{name}: expected a flat int32 tensor, got {tensor.dtype} of shape {tuple(tensor.shape)}")
    if tensor.device != device:
        raise ValueError(f"{name}: expected on {device}, got {tensor.device}")


def _check_pointers(name: str, tensor: Tensor, num_sequences: int, least: int) -> list[int]:
    pointers: list[int] = tensor.tolist()
    if len(pointers) != num_sequences + 1:
        raise ValueError(
            f"{name}: expected {num_sequences + 1} entries (kv_lengths has {num_sequences}), got {len(pointers)}"
        )
    if pointers[0] != 0 or any(after - before < least for before, after in pairwise(pointers)):
        raise ValueError(f"{name}: expected to start at 0 and to grow by at least {least}, got {_shorten(pointers)}")
    return pointers


def _check_sequence(index: int, length: int, num_queries: int, num_blocks: int, layout: KVLayout) -> None:
    if length < num_queries:
        raise ValueError(f"kv_lengths[{index}]: expected at least its {num_queries} query tokens, got {length}")
    if length > num_blocks * layout.block_size:
        raise ValueError(
            f"table_pointers: sequence {index} has {length} tokens of KV, expected at most "
            f"{num_blocks * layout.block_size} ({num_blocks} blocks of {layout.block_size})"
        )


def _check_block_ids(name: str, ids: Tensor, layout: KVLayout) -> None:
    if len(ids) == 0:
        return
    low, high = (int(bound) for bound in ids.aminmax())
    if low < 0 or high >= layout.num_blocks:
        raise ValueError(f"{name}: expected block ids from 0 to {layout.num_blocks - 1}, got {low} to {high}")


def _check_groups(
    batch: AttentionBatch,
    tables: list[int],
    sequences: tuple[Sequence, ...],
    layout: KVLayout,
    device: torch.device,
) -> tuple[Group, ...]:
    if not batch.groups:
        return ()
    ids: list[int] = batch.table_ids.tolist()
    groups = []
    for number, given in enumerate(batch.groups):
        group = _check_group(f"groups[{number}]", given, len(sequences), device)
        for row in group.rows:
            opening = tuple(ids[tables[row] : tables[row + 1]][: len(group.block_ids)])
            if opening != group.block_ids:
                raise ValueError(
                    f"groups[{number}].block_ids: expected the first blocks of row {row}'s block table, "
                    f"{_shorten(list(opening))}, got {_shorten(list(group.block_ids))}"
                )
            if len(group.block_ids) * layout.block_size > sequences[row].start:
                raise ValueError(
                    f"groups[{number}].block_ids: {len(group.block_ids)} blocks reach into the tokens "
                    f"that row {row} computes, which begin at position {sequences[row].start}"
                )
        groups.append(group)
    return tuple(sorted(groups, key=lambda group: len(group.block_ids)))


def _check_group(name: str, group: SharedPrefixGroup, num_sequences: int, device: torch.device) -> Group:
    _check_ints(f"{name}.block_ids", group.block_ids, device)
    _check_ints(f"{name}.rows", group.rows, device)
    rows = tuple(group.rows.tolist())
    if not rows or len(set(rows)) != len(rows) or min(rows) < 0 or max(rows) >= num_sequences:
        raise ValueError(f"{name}.rows: expected distinct rows from 0 to {num_sequences - 1}, got {list(rows)}")
    return Group(tuple(group.block_ids.tolist()), rows)


def _shorten(numbers: list[int]) -> str:
    return str(numbers) if len(numbers) <= 8 else f"{str(numbers[:8])[:-1]}, ... {len(numbers)} in all]"
