"""Wrong arguments are named before any work is done."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from radixkv_kernels.protocols import AttentionBatch, AttentionSpec, KVLayout, SharedPrefixGroup
from radixkv_kernels.reference import ReferenceAttention

LAYOUT = KVLayout(2, 8, 4, 2, 8, torch.float32)
SPEC = AttentionSpec(4, 0.3)


def ints(*numbers: int) -> Tensor:
    return torch.tensor(numbers, dtype=torch.int32)


# Two sequences: 3 query tokens of 9, one of 5; the second block is shared by nobody.
BATCH = AttentionBatch(ints(0, 3, 4), ints(0, 3, 5), ints(5, 1, 2, 5, 3), ints(9, 5))


def group(blocks: Tensor, rows: Tensor) -> dict[str, object]:
    return {"groups": (SharedPrefixGroup(blocks, rows),)}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"query_pointers": ints(0, 3, 4).long()}, "query_pointers"),
        ({"query_pointers": ints(0, 3)}, "query_pointers"),
        ({"query_pointers": ints(1, 3, 4)}, "query_pointers"),
        ({"query_pointers": ints(0, 3, 3)}, "query_pointers"),
        ({"query_pointers": ints(0, 3, 2)}, "query_pointers"),
        ({"query_pointers": ints(0, 3, 9)}, r"kv_lengths\[1\]"),
        ({"table_pointers": ints(0, 4, 3)}, "table_pointers"),
        ({"table_pointers": ints(0, 3, 4)}, "table_ids"),
        ({"table_ids": ints(5, 1, 2, 5)}, "table_ids"),
        ({"table_ids": ints(5, 1, 8, 5, 3)}, "table_ids"),
        ({"table_ids": ints(5, -1, 2, 5, 3)}, "table_ids"),
        ({"table_ids": ints(5, 1, 2, 5, 3)[:, None]}, "table_ids"),
        ({"kv_lengths": ints(13, 5)}, "table_pointers: sequence 0"),
        ({"kv_lengths": ints(2, 5)}, r"kv_lengths\[0\]"),
        ({"kv_lengths": ints()}, "kv_lengths"),
        ({"kv_lengths": ints(9, 5).to("meta")}, "kv_lengths"),
        (group(ints(5), ints(0, 2)), r"groups\[0\].rows"),
        (group(ints(5), ints(0, 0)), r"groups\[0\].rows"),
        (group(ints(5), ints()), r"groups\[0\].rows"),
        (group(ints(1), ints(0)), r"groups\[0\].block_ids"),
        (group(ints(5, 1), ints(0)), r"groups\[0\].block_ids"),  # 8 tokens, computed from position 6 on
        (group(ints(5).long(), ints(0)), r"groups\[0\].block_ids"),
    ],
)
def test_plan_names_what_is_inconsistent(change: dict[str, object], named: str) -> None:
    attention = ReferenceAttention(LAYOUT)
    attention.plan(BATCH)
    with pytest.raises(ValueError, match=named):
        attention.plan(replace(BATCH, **change))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="plan"):  # the plan before is gone
        attention.run(0, torch.zeros(4, 4, 8), SPEC)


def test_a_good_plan_passes_with_groups() -> None:
    ReferenceAttention(LAYOUT).plan(replace(BATCH, **group(ints(5), ints(0, 1))))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("layer", "key", "value", "named"),
    [
        (2, torch.zeros(4, 2, 8), torch.zeros(4, 2, 8), "layer"),
        (-1, torch.zeros(4, 2, 8), torch.zeros(4, 2, 8), "layer"),
        (0, torch.zeros(5, 2, 8), torch.zeros(4, 2, 8), "key"),
        (0, torch.zeros(4, 16), torch.zeros(4, 2, 8), "key"),
        (0, torch.zeros(4, 2, 8), torch.zeros(4, 4, 8), "value"),
        (0, torch.zeros(4, 2, 8), torch.zeros(4, 2, 8, dtype=torch.int32), "value"),
        (0, torch.zeros(4, 2, 8), torch.zeros(4, 2, 8, device="meta"), "value"),
    ],
)
def test_write_kv_names_the_wrong_argument(layer: int, key: Tensor, value: Tensor, named: str) -> None:
    attention = ReferenceAttention(LAYOUT)
    attention.storage.blocks.fill_(7.0)
    attention.plan(BATCH)
    with pytest.raises(ValueError, match=named):
        attention.write_kv(layer, key, value)
    assert bool((attention.storage.blocks == 7.0).all())


@pytest.mark.parametrize(
    ("layer", "query", "spec", "named"),
    [
        (2, torch.zeros(4, 4, 8), SPEC, "layer"),
        (0, torch.zeros(4, 2, 8), SPEC, "query"),
        (0, torch.zeros(3, 4, 8), SPEC, "query"),
        (0, torch.zeros(4, 4, 8, dtype=torch.float64), SPEC, "query"),
        (0, torch.zeros(4, 3, 8), replace(SPEC, num_heads=3), "num_heads"),
        (0, torch.zeros(4, 4, 8), replace(SPEC, window=0), "window"),
        (0, torch.zeros(4, 4, 8), replace(SPEC, soft_cap=0.0), "soft_cap"),
        (0, torch.zeros(4, 4, 8), replace(SPEC, scale=float("nan")), "scale"),
    ],
)
def test_run_names_the_wrong_argument(layer: int, query: Tensor, spec: AttentionSpec, named: str) -> None:
    attention = ReferenceAttention(LAYOUT)
    attention.plan(BATCH)
    with pytest.raises(ValueError, match=named):
        attention.run(layer, query, spec)


def test_nothing_runs_without_a_plan() -> None:
    attention = ReferenceAttention(LAYOUT)
    with pytest.raises(ValueError, match="plan"):
        attention.write_kv(0, torch.zeros(4, 2, 8), torch.zeros(4, 2, 8))
