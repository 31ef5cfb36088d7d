"""The KV storage of the plain formats (fp32, bf16, fp16) and the slot arithmetic over it.

The tensor is (num_blocks, num_layers, 2, block_size, num_kv_heads, head_dim), key before value.
A block is one contiguous piece over all layers, so copying it (fork, offload, disk) is one
memory copy. Seen flat, it is a list of rows of num_kv_heads * head_dim elements; the row of a token's
key in layer 0 is its *key row*, and the rows of other layers lie at a fixed distance from it, so
index tensors are made once per step and serve every layer.
"""

from __future__ import annotations

import torch
from torch import Tensor

from radixkv_kernels.protocols import KVLayout

STORAGE_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


class KVStorage:
    """Keys and values of every layer in blocks. Memory is committed by the system when first written."""

    def __init__(self, layout: KVLayout, device: torch.device) -> None:
        check_layout(layout)
        self.layout = layout
        self.blocks = torch.empty(  # (num_blocks, num_layers, 2, block_size, num_kv_heads, head_dim)
            (layout.num_blocks, layout.num_layers, 2, layout.block_size, layout.num_kv_heads, layout.head_dim),
            dtype=layout.dtype,
            device=device,
        )
        self._rows = self.blocks.view(-1, layout.num_kv_heads * layout.head_dim)
        self._pieces = self.blocks.view(layout.num_blocks, 2 * layout.num_layers, layout.block_size, -1)

    def key_rows(self, block_ids: Tensor, offsets: Tensor) -> Tensor:
        """Key rows of the tokens at `offsets` in `block_ids`, any equal shapes, int64."""
        return block_ids * (2 * self.layout.num_layers * self.layout.block_size) + offsets

    def write(self, layer: int, key_rows: Tensor, key: Tensor, value: Tensor) -> None:
        """Store (num_tokens, num_kv_heads, head_dim) keys and values at (num_tokens,) key rows."""
        self._keys(layer).index_copy_(0, key_rows, key.reshape(key.shape[0], -1))
        self._values(layer).index_copy_(0, key_rows, value.reshape(value.shape[0], -1))

    def gather(self, layer: int, key_rows: Tensor) -> tuple[Tensor, Tensor]:
        """Copies of the keys and the values at (num_tokens,) key rows, (num_tokens, num_kv_heads, head_dim) each."""
        shape = (-1, self.layout.num_kv_heads, self.layout.head_dim)
        keys = self._keys(layer).index_select(0, key_rows)
        values = self._values(layer).index_select(0, key_rows)
        return keys.view(shape), values.view(shape)

    def copy_slots(self, source: int, target: int, tokens: int) -> None:
        """Copy the first `tokens` slots of a block to another one, every layer."""
        if tokens == self.layout.block_size:
            self.blocks[target].copy_(self.blocks[source])
        else:
            self._pieces[target, :, :tokens].copy_(self._pieces[source, :, :tokens])

    def _keys(self, layer: int) -> Tensor:
        return self._rows[2 * layer * self.layout.block_size :]

    def _values(self, layer: int) -> Tensor:
        return self._rows[(2 * layer + 1) * self.layout.block_size :]


def check_layout(layout: KVLayout) -> None:
    """Raise ValueError naming the field that cannot be stored."""
    for name in ("num_layers", "num_blocks", "block_size", "num_kv_heads", "head_dim"):
        if getattr(layout, name) < 1:
            raise ValueError(f"layout.{name}: expected at least 1, got {getattr(layout, name)}")
    if layout.dtype not in STORAGE_DTYPES:
        allowed = ", ".join(str(dtype) for dtype in STORAGE_DTYPES)
        raise ValueError(f"layout.dtype: expected one of {allowed}, got {layout.dtype}")
