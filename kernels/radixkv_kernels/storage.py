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

    @property
    def device(self) -> torch.device:
        """Where the blocks are."""
        return self.blocks.device

    def key_rows(self, block_ids: Tensor, offsets: Tensor) -> Tensor:
        """Key rows of the tokens at `offsets` in `block_ids`, any equal shapes, int64."""
        return block_ids * (2 * self.layout.num_layers * self.layout.block_size) + offsets

    def write(self, layer: int, key_rows: Tensor, key: Tensor, value: Tensor) -> None:
        """Store (num_tokens, num_kv_heads, head_dim) keys and values at (num_tokens,) key rows."""
        dtype = self.layout.dtype
        self._keys(layer).index_copy_(0, key_rows, key.reshape(key.shape[0], -1).to(dtype))
        self._values(layer).index_copy_(0, key_rows, value.reshape(value.shape[0], -1).to(dtype))

    def gather(self, layer: int, key_rows: Tensor) -> tuple[Tensor, Tensor]:
        """Copies of the keys and the values at (num_keys,) key rows, (num_keys, num_kv_heads * head_dim) each."""
        return self._keys(layer).index_select(0, key_rows), self._values(layer).index_select(0, key_rows)

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


def check_copies(sources: Tensor, targets: Tensor, tokens: Tensor, layout: KVLayout) -> list[tuple[int, int, int]]:
    """The copies as ints, in order; raises ValueError naming the argument that is wrong."""
    for name, tensor in (("sources", sources), ("targets", targets), ("tokens", tokens)):
        if tensor.dtype != torch.int32 or tensor.shape != (len(sources),):
            raise ValueError(
                f"{name}: expected int32 of shape ({len(sources)},), got {tensor.dtype} of shape {tuple(tensor.shape)}"
            )
    copies = list(zip(sources.tolist(), targets.tolist(), tokens.tolist(), strict=True))
    for i, copy in enumerate(copies):
        for name, block in zip(("sources", "targets"), copy, strict=False):
            if not 0 <= block < layout.num_blocks:
                raise ValueError(f"{name}[{i}]: expected a block id from 0 to {layout.num_blocks - 1}, got {block}")
        if not 1 <= copy[2] <= layout.block_size:
            raise ValueError(f"tokens[{i}]: expected 1 to {layout.block_size}, got {copy[2]}")
    return copies
