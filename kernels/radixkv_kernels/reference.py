"""The reference backend: paged attention in plain torch, the definition of every other backend."""

from __future__ import annotations

import torch
from torch import Tensor

from radixkv_kernels.protocols import AttentionBatch, AttentionSpec, KVLayout
from radixkv_kernels.storage import KVStorage


class ReferenceAttention:
    """Paged attention over a KVStorage; scores, softmax and sums in fp32."""

    def __init__(self, layout: KVLayout, device: torch.device | str = "cpu") -> None:
        self._storage = KVStorage(layout, torch.device(device))
        self._sequences: list[tuple[int, int, int, Tensor]] = []
        self._slots = torch.empty(0, dtype=torch.int64)

    @property
    def layout(self) -> KVLayout:
        """Shape of the storage."""
        return self._storage.layout

    def plan(self, batch: AttentionBatch) -> None:
        queries, tables = batch.query_pointers.tolist(), batch.table_pointers.tolist()
        self._sequences = []
        written = []
        for i, length in enumerate(batch.kv_lengths.tolist()):
            positions = torch.arange(length)
            blocks = batch.table_ids[tables[i] : tables[i + 1]].long()[positions // self.layout.block_size]
            rows = self._storage.key_rows(blocks, positions % self.layout.block_size)
            self._sequences.append((queries[i], queries[i + 1], length, rows))
            written.append(rows[length - (queries[i + 1] - queries[i]) :])
        self._slots = torch.cat(written)

    def write_kv(self, layer: int, key: Tensor, value: Tensor) -> None:
        self._storage.write(layer, self._slots, key, value)

    def run(self, layer: int, query: Tensor, spec: AttentionSpec) -> Tensor:
        out = torch.empty_like(query)
        for first, last, length, rows in self._sequences:
            key, value = self._storage.gather(layer, rows)
            group = spec.num_heads // self.layout.num_kv_heads
            key = key.float().repeat_interleave(group, 1)
            value = value.float().repeat_interleave(group, 1)
            scores = torch.einsum("qhd,khd->hqk", query[first:last].float(), key) * spec.scale
            if spec.soft_cap is not None:
                scores = spec.soft_cap * torch.tanh(scores / spec.soft_cap)
            at = torch.arange(length - (last - first), length)[:, None]
            seen = torch.arange(length)[None] <= at
            if spec.window is not None:
                seen &= torch.arange(length)[None] > at - spec.window
            weights = scores.masked_fill(~seen, float("-inf")).softmax(-1)
            out[first:last] = torch.einsum("hqk,khd->qhd", weights, value).to(query.dtype)
        return out

    def copy_blocks(self, sources: Tensor, targets: Tensor, tokens: Tensor) -> None:
        for source, target, count in zip(sources.tolist(), targets.tolist(), tokens.tolist(), strict=True):
            self._storage.copy_slots(source, target, count)
