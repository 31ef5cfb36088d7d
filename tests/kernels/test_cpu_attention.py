"""The native backend against dense attention, with every instruction set that this machine offers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_attention import FakeSequence, default_scale, expected_step, random_kv, run_step, write_history
from radixkv_kernels.cpu_attention import CPUAttention, block_bytes
from radixkv_kernels.native import required_module
from radixkv_kernels.protocols import AttentionSpec, KVLayout

ISAS: list[str] = required_module().available_isas()
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}  # relative to the largest value
Groups = list[tuple[list[int], list[int]]]


def fresh(layout: KVLayout, num_heads: int, isa: str) -> CPUAttention:
    """A backend whose unused slots are no numbers, so a read of one shows."""
    attention = CPUAttention(layout, num_heads, isa)
    attention._native.fill_bytes(255)
    return attention


def check_step(
    layout: KVLayout, sequences: list[FakeSequence], spec: AttentionSpec, isa: str, groups: Groups | None = None
) -> None:
    generator = torch.Generator().manual_seed(7)
    attention = fresh(layout, spec.num_heads, isa)
    write_history(attention, sequences)
    tokens = sum(each.num_queries for each in sequences)
    query = torch.randn(tokens, spec.num_heads, layout.head_dim, generator=generator).to(layout.dtype)
    for layer, output in enumerate(run_step(attention, sequences, query, spec, groups)):
        assert output.dtype == query.dtype
        expected = expected_step(sequences, query, spec, layer)
        error = (output.double() - expected).abs().max() / expected.abs().max()
        assert error <= TOLERANCE[layout.dtype], f"layer {layer}: off by {error}"


def sharing(layout: KVLayout, shared: int, own: list[tuple[int, int]]) -> tuple[list[FakeSequence], list[int]]:
    """Sequences of (num_queries, tokens of their own) after `shared` whole blocks; and the shared blocks."""
    generator = torch.Generator().manual_seed(3)
    free = list(range(layout.num_blocks))[::-1]
    common = [free.pop() for _ in range(shared)]
    keys, values = random_kv(layout, shared * layout.block_size, generator)
    sequences = []
    for num_queries, length in own:
        blocks = [*common, *(free.pop() for _ in range(-(-length // layout.block_size)))]
        own_keys, own_values = random_kv(layout, length, generator)
        both = torch.cat((keys, own_keys), dim=1), torch.cat((values, own_values), dim=1)
        sequences.append(FakeSequence(blocks, *both, num_queries))
    return sequences, common


@pytest.mark.parametrize("isa", ISAS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_random_steps_equal_dense_attention(isa: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([torch.float32, torch.bfloat16, torch.float16]))
    block_size = data.draw(st.sampled_from([1, 2, 3, 7, 16, 16, 32, 48, 64]) | st.integers(1, 64))
    kv_heads, group, half = (
        data.draw(st.integers(1, 3)),
        data.draw(st.sampled_from([1, 2, 3, 5, 7])),
        st.integers(1, 40),
    )
    head_dim = 2 * data.draw(st.sampled_from([4, 8, 32, 64]) | half)
    layout = KVLayout(2, 200, block_size, kv_heads, head_dim, dtype)
    shared = data.draw(st.integers(0, 2))
    lengths = st.tuples(st.integers(1, 9), st.integers(0, 150 if block_size > 2 else 20))
    own = [(queries, queries + past) for queries, past in data.draw(st.lists(lengths, min_size=1, max_size=4))]
    sequences, common = sharing(layout, shared, own)
    groups: Groups | None = None
    if shared:
        groups = [(common, list(range(len(own))))]
        if shared == 2 and len(own) > 1:
            groups = [(common[:1], list(range(len(own)))), (common, list(range(1, len(own))))]
    window = data.draw(st.none() | st.integers(1, 60))
    cap = data.draw(st.none() | st.just(5.0))
    check_step(layout, sequences, AttentionSpec(kv_heads * group, default_scale(head_dim), window, cap), isa, groups)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_long_decodes_are_split_and_put_together(isa: str, dtype: torch.dtype) -> None:
    layout = KVLayout(1, 140, 16, 1, 64, dtype)
    sequences, _ = sharing(layout, 0, [(1, 2050)])
    check_step(layout, sequences, AttentionSpec(3, default_scale(64)), isa)


@pytest.mark.parametrize("isa", ISAS)
def test_many_rows_of_a_deep_tree_read_shared_blocks_once(isa: str) -> None:
    layout = KVLayout(1, 200, 16, 3, 64, torch.bfloat16)
    sequences, common = sharing(layout, 9, [(1, 1 + i % 40) for i in range(40)])
    groups = [(common[:3], list(range(40))), (common[:6], list(range(20))), (common, list(range(5, 15)))]
    check_step(layout, sequences, AttentionSpec(9, default_scale(64)), isa, groups)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("tokens", [1, 4, 5, 16])
def test_copied_slots_are_the_sources_and_the_rest_is_never_read(isa: str, dtype: torch.dtype, tokens: int) -> None:
    layout = KVLayout(2, 6, 16, 2, 16, dtype)
    sequences, _ = sharing(layout, 0, [(1, tokens + 1)])
    attention = fresh(layout, 4, isa)
    write_history(attention, sequences)
    ints = [torch.tensor([number], dtype=torch.int32) for number in (sequences[0].blocks[0], 4, tokens)]
    attention.copy_blocks(*ints)
    moved = FakeSequence([4, *sequences[0].blocks[1:]], sequences[0].keys, sequences[0].values, 1)
    query = torch.randn(1, 4, 16).to(dtype)
    spec = AttentionSpec(4, default_scale(16))
    for layer, output in enumerate(run_step(attention, [moved], query, spec)):
        expected = expected_step([moved], query, spec, layer)
        assert (output.double() - expected).abs().max() / expected.abs().max() <= TOLERANCE[dtype]


@pytest.mark.parametrize("isa", ISAS)
def test_kv_that_is_no_number_spoils_its_own_sequence_alone(isa: str) -> None:
    layout = KVLayout(1, 8, 16, 1, 16, torch.float32)
    sequences, _ = sharing(layout, 0, [(1, 20), (1, 20)])
    sequences[0].keys[0, 3] = float("nan")
    attention = fresh(layout, 2, isa)
    write_history(attention, sequences)
    output = run_step(attention, sequences, torch.randn(2, 2, 16), AttentionSpec(2, 0.25))[0]
    assert output[0].isnan().all()
    assert output[1].isfinite().all()


def test_a_block_takes_what_its_layout_says_but_for_odd_ones_of_16_bits() -> None:
    for block_size, dtype, padding in [(16, torch.bfloat16, 0), (5, torch.float32, 0), (5, torch.float16, 1)]:
        layout = KVLayout(3, 4, block_size, 2, 64, dtype)
        assert block_bytes(layout) == layout.bytes_per_block + padding * 3 * 2 * 64 * 2
