"""The reference backend: paged attention in plain torch, the definition of every other backend.

Keys and values are gathered from their blocks; a segment (see `segments`) whose result is final goes
to torch's fused attention, one that is capped or merged goes through `partial`, which shows every step
of the formula. Softmax and sums are in fp32 in both.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from radixkv_kernels.arguments import check_layer, check_spec, check_tensor
from radixkv_kernels.batch import check_batch
from radixkv_kernels.partial import MergedParts, ScoreRule, partial_attention
from radixkv_kernels.protocols import AttentionBatch, AttentionSpec, KVLayout
from radixkv_kernels.segments import Segment, SegmentPlanner, Segments
from radixkv_kernels.storage import KVStorage, check_copies


class ReferenceAttention:
    """Paged attention over a KVStorage of fp32, bf16 or fp16, on any torch device.

    Keys and values are converted to the storage's type when written. Queries may have another type: the wider
    of the two computes, and the output has the query's.
    """

    def __init__(self, layout: KVLayout, device: torch.device | str = "cpu") -> None:
        self._storage = KVStorage(layout, torch.device(device))
        self._planner: SegmentPlanner | None = None
        self._segments: dict[int | None, Segments] = {}
        self._num_tokens = 0
        self._written = torch.empty(0, dtype=torch.int64)

    @property
    def layout(self) -> KVLayout:
        """Shape of the storage it was made with."""
        return self._storage.layout

    @property
    def storage(self) -> KVStorage:
        """The blocks themselves."""
        return self._storage

    def plan(self, batch: AttentionBatch) -> None:
        """Prepare one step; replaces the plan before, or raises ValueError and leaves no plan."""
        self._planner = None
        checked = check_batch(batch, self.layout, self._storage.device)
        planner = SegmentPlanner(checked, self._storage)
        self._written = planner.written_rows()
        self._segments = {}
        self._num_tokens = checked.num_tokens
        self._planner = planner

    def write_kv(self, layer: int, key: Tensor, value: Tensor) -> None:
        """Store the step's keys and values, (num_tokens, num_kv_heads, head_dim) both."""
        self._check_layer(layer)
        self._check_tensor("key", key, self.layout.num_kv_heads)
        self._check_tensor("value", value, self.layout.num_kv_heads)
        self._storage.write(layer, self._written, key, value)

    def run(self, layer: int, query: Tensor, spec: AttentionSpec) -> Tensor:
        """Attend: (num_tokens, num_heads, head_dim) -> the same shape and dtype."""
        planner = self._check_layer(layer)
        check_spec(spec, self.layout)
        self._check_tensor("query", query, spec.num_heads)
        if spec.window not in self._segments:
            self._segments[spec.window] = planner.segments(spec.window)
        return self._attend(layer, query, spec, self._segments[spec.window])

    def copy_blocks(self, sources: Tensor, targets: Tensor, tokens: Tensor) -> None:
        """Copy the first tokens[i] slots of sources[i] to targets[i] one after the other, so chains are safe."""
        for copy in check_copies(sources, targets, tokens, self.layout):
            self._storage.copy_slots(*copy)

    def _attend(self, layer: int, query: Tensor, spec: AttentionSpec, segments: Segments) -> Tensor:
        output = torch.empty_like(query)
        for segment in segments.own:
            if not segment.merged:
                output[segment.tokens] = self._final(layer, query, spec, segment)
        if segments.any_merged:
            self._attend_merged(layer, query, spec, segments, output)
        return output

    def _final(self, layer: int, query: Tensor, spec: AttentionSpec, segment: Segment) -> Tensor:
        """All the attention of a segment's tokens, (num_tokens, num_heads, head_dim)."""
        if spec.soft_cap is not None:
            return self._partial(layer, query, spec, segment)[0].to(query.dtype)
        rows, key, value = self._arrange(layer, query, segment)
        bias = None if segment.bias is None else segment.bias.to(rows.dtype)
        output = scaled_dot_product_attention(rows, key, value, bias, is_causal=segment.causal, scale=spec.scale)
        return _tokens_first(output, segment).to(query.dtype)

    def _attend_merged(
        self, layer: int, query: Tensor, spec: AttentionSpec, segments: Segments, output: Tensor
    ) -> None:
        own = [segment for segment in segments.own if segment.merged]
        merged = MergedParts(query.shape, query.device)
        for segment in (*own, *segments.shared):
            merged.add(segment.tokens, *self._partial(layer, query, spec, segment))
        for segment in own:
            output[segment.tokens] = merged.output[segment.tokens].to(query.dtype)

    def _partial(self, layer: int, query: Tensor, spec: AttentionSpec, segment: Segment) -> tuple[Tensor, Tensor]:
        """A segment's output (num_tokens, num_heads, head_dim) and log-sum-exp (num_tokens, num_heads), fp32."""
        rows, key, value = self._arrange(layer, query, segment)
        rule = ScoreRule(spec.scale, spec.soft_cap)
        output, lse = partial_attention(rows, key, value, segment.seen_bias(), rule)
        return _tokens_first(output, segment), _tokens_first(lse[..., None], segment).squeeze(-1)

    def _arrange(self, layer: int, query: Tensor, segment: Segment) -> tuple[Tensor, Tensor, Tensor]:
        """A segment's query, key and value as torch's attention takes them, without copying a key for each head.

        One query per row: (batch, num_kv_heads, heads_per_kv, head_dim), the heads that share a key are its queries.
        Else, one row: (num_kv_heads, heads_per_kv, num_queries, head_dim).
        """
        layout = self.layout
        dtype = torch.promote_types(query.dtype, layout.dtype)
        heads_per_kv = query.shape[1] // layout.num_kv_heads
        rows = query[segment.tokens].to(dtype).view(-1, layout.num_kv_heads, heads_per_kv, layout.head_dim)
        key, value = (  # (batch, num_kv_heads, num_keys, head_dim)
            part.to(dtype).view(segment.batch, -1, layout.num_kv_heads, layout.head_dim).transpose(1, 2)
            for part in self._storage.gather(layer, segment.key_rows)
        )
        if segment.single_query:
            return rows, key, value
        shape = (-1, heads_per_kv, -1, -1)
        return rows.permute(1, 2, 0, 3), key.transpose(0, 1).expand(shape), value.transpose(0, 1).expand(shape)

    def _check_layer(self, layer: int) -> SegmentPlanner:
        return check_layer(layer, self.layout, self._planner)

    def _check_tensor(self, name: str, tensor: Tensor, num_heads: int) -> None:
        check_tensor(name, tensor, (self._num_tokens, num_heads, self.layout.head_dim), self._storage.device)


def _tokens_first(arranged: Tensor, segment: Segment) -> Tensor:
    """Undo `_arrange` for an output: (num_tokens, num_heads, last)."""
    if not segment.single_query:
        arranged = arranged.permute(2, 0, 1, 3)
    return arranged.reshape(arranged.shape[0], -1, arranged.shape[-1])
