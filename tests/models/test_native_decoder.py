"""The native decoder gives the logits of the torch decoder, with every instruction set that this machine offers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from radixkv.models import LoadedModel, load_model, locate_model
from radixkv.models.native import _sizes, with_native_decoder
from radixkv_kernels.cpu_attention import CPUAttention
from radixkv_kernels.cpu_decoder import CPUDecoder
from radixkv_kernels.native import required_module
from radixkv_kernels.protocols import AttentionBatch, KVLayout, PagedAttention
from radixkv_kernels.reference import ReferenceAttention
from tiny_models import make_tiny_model

ISAS: list[str] = required_module().available_isas()
SHAPES: dict[str, dict[str, Any]] = {
    "llama": {},
    "tied, one kv head": {"tied": True, "kv_heads": 1},
    "biases": {"config": {"attention_bias": True, "mlp_bias": True}},
    "yarn": {"config": {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}}},
    "window": {"family": "mistral", "config": {"sliding_window": 16}},
    "qwen 2": {"family": "qwen2"},
    "qwen 3, norms of heads": {"family": "qwen3"},
}
Step = list[tuple[int, list[int]]]  # (start, token ids) of each sequence


def layout_of(model: LoadedModel) -> KVLayout:
    config = model.config
    return KVLayout(config.num_layers, 40, 16, config.num_kv_heads, config.head_dim, model.dtype)


@torch.inference_mode()
def logits_of(decoder: Any, attention: PagedAttention, step: Step) -> Tensor:
    """Logits after every token of a step; sequence i has blocks 8 i to 8 i + 7."""
    queries, tables = [0], [0]
    for _, ids in step:
        queries.append(queries[-1] + len(ids))
        tables.append(tables[-1] + 8)
    blocks = [8 * index + block for index in range(len(step)) for block in range(8)]
    ints = [
        torch.tensor(numbers, dtype=torch.int32)
        for numbers in (queries, tables, blocks, [start + len(ids) for start, ids in step])
    ]
    attention.plan(AttentionBatch(*ints))
    positions = torch.cat([torch.arange(start, start + len(ids)) for start, ids in step])
    tokens = torch.tensor([token for _, ids in step for token in ids])
    return decoder.logits(decoder.forward(tokens, positions, attention))


STEPS: list[Step] = [
    [(0, list(range(40, 90))), (0, [5]), (0, list(range(20)))],
    [(50, [7]), (1, [9, 11]), (20, [3])],
    [(51, [8]), (3, [1]), (21, list(range(30)))],
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("isa", ISAS)
def test_in_fp32_the_logits_are_those_of_the_torch_decoder(tmp_path: Path, shape: str, isa: str) -> None:
    model = load_model(locate_model(str(make_tiny_model(tmp_path, **SHAPES[shape]))), "float32")
    assert isinstance(with_native_decoder(model).decoder, CPUDecoder)
    native = CPUDecoder(_sizes(model.config), model.decoder.state_dict(), model.decoder.frequencies, isa)
    reference = ReferenceAttention(layout_of(model))
    attention = CPUAttention(layout_of(model), model.config.num_heads, isa)
    for step in STEPS:
        expected, found = logits_of(model.decoder, reference, step), logits_of(native, attention, step)
        assert (found - expected).abs().max() <= 1e-4


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("isa", ISAS)
def test_in_16_bits_the_logits_are_nearer_to_those_of_fp32_than_torchs(tmp_path: Path, dtype: str, isa: str) -> None:
    """Nearer, since products and the residual stream are fp32."""
    files = locate_model(str(make_tiny_model(tmp_path)))
    model, exact = load_model(files, dtype), load_model(files, "float32")
    exact.decoder.load_state_dict({name: value.float() for name, value in model.decoder.state_dict().items()})
    native = CPUDecoder(_sizes(model.config), model.decoder.state_dict(), model.decoder.frequencies, isa)
    expected = logits_of(exact.decoder, ReferenceAttention(layout_of(exact)), STEPS[0])
    torchs = logits_of(model.decoder, ReferenceAttention(layout_of(model)), STEPS[0])
    found = logits_of(native, CPUAttention(layout_of(model), model.config.num_heads, isa), STEPS[0])
    assert (found - expected).norm() <= (torchs - expected).norm()
    assert (found - expected).norm() <= 2e-2 * expected.norm()


@pytest.mark.parametrize("isa", ISAS)
def test_a_prompts_logits_are_the_same_bits_alone_and_beside_others(tmp_path: Path, isa: str) -> None:
    model = load_model(locate_model(str(make_tiny_model(tmp_path))), "float32")
    native = CPUDecoder(_sizes(model.config), model.decoder.state_dict(), model.decoder.frequencies, isa)
    alone, beside = (CPUAttention(layout_of(model), model.config.num_heads, isa) for _ in range(2))
    prompt = list(range(60, 101))
    together = logits_of(native, beside, [(0, prompt), (0, [4, 5, 6]), (0, list(range(17)))])
    assert torch.equal(logits_of(native, alone, [(0, prompt)]), together[: len(prompt)])


def test_wrong_parameters_are_named(tmp_path: Path) -> None:
    model = load_model(locate_model(str(make_tiny_model(tmp_path))), "float32")
    state = dict(model.decoder.state_dict())
    missing = {name: tensor for name, tensor in state.items() if name != "norm.weight"}
    for parameters, words in [
        (missing, "norm.weight: not set"),
        (state | {"norm.weight": torch.ones(3)}, r"norm.weight: expected \(\d+, 1\), got \(3, 1\)"),
        (state | {"layers.99.mlp.down.weight": torch.ones(3, 3)}, "layers.99.mlp.down.weight: no such parameter"),
        (state | {"norm.weight": state["norm.weight"].bfloat16()}, "norm.weight: expected torch.float32"),
    ]:
        with pytest.raises(ValueError, match=words):
            CPUDecoder(_sizes(model.config), parameters, model.decoder.frequencies)
