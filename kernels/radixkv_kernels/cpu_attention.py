"""The CPU backend: attention on blocks in place, in native code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from radixkv_kernels.arguments import check_layer, check_spec, check_tensor
from radixkv_kernels.batch import CheckedBatch, check_batch
from radixkv_kernels.native import required_module
from radixkv_kernels.protocols import AttentionBatch, AttentionSpec, KVLayout
from radixkv_kernels.storage import check_copies, check_layout

if TYPE_CHECKING:
    from radixkv_kernels import _cpu

TYPE_NAMES: Final = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}


def block_bytes(layout: KVLayout) -> int:
    """Bytes of one block over all layers: in 16-bit types a block of an odd number of tokens has padding."""
    return _kv_shape(layout).block_bytes


class CPUAttention:
    """Paged attention over native storage of fp32, bf16 or fp16.

    Keys and values are converted to the storage's type when written; scores, sums and the softmax are fp32 whatever it
    is, and the output has the query's type. KV that several sequences share is read once for all of them. `isa` names
    the instruction set (left out: the best that this machine offers).
    """

    def __init__(self, layout: KVLayout, num_heads: int, isa: str | None = None) -> None:
        check_layout(layout)
        module = required_module()
        self._layout = layout
        self._native: _cpu.Attention = module.Attention(_kv_shape(layout), isa or module.available_isas()[-1])
        self._num_heads = num_heads
        self._batch: _cpu.Batch | None = None
        self._num_tokens = 0

    @property
    def layout(self) -> KVLayout:
        """Shape of the storage it was made with."""
        return self._layout

    def forward(self, decoder: _cpu.Decoder, token_ids: Tensor, hidden: Tensor, num_heads: int) -> None:
        """All layers of the step in one call: fills hidden (num_tokens, hidden_size) fp32 and stores the KV."""
        batch = self._check(0)
        if token_ids.shape != (self._num_tokens,):
            raise ValueError(f"token_ids: expected shape ({self._num_tokens},), got {tuple(token_ids.shape)}")
        self._plan_for(num_heads, batch)
        decoder.forward(token_ids.data_ptr(), self._native, hidden.data_ptr())

    def plan(self, batch: AttentionBatch) -> None:
        """Prepare one step; replaces the plan before, or raises ValueError and leaves no plan."""
        self._batch = None
        checked = check_batch(batch, self._layout, torch.device("cpu"))
        native_batch = _native_batch(batch, checked)
        self._native.plan(native_batch, self._num_heads, share=True)
        self._num_tokens = checked.num_tokens
        self._batch = native_batch

    def write_kv(self, layer: int, key: Tensor, value: Tensor) -> None:
        """Store the step's keys and values, (num_tokens, num_kv_heads, head_dim) both."""
        self._check(layer)
        self._check_tensor("key", key, self._layout.num_kv_heads)
        self._check_tensor("value", value, self._layout.num_kv_heads)
        keys, values = key.float().contiguous(), value.float().contiguous()
        self._native.write_kv(layer, keys.data_ptr(), values.data_ptr())

    def run(self, layer: int, query: Tensor, spec: AttentionSpec) -> Tensor:
        """Attend: (num_tokens, num_heads, head_dim) -> the same shape and dtype."""
        batch = self._check(layer)
        check_spec(spec, self._layout)
        self._check_tensor("query", query, spec.num_heads)
        self._plan_for(spec.num_heads, batch)
        rows = query.float().contiguous()
        output = torch.empty_like(rows)
        window, cap = spec.window or 0, spec.soft_cap or 0.0
        self._native.run(layer, rows.data_ptr(), output.data_ptr(), spec.num_heads, spec.scale, window, cap)
        return output.to(query.dtype)

    def copy_blocks(self, sources: Tensor, targets: Tensor, tokens: Tensor) -> None:
        """Copy the first tokens[i] slots of sources[i] to targets[i] one after the other, so chains are safe."""
        for copy in check_copies(sources, targets, tokens, self._layout):
            self._native.copy_slots(*copy)

    def _plan_for(self, num_heads: int, batch: _cpu.Batch) -> None:
        """Tasks are as large as the heads that share a KV head make them."""
        if num_heads != self._num_heads:
            self._num_heads = num_heads
            self._native.plan(batch, num_heads, share=True)

    def _check(self, layer: int) -> _cpu.Batch:
        return check_layer(layer, self._layout, self._batch)

    def _check_tensor(self, name: str, tensor: Tensor, num_heads: int) -> None:
        check_tensor(name, tensor, (self._num_tokens, num_heads, self._layout.head_dim), torch.device("cpu"))


def _kv_shape(layout: KVLayout) -> _cpu.KVShape:
    module = required_module()
    shape: _cpu.KVShape = module.kv_shape(
        layout.num_layers,
        layout.num_blocks,
        layout.block_size,
        layout.num_kv_heads,
        layout.head_dim,
        TYPE_NAMES[layout.dtype],
    )
    return shape


def _native_batch(batch: AttentionBatch, checked: CheckedBatch) -> _cpu.Batch:
    module = required_module()
    made: _cpu.Batch = module.Batch()
    made.query_pointers = batch.query_pointers.tolist()
    made.table_pointers = batch.table_pointers.tolist()
    made.table_ids = batch.table_ids.tolist()
    made.kv_lengths = batch.kv_lengths.tolist()
    made.group_blocks = [len(group.block_ids) for group in checked.groups]
    rows: list[int] = []
    pointers = [0]
    for group in checked.groups:
        rows += group.rows
        pointers.append(len(rows))
    made.group_rows, made.group_pointers = rows, pointers
    return made
