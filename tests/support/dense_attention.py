"""The oracle of every attention backend: dense attention, one query token and one head at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from radixkv_kernels.protocols import AttentionBatch, AttentionSpec, KVLayout, PagedAttention, SharedPrefixGroup


def dense_attention(query: Tensor, keys: Tensor, values: Tensor, start: int, spec: AttentionSpec) -> Tensor:
    """query (num_queries, num_heads, head_dim) from position start on; keys, values (length, num_kv_heads, ...)."""
    output = torch.empty_like(query, dtype=torch.float64)
    heads_per_kv = spec.num_heads // keys.shape[1]
    for i in range(query.shape[0]):
        position = start + i
        first = 0 if spec.window is None else max(0, position - spec.window + 1)
        for head in range(spec.num_heads):
            seen = keys[first : position + 1, head // heads_per_kv].double()
            scores = seen @ query[i, head].double() * spec.scale
            if spec.soft_cap is not None:
                scores = spec.soft_cap * torch.tanh(scores / spec.soft_cap)
            weights = torch.exp(scores - scores.max())
            weights = weights / weights.sum()
            output[i, head] = weights @ values[first : position + 1, head // heads_per_kv].double()
    return output


@dataclass
class FakeSequence:
    """One sequence of a test: its blocks and all its keys and values, (num_layers, length, num_kv_heads, head_dim)."""

    blocks: list[int]
    keys: Tensor
    values: Tensor
    num_queries: int

    @property
    def length(self) -> int:
        return self.keys.shape[1]

    @property
    def start(self) -> int:
        return self.length - self.num_queries


def make_batch(
    sequences: list[FakeSequence], groups: list[tuple[list[int], list[int]]] | None = None, device: str = "cpu"
) -> AttentionBatch:
    """The batch of these sequences; groups are (block ids, rows)."""

    def ints(numbers: list[int]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.int32, device=device)

    queries, tables, ids = [0], [0], []
    for sequence in sequences:
        queries.append(queries[-1] + sequence.num_queries)
        tables.append(tables[-1] + len(sequence.blocks))
        ids += sequence.blocks
    return AttentionBatch(
        query_pointers=ints(queries),
        table_pointers=ints(tables),
        table_ids=ints(ids),
        kv_lengths=ints([sequence.length for sequence in sequences]),
        groups=tuple(SharedPrefixGroup(ints(blocks), ints(rows)) for blocks, rows in groups or []),
    )


def random_kv(layout: KVLayout, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random keys and values, rounded to what the layout can store."""
    shape = (layout.num_layers, length, layout.num_kv_heads, layout.head_dim)
    key, value = (torch.randn(shape, generator=generator).to(layout.dtype) for _ in range(2))
    return key, value


def write_history(attention: PagedAttention, sequences: list[FakeSequence]) -> None:
    """Write each sequence's tokens before its queries as a step of its own."""
    for sequence in sequences:
        if sequence.start == 0:
            continue
        past = FakeSequence(
            sequence.blocks, sequence.keys[:, : sequence.start], sequence.values[:, : sequence.start], sequence.start
        )
        attention.plan(make_batch([past]))
        for layer in range(attention.layout.num_layers):
            attention.write_kv(layer, past.keys[layer], past.values[layer])


def run_step(
    attention: PagedAttention,
    sequences: list[FakeSequence],
    query: Tensor,
    spec: AttentionSpec,
    groups: list[tuple[list[int], list[int]]] | None = None,
) -> list[Tensor]:
    """Plan, write and attend in every layer; one output per layer, (num_tokens, num_heads, head_dim)."""
    attention.plan(make_batch(sequences, groups))
    outputs = []
    for layer in range(attention.layout.num_layers):
        key = torch.cat([each.keys[layer, each.start :] for each in sequences])
        value = torch.cat([each.values[layer, each.start :] for each in sequences])
        attention.write_kv(layer, key, value)
        outputs.append(attention.run(layer, query, spec))
    return outputs


def expected_step(sequences: list[FakeSequence], query: Tensor, spec: AttentionSpec, layer: int) -> Tensor:
    """What the oracle says of the step, fp64."""
    parts, first = [], 0
    for each in sequences:
        rows = query[first : first + each.num_queries]
        parts.append(dense_attention(rows, each.keys[layer], each.values[layer], each.start, spec))
        first += each.num_queries
    return torch.cat(parts)


def default_scale(head_dim: int) -> float:
    return 1 / math.sqrt(head_dim)
