from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from radixkv_kernels.cpu_attention import CPUAttention
from radixkv_kernels.protocols import KVLayout
from radixkv_kernels.reference import ReferenceAttention
from radixkv_kernels.selection import KV_FORMATS, UnsupportedCombination, Wanted, choose_backend

SMOLLM2 = Wanted(device="cpu", kv_format="bf16", num_heads=9, num_kv_heads=3, head_dim=64)


@pytest.mark.parametrize("kv_format", KV_FORMATS)
def test_native_code_serves_the_plain_formats_and_others_say_why_not(kv_format: str) -> None:
    choice = choose_backend(replace(SMOLLM2, kv_format=kv_format))
    assert choice.backend == "cpu"
    unbuilt = dict.fromkeys(("flashinfer", "triton"), "not in this version")
    assert choice.reasons == unbuilt | {"reference": "cpu comes first"}


def test_what_native_code_cannot_do_the_reference_does() -> None:
    choice = choose_backend(replace(SMOLLM2, head_dim=5))
    assert (choice.backend, choice.reasons["cpu"]) == ("reference", "head size 5 is odd")
    assert choose_backend(replace(SMOLLM2, backend="reference")).backend == "reference"


def test_a_choice_makes_its_backend() -> None:
    layout = KVLayout(1, 2, 4, 1, 8, torch.float32)
    for backend, kind in [("cpu", CPUAttention), ("reference", ReferenceAttention)]:
        attention = choose_backend(replace(SMOLLM2, backend=backend)).make(layout, "cpu")
        assert isinstance(attention, kind)
        assert attention.layout is layout


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"kv_format": "int4"}, "int4"),
        ({"backend": "flashinfer"}, "not in this version"),
        ({"backend": "fast"}, "unknown backend"),
        ({"num_heads": 10}, "no multiple"),
        ({"device": "warp"}, "unknown device"),
        ({"device": "meta"}, "not here"),
    ],
)
def test_what_nothing_serves_is_refused_with_the_alternatives(change: dict[str, object], named: str) -> None:
    with pytest.raises(UnsupportedCombination, match=named) as refused:
        choose_backend(replace(SMOLLM2, **change))  # type: ignore[arg-type]
    assert "What works: KV format fp32, bf16, fp16 with backend cpu or reference" in str(refused.value)
    assert set(refused.value.reasons) >= {"cpu", "flashinfer", "triton", "reference"}
