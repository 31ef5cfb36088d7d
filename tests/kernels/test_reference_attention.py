from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_attention import FakeSequence, default_scale, expected_step, random_kv, run_step, write_history
from radixkv_kernels import partial, segments
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


GROUPINGS = {
    "one group": [([0, 1], [0, 1, 2, 3])],
    "some rows": [([0, 1], [1, 3])],
    "one row": [([0, 1], [2])],
    "nested": [([0, 1, 2], [1, 2]), ([0], [0, 1, 2, 3])],
    "nested, unequal rows": [([0], [0, 1]), ([0, 1], [1, 2, 3]), ([0, 1, 2], [0, 3])],
}


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("window", [None, 3, 9, 14])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("soft_cap", [None, 3.0])
def test_shared_prefixes_are_merged_with_each_rows_own_part(
    grouping: str, window: int | None, dtype: torch.dtype, soft_cap: float | None
) -> None:
    layout = KVLayout(1, 32, 4, 2, 8, dtype)
    generator = torch.Generator().manual_seed(2)
    key, value = random_kv(layout, 12, generator)  # blocks 0, 1, 2 in every table
    sequences = []
    for i, (num_queries, length) in enumerate([(1, 13), (5, 17), (1, 20), (3, 16)]):
        own_key, own_value = random_kv(layout, length - 12, generator)
        blocks = [0, 1, 2, *range(3 + 5 * i, 5 + 5 * i)]
        sequences.append(
            FakeSequence(blocks, torch.cat([key, own_key], 1), torch.cat([value, own_value], 1), num_queries)
        )
    sequences += deal_ungrouped(layout, generator)
    check_step(layout, sequences, AttentionSpec(6, default_scale(8), window, soft_cap), generator, GROUPINGS[grouping])


def deal_ungrouped(layout: KVLayout, generator: torch.Generator) -> list[FakeSequence]:
    """A decode and a chunk that share nothing."""
    return [
        FakeSequence([25, 26], *random_kv(layout, 7, generator), 1),
        FakeSequence([28, 27], *random_kv(layout, 8, generator), 6),
    ]


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_batch_equals_dense_attention(data: st.DataObject) -> None:
    block_size = data.draw(st.sampled_from([1, 3, 4, 16]))
    num_kv_heads, heads_per_kv = data.draw(st.sampled_from([(1, 1), (1, 3), (2, 2)]))
    layout = KVLayout(1, 400, block_size, num_kv_heads, 4, torch.float32)
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 1000)))
    lengths = data.draw(
        st.lists(st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))), min_size=1, max_size=7)
    )
    window = data.draw(st.none() | st.integers(1, 45))
    soft_cap = data.draw(st.sampled_from([None, 2.0]))
    sequences = deal_sequences(layout, lengths, generator, spare_blocks=data.draw(st.integers(0, 2)))
    spec = AttentionSpec(num_kv_heads * heads_per_kv, default_scale(4), window, soft_cap)
    check_step(layout, sequences, spec, generator)


def test_rows_do_not_depend_on_the_other_sequences() -> None:
    """fp32, to 1e-5: alone, beside others, beside a sequence whose keys are not numbers."""
    layout = KVLayout(1, 64, 4, 2, 8, torch.float32)
    generator = torch.Generator().manual_seed(3)
    sequences = deal_sequences(layout, [(1, 30), (1, 31), (6, 20), (1, 3)], generator)
    sequences[1].keys.fill_(float("nan"))
    sequences[1].values.fill_(float("nan"))
    spec = AttentionSpec(4, default_scale(8))
    query = torch.randn(9, 4, 8, generator=generator)
    attention = fresh_attention(layout)
    write_history(attention, sequences)
    together = run_step(attention, sequences, query, spec)[0].split([1, 1, 6, 1])
    for sequence, rows, output in zip(sequences, query.split([1, 1, 6, 1]), together, strict=True):
        alone = run_step(attention, [sequence], rows, spec)[0]
        torch.testing.assert_close(output, alone, atol=1e-5, rtol=0, equal_nan=True)
    assert [bool(output.isnan().any()) for output in together] == [False, True, False, False]


def test_a_long_score_matrix_is_made_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial, "MAX_SCORES", 500)
    layout = KVLayout(1, 64, 4, 2, 8, torch.float32)
    generator = torch.Generator().manual_seed(3)
    sequences = deal_sequences(layout, [(20, 30), (1, 31), (11, 11)], generator)
    check_step(layout, sequences, AttentionSpec(4, default_scale(8), 9, 2.0), generator)


def test_many_long_decodes_are_cut_into_several_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MAX_DECODE_ELEMENTS", 2 * 128 * 16)
    monkeypatch.setattr(segments, "SMALLEST_BUCKET", 8)
    layout = KVLayout(1, 256, 4, 2, 8, torch.float32)
    generator = torch.Generator().manual_seed(3)
    sequences = deal_sequences(layout, [(1, n) for n in (70, 5, 80, 90, 33, 100, 8, 34, 127)], generator)
    check_step(layout, sequences, AttentionSpec(4, default_scale(8)), generator)


@pytest.mark.parametrize("query_dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_wider_type_computes_and_the_output_has_the_querys(query_dtype: torch.dtype) -> None:
    layout = KVLayout(1, 16, 4, 2, 8, torch.bfloat16)
    generator = torch.Generator().manual_seed(3)
    sequences = deal_sequences(layout, [(3, 9), (1, 5)], generator)
    attention = fresh_attention(layout)
    write_history(attention, sequences)
    query = torch.randn(4, 4, 8, generator=generator).to(query_dtype)
    spec = AttentionSpec(4, default_scale(8))
    output = run_step(attention, sequences, query, spec)[0]
    assert output.dtype == query_dtype
    expected = expected_step(sequences, query, spec, 0)
    tolerance = 1e-5 if query_dtype == torch.float32 else 3e-2
    torch.testing.assert_close(output.double(), expected, atol=tolerance, rtol=0)
