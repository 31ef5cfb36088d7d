"""A decoder of the Llama shape in native code: all layers of a step in one call, weights packed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from radixkv_kernels.cpu_attention import TYPE_NAMES, CPUAttention
from radixkv_kernels.native import native_module, required_module
from radixkv_kernels.protocols import PagedAttention

if TYPE_CHECKING:
    from radixkv_kernels import _cpu


@dataclass(frozen=True)
class DecoderSizes:
    """The shape of a decoder. `windows` has an entry per layer, None where a layer sees everything."""

    num_layers: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    tied: bool
    qk_norm: bool
    qkv_bias: bool
    output_bias: bool
    mlp_bias: bool
    norm_eps: float
    attention_factor: float
    windows: Sequence[int | None]


def unsupported(sizes: DecoderSizes) -> str | None:
    """Why the native decoder cannot have this shape, or None."""
    if native_module() is None:
        return "the native module was not built"
    odd = [name for name in ("hidden_size", "head_dim") if getattr(sizes, name) % 2]
    return f"{odd[0]} is odd" if odd else None


class CPUDecoder:
    """Token ids in, hidden states out; logits apart, since few rows need them.

    Products add up in fp32 and the residual stream is fp32, whatever the weights' type is; what a product reads is
    rounded to that type. A row's result does not depend on the other rows of its step.
    """

    def __init__(
        self, sizes: DecoderSizes, parameters: Mapping[str, Tensor], frequencies: Tensor, isa: str | None = None
    ) -> None:
        """`parameters`: the names and shapes of the torch decoder, all of one type; they are copied. `frequencies`:
        radians per position of each pair of a head, (head_dim / 2,).

        Raises ValueError naming what is missing or has another shape.
        """
        module = required_module()
        self._sizes = sizes
        dtype = next(iter(parameters.values())).dtype
        shape = _native_shape(module.DecoderShape(), sizes, TYPE_NAMES[dtype])
        self._native: _cpu.Decoder = module.Decoder(shape, frequencies.tolist(), isa or module.available_isas()[-1])
        for name, parameter in parameters.items():
            if parameter.dtype != dtype:
                raise ValueError(f"{name}: expected {dtype}, got {parameter.dtype}")
            values = parameter.contiguous()
            columns = values.shape[1] if values.dim() == 2 else 1
            self._native.set_weights(name, values.data_ptr(), values.shape[0], columns)
        self._native.check_complete()

    def forward(self, token_ids: Tensor, positions: Tensor, attention: PagedAttention) -> Tensor:
        """Compute one step, already planned in `attention`, a CPUAttention.

        token_ids: (num_tokens,) ints; the positions are those of the plan. Returns (num_tokens, hidden_size) fp32,
        normed. The KV of every token is stored.
        """
        if not isinstance(attention, CPUAttention):
            raise ValueError(f"attention: expected the CPU backend, got {type(attention).__name__}")
        ids = token_ids.to(torch.int32).contiguous()
        hidden = torch.empty(len(ids), self._sizes.hidden_size)
        attention.forward(self._native, ids, hidden, self._sizes.num_heads)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """(num_rows, hidden_size) fp32 -> (num_rows, vocab_size) fp32."""
        rows = hidden.contiguous()
        logits = torch.empty(len(rows), self._sizes.vocab_size)
        self._native.logits(rows.data_ptr(), len(rows), logits.data_ptr())
        return logits


def _native_shape(shape: _cpu.DecoderShape, sizes: DecoderSizes, type_name: str) -> _cpu.DecoderShape:
    shape.layers, shape.hidden, shape.intermediate = sizes.num_layers, sizes.hidden_size, sizes.intermediate_size
    shape.heads, shape.kv_heads, shape.head_dim = sizes.num_heads, sizes.num_kv_heads, sizes.head_dim
    shape.vocab, shape.tied, shape.qk_norm = sizes.vocab_size, sizes.tied, sizes.qk_norm
    shape.qkv_bias, shape.output_bias, shape.mlp_bias = sizes.qkv_bias, sizes.output_bias, sizes.mlp_bias
    shape.norm_eps, shape.attention_factor = sizes.norm_eps, sizes.attention_factor
    shape.windows = [window or 0 for window in sizes.windows]
    shape.type = type_name
    return shape
