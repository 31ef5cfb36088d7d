from __future__ import annotations

import resource
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from dense_attention import FakeSequence, make_batch, random_kv
from radixkv_kernels.protocols import KVLayout
from radixkv_kernels.reference import ReferenceAttention
from radixkv_kernels.storage import KVStorage

LAYOUT = KVLayout(3, 6, 4, 2, 8, torch.float32)


def ints(*numbers: int) -> Tensor:
    return torch.tensor(numbers, dtype=torch.int32)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_bytes_per_block_is_what_a_block_takes() -> None:
    storage = KVStorage(LAYOUT, torch.device("cpu"))
    assert storage.blocks[0].nbytes == LAYOUT.bytes_per_block
    assert storage.blocks[0].is_contiguous()


def test_memory_is_committed_only_when_written() -> None:
    layout = KVLayout(30, 2000, 16, 3, 64, torch.bfloat16)
    before = resident_bytes()
    storage = KVStorage(layout, torch.device("cpu"))
    assert storage.blocks.nbytes > 700e6
    assert resident_bytes() - before < 30e6


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_written_tokens_lie_where_the_block_table_says(dtype: torch.dtype) -> None:
    attention = ReferenceAttention(replace(LAYOUT, dtype=dtype))
    key, value = random_kv(LAYOUT, 7, torch.Generator().manual_seed(1))
    attention.plan(make_batch([FakeSequence([4, 1], key, value, 7)]))
    for layer in range(LAYOUT.num_layers):
        attention.write_kv(layer, key[layer], value[layer])
    blocks = attention.storage.blocks
    for position in range(7):
        slot = blocks[(4, 1)[position // 4], :, :, position % 4]  # (num_layers, 2, num_kv_heads, head_dim)
        torch.testing.assert_close(slot[:, 0], key[:, position].to(dtype))
        torch.testing.assert_close(slot[:, 1], value[:, position].to(dtype))


def test_a_copy_takes_the_first_slots_of_every_layer_and_no_more() -> None:
    attention = ReferenceAttention(LAYOUT)
    blocks = attention.storage.blocks.copy_(torch.randn_like(attention.storage.blocks))
    before = blocks.clone()
    attention.copy_blocks(ints(2, 0), ints(5, 3), ints(3, 4))
    torch.testing.assert_close(blocks[5, :, :, :3], before[2, :, :, :3])
    torch.testing.assert_close(blocks[5, :, :, 3], before[5, :, :, 3])
    torch.testing.assert_close(blocks[3], before[0])
    torch.testing.assert_close(blocks[[0, 1, 2, 4]], before[[0, 1, 2, 4]])


def test_chained_copies_run_in_order() -> None:
    attention = ReferenceAttention(LAYOUT)
    blocks = attention.storage.blocks.copy_(torch.randn_like(attention.storage.blocks))
    first = blocks[0].clone()
    attention.copy_blocks(ints(0, 1, 2, 4), ints(1, 2, 0, 1), ints(4, 4, 4, 4))
    torch.testing.assert_close(blocks[2], first)
    torch.testing.assert_close(blocks[0], first)
    torch.testing.assert_close(blocks[1], blocks[4])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((ints(0), ints(6), ints(1)), r"targets\[0\]"),
        ((ints(-1), ints(1), ints(1)), r"sources\[0\]"),
        ((ints(0, 0), ints(1, 2), ints(4, 5)), r"tokens\[1\]"),
        ((ints(0), ints(1), ints(0)), r"tokens\[0\]"),
        ((ints(0), ints(1, 2), ints(1)), "targets"),
        ((ints(0), ints(1), ints(1).long()), "tokens"),
    ],
)
def test_a_bad_copy_is_refused_before_any_is_run(arguments: tuple[Tensor, Tensor, Tensor], named: str) -> None:
    attention = ReferenceAttention(LAYOUT)
    attention.storage.blocks.zero_()
    with pytest.raises(ValueError, match=named):
        attention.copy_blocks(*arguments)
    assert not attention.storage.blocks.any()


@pytest.mark.parametrize(
    ("change", "named"),
    [({"num_blocks": 0}, "num_blocks"), ({"head_dim": -1}, "head_dim"), ({"dtype": torch.int8}, "dtype")],
)
def test_a_layout_that_cannot_be_stored_is_refused(change: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        ReferenceAttention(replace(LAYOUT, **change))  # type: ignore[arg-type]
