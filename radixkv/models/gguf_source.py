"""Weights of a GGUF file, dequantised by the `gguf` package."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor

from radixkv.errors import BadModelFile, UnsupportedModel
from radixkv.models.config import ModelConfig
from radixkv.models.families import gguf_family
from radixkv.models.gguf_file import GGUFTensor, gguf_contents

_TYPES: Final = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K")
_CHUNK_VALUES: Final = 1 << 21  # dequantised at a time; the package makes a few fp32 copies of them
_NAMES: Final = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_FREQUENCIES: Final = "rope_freqs.weight"  # part of the config


class GGUFSource:
    """The tensors of a GGUF in Hugging Face's row order."""

    def __init__(self, path: Path, config: ModelConfig) -> None:
        contents = gguf_contents(path)
        self._path = path
        self._config = config
        self._interleaved = gguf_family(str(contents.metadata["general.architecture"]), str(path)).gguf_interleaved
        self._tensors = {name: tensor for name, tensor in contents.tensors.items() if name != _FREQUENCIES}
        for name, tensor in self._tensors.items():
            _check_type(path, name, tensor)

    @property
    def file(self) -> str:
        """The GGUF."""
        return str(self._path)

    def names(self) -> Collection[str]:
        """Every tensor but the RoPE factors."""
        return self._tensors.keys()

    def stored_name(self, name: str) -> str:
        """GGUF's name for `model.layers.0.mlp.up_proj.weight`: `blk.0.ffn_up.weight`."""
        stem, _, kind = name.rpartition(".")
        if stem in _NAMES:
            return f"{_NAMES[stem]}.{kind}"
        layer, _, part = stem.removeprefix("model.layers.").partition(".")
        return f"blk.{layer}.{_NAMES[part]}.{kind}"

    def shape(self, stored: str) -> tuple[int, ...]:
        """Of one tensor, slowest dimension first."""
        return self._tensors[stored].shape

    def read_into(self, stored: str, target: Tensor) -> None:
        """Dequantise one tensor, some rows at a time, converted to the target's dtype."""
        tensor = self._tensors[stored]
        rows = target if target.dim() == 2 else target[None]  # (num_rows, num_columns)
        row_bytes, per_chunk = tensor.num_bytes // len(rows), max(1, _CHUNK_VALUES // rows.shape[1])
        for first in range(0, len(rows), per_chunk):
            chunk = rows[first : first + per_chunk]
            chunk.copy_(self._dequantised(tensor, first * row_bytes, len(chunk), row_bytes))
        heads = self._paired_heads(stored)
        if heads:
            target.copy_(unpaired_rows(target, heads))

    def _dequantised(self, tensor: GGUFTensor, start: int, num_rows: int, row_bytes: int) -> Tensor:
        """(num_rows, num_columns) fp32, from `start` bytes into the tensor."""
        from gguf import GGMLQuantizationType, quants  # takes 0.2 s, and no start needs it but the first

        size = num_rows * row_bytes
        data = np.fromfile(self._path, dtype=np.uint8, count=size, offset=tensor.offset + start)
        if data.nbytes != size:
            raise BadModelFile(self.file, "the data", f"{tensor.offset + tensor.num_bytes} bytes", "fewer")
        values = quants.dequantize(data.reshape(num_rows, row_bytes), GGMLQuantizationType[tensor.type])
        return torch.from_numpy(values)

    def _paired_heads(self, stored: str) -> int:
        """The heads of a tensor whose rows are in llama.cpp's order, 0 if they are not."""
        if not self._interleaved:
            return 0
        part = stored.rsplit(".", 2)[-2]
        return {"attn_q": self._config.num_heads, "attn_k": self._config.num_kv_heads}.get(part, 0)


def unpaired_rows(rows: Tensor, num_heads: int) -> Tensor:
    """Rows of q or k from llama.cpp's order to Hugging Face's: (num_heads * head_dim, ...) -> the same shape.

    llama.cpp rotates neighbouring rows 2i and 2i + 1 of a head, Hugging Face rows i and i + head_dim / 2.
    """
    pairs = rows.view(num_heads, rows.shape[0] // num_heads // 2, 2, *rows.shape[1:])
    return pairs.transpose(1, 2).reshape(rows.shape)


def _check_type(path: Path, name: str, tensor: GGUFTensor) -> None:
    if tensor.type not in _TYPES:
        raise UnsupportedModel(f"{path}: tensor {name!r} has type {tensor.type}; supported are {', '.join(_TYPES)}")
