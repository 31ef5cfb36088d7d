from __future__ import annotations

import random

import pytest
import torch
from dense_attention import FakeSequence, default_scale, expected_step, random_kv, run_step, write_history
from hypothesis import given, settings
from hypothesis import strategies as st
from radixkv_kernels.protocols import AttentionSpec, KVLayout
from radixkv_kernels.reference import ReferenceAttention

TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 3e-3}


def fresh_attention(layout: KVLayout) -> ReferenceAttention:
    """A backend whose unused slots are NaN, so a read of one shows."""
    attention = ReferenceAttention(layout)
    attention.storage.blocks.fill_(float("nan"))
    return attention


def deal_sequences(
    layout: KVLayout, lengths: list[tuple[int, int]], generator: torch.Generator, spare_blocks: int = 0
) -> list[FakeSequence]:
    """Sequences of (num_queries, length) on shuffled blocks."""
    free = random.Random(len(lengths)).sample(range(layout.num_blocks), layout.num_blocks)
    sequences = []
    for num_queries, length in lengths:
        blocks = [free.pop() for _ in range(-(-length // layout.block_size) + spare_blocks)]
        sequences.append(FakeSequence(blocks, *random_kv(layout, length, generator), num_queries))
    return sequences


def check_step(
    layout: KVLayout,
    sequences: list[FakeSequence],
    spec: AttentionSpec,
    generator: torch.Generator,
    groups: list[tuple[list[int], list[int]]] | None = None,
) -> None:
    attention = fresh_attention(layout)
    write_history(attention, sequences)
    num_tokens = sum(each.num_queries for each in sequences)
    query = torch.randn(num_tokens, spec.num_heads, layout.head_dim, generator=generator).to(layout.dtype)
    for layer, output in enumerate(run_step(attention, sequences, query, spec, groups)):
        assert output.dtype == query.dtype
        expected = expected_step(sequences, query, spec, layer)
        error = (output.double() - expected).abs().max().item()
        assert error <= TOLERANCE[layout.dtype], f"layer {layer}: off by {error}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("num_heads", "num_kv_heads"), [(4, 4), (6, 2), (4, 1)])
@pytest.mark.parametrize("window", [None, 1, 5, 40])
@pytest.mark.parametrize("soft_cap", [None, 3.0])
def test_a_ragged_batch_equals_dense_attention(
    dtype: torch.dtype, num_heads: int, num_kv_heads: int, window: int | None, soft_cap: float | None
) -> None:
    layout = KVLayout(2, 64, 4, num_kv_heads, 8, dtype)
    generator = torch.Generator().manual_seed(1)
    # decodes of unlike lengths, chunks with and without history, whole blocks exactly, single tokens
    lengths = [(1, 1), (1, 33), (7, 7), (3, 20), (1, 16), (8, 16), (1, 9), (16, 16)]
    sequences = deal_sequences(layout, lengths, generator, spare_blocks=1)
    check_step(layout, sequences, AttentionSpec(num_heads, default_scale(8), window, soft_cap), generator)
