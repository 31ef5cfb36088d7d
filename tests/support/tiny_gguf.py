"""Small GGUF files of random weights, in every tensor type, written by the `gguf` package's own writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import gguf
import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, quants

from tiny_models import BOS, EOS, IM_END, IM_START, tiny_tokenizer

HIDDEN: Final = 256  # the K types come in blocks of 256 values
HEADS: Final = 8
KV_HEADS: Final = 2
INNER: Final = 256
ROWS: Final = 260
_HALF_FIELDS: Final = {"Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}  # where a block has its fp16 scales


def write_tiny_gguf(
    path: Path,
    *,
    architecture: str = "llama",
    tensor_type: str = "F32",
    layers: int = 1,
    tied: bool = False,
    metadata: Mapping[str, Callable[[GGUFWriter], None]] | None = None,
    leave_out: str | None = None,
    extra: Mapping[str, np.ndarray] | None = None,
    raw: Mapping[str, tuple[np.ndarray, GGMLQuantizationType]] | None = None,
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """Write the file; return what each of its tensors dequantises to, by GGUF name and in GGUF's row order.

    `metadata`: more keys, each with what adds it. `leave_out`: the name of a tensor not to write.
    `extra`: more tensors, in F32. `raw`: more tensors, as bytes of a type.
    """
    random = np.random.default_rng(seed)
    writer = GGUFWriter(path, architecture)
    _add_metadata(writer, layers)
    for add in (metadata or {}).values():
        add(writer)
    expected: dict[str, np.ndarray] = {}
    for name, shape in _shapes(architecture, layers, tied).items():
        kind = GGMLQuantizationType[tensor_type if len(shape) == 2 else "F32"]
        data = _random_data(random, kind, shape)
        expected[name] = quants.dequantize(data, kind).reshape(shape)
        if name != leave_out:
            writer.add_tensor(name, data, raw_dtype=kind)
    for name, data in (extra or {}).items():
        writer.add_tensor(name, data)
    for name, (data, kind) in (raw or {}).items():
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return expected


def _add_metadata(writer: GGUFWriter, layers: int) -> None:
    writer.add_context_length(512)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    vocabulary = tiny_tokenizer().get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    special = {BOS, EOS, IM_START, IM_END}
    writer.add_token_types([gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens])
    writer.add_bos_token_id(vocabulary[BOS])
    writer.add_eos_token_id(vocabulary[EOS])
    writer.add_eot_token_id(vocabulary[IM_END])


def _shapes(architecture: str, layers: int, tied: bool) -> dict[str, tuple[int, ...]]:
    head_dim = HIDDEN // HEADS
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (ROWS, HIDDEN), "output_norm.weight": (HIDDEN,)}
    if not tied:
        shapes["output.weight"] = (ROWS, HIDDEN)
    for layer in range(layers):
        block: dict[str, tuple[int, ...]] = {
            "attn_norm.weight": (HIDDEN,),
            "ffn_norm.weight": (HIDDEN,),
            "attn_q.weight": (HIDDEN, HIDDEN),
            "attn_k.weight": (KV_HEADS * head_dim, HIDDEN),
            "attn_v.weight": (KV_HEADS * head_dim, HIDDEN),
            "attn_output.weight": (HIDDEN, HIDDEN),
            "ffn_gate.weight": (INNER, HIDDEN),
            "ffn_up.weight": (INNER, HIDDEN),
            "ffn_down.weight": (HIDDEN, INNER),
        }
        if architecture == "qwen2":
            block |= {f"attn_{part}.bias": (block[f"attn_{part}.weight"][0],) for part in "qkv"}
        if architecture == "qwen3":
            block |= {"attn_q_norm.weight": (head_dim,), "attn_k_norm.weight": (head_dim,)}
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    return shapes


def _random_data(random: np.random.Generator, kind: GGMLQuantizationType, shape: tuple[int, ...]) -> Any:
    if kind.name in _HALF_FIELDS:  # the package dequantises these, but cannot quantise
        return _random_blocks(random, kind, shape)
    values = random.standard_normal(shape).astype(np.float32) / HIDDEN**0.5
    return values + 1 if len(shape) == 1 else quants.quantize(values, kind)


def _random_blocks(random: np.random.Generator, kind: GGMLQuantizationType, shape: tuple[int, ...]) -> np.ndarray:
    block_values, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (shape[0] * shape[1] // block_values, block_bytes), dtype=np.uint8)
    for offset in _HALF_FIELDS[kind.name]:
        scales = random.uniform(1e-4, 2e-4, (len(blocks), 1)).astype(np.float16)
        blocks[:, offset : offset + 2] = scales.view(np.uint8)
    return blocks.reshape(shape[0], -1)
