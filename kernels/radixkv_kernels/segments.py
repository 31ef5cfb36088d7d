"""How a step's attention is cut into segments, each one dense computation.

    decode    sequences with one query token and about the same number of keys, padded to one batch
    chunk     one sequence with several query tokens
    shared    the query tokens of a group's rows against the blocks that they share

Every segment is a list of query tokens, a list of key rows and a bias. Padding repeats the last
key of the same sequence: only slots that have been written are read, and never another sequence's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from radixkv_kernels.batch import CheckedBatch, Group, Sequence
from radixkv_kernels.storage import KVStorage

MAX_DECODE_ELEMENTS = 1 << 19  # keys of a decode segment, so that they stay in the processor's cache
SMALLEST_BUCKET = 64  # keys; decode sequences with fewer are padded to one batch


@dataclass(frozen=True)
class Segment:
    """`batch` independent rows of queries, each row with `num_keys` keys.

    `bias` is 0 where a key is seen and -inf where not, (batch, 1, 1, num_keys) with one query per
    row and (1, 1, num_queries, num_keys) with one row; None: all are seen, or with `causal` all up to the diagonal.
    A segment with `merged` gives only a part of its tokens' attention.
    """

    tokens: Tensor | slice  # (batch * num_queries,)
    batch: int
    single_query: bool  # one query per row; else batch is 1
    key_rows: Tensor  # (batch * num_keys,)
    bias: Tensor | None = None
    causal: bool = False
    merged: bool = False

    def seen_bias(self) -> Tensor | None:
        """The bias with `causal` spelled out; None where every key is seen."""
        if not self.causal:
            return self.bias
        num_keys = self.key_rows.shape[0]
        return torch.full((num_keys, num_keys), float("-inf"), device=self.key_rows.device).triu_(1)[None, None]


@dataclass(frozen=True)
class Segments:
    """The segments of one step under one window. Own parts come before shared ones, so no first part is empty."""

    own: tuple[Segment, ...]
    shared: tuple[Segment, ...]

    @property
    def any_merged(self) -> bool:
        """Whether some tokens' attention comes in parts."""
        return any(segment.merged for segment in self.own)


class SegmentPlanner:
    """Cuts one checked batch into segments, for each window that a layer asks for."""

    def __init__(self, batch: CheckedBatch, storage: KVStorage) -> None:
        self._batch = batch
        self._storage = storage
        self._device = storage.blocks.device
        self._spans = tuple(_group_spans(batch, storage.layout.block_size))
        self._covered = _covered_tokens(self._spans)

    def written_rows(self) -> Tensor:
        """Key rows of the step's own tokens, (num_tokens,)."""
        sequences = self._batch.sequences
        counts = self._ints([sequence.num_queries for sequence in sequences])
        shifts = self._ints([sequence.start - sequence.query_start for sequence in sequences])
        indices = torch.arange(len(sequences), device=self._device).repeat_interleave(counts)
        positions = torch.arange(self._batch.num_tokens, device=self._device) + shifts[indices]
        return self._key_rows(indices, positions)

    def segments(self, window: int | None) -> Segments:
        """All segments under a window; each query token is in exactly one own segment."""
        decodes = [sequence for sequence in self._batch.sequences if sequence.num_queries == 1]
        chunks = [sequence for sequence in self._batch.sequences if sequence.num_queries > 1]
        own = [self._decode(bucket, window) for bucket in self._buckets(decodes, window)]
        own += [self._chunk(sequence, window) for sequence in chunks]
        shared = [self._shared(span, window) for span in self._spans]
        return Segments(tuple(own), tuple(segment for segment in shared if segment is not None))

    def _first_key(self, sequence: Sequence, window: int | None) -> int:
        """Position of the first key of the sequence's own part."""
        covered = self._covered.get(sequence.index, 0)
        return covered if window is None else max(covered, sequence.start - window + 1)

    def _buckets(self, decodes: Iterable[Sequence], window: int | None) -> Iterator[list[Sequence]]:
        """Sequences with key counts within a factor of two, all merged or none, at most MAX_DECODE_ELEMENTS."""
        layout = self._storage.layout
        most_keys = max(1, MAX_DECODE_ELEMENTS // (layout.num_kv_heads * layout.head_dim))
        buckets: dict[tuple[bool, int], list[Sequence]] = defaultdict(list)
        for sequence in decodes:
            num_keys = sequence.length - self._first_key(sequence, window)
            size = (max(num_keys, SMALLEST_BUCKET) - 1).bit_length()
            buckets[sequence.index in self._covered, size].append(sequence)
        for (_, size), bucket in buckets.items():
            at_once = max(1, most_keys >> size)
            for first in range(0, len(bucket), at_once):
                yield bucket[first : first + at_once]

    def _decode(self, bucket: list[Sequence], window: int | None) -> Segment:
        firsts = [self._first_key(sequence, window) for sequence in bucket]
        counts = [sequence.length - first for sequence, first in zip(bucket, firsts, strict=True)]
        first, count = self._ints(firsts)[:, None], self._ints(counts)[:, None]
        offsets = torch.arange(max(counts), device=self._device)  # (num_keys,)
        positions = first + torch.minimum(offsets, count - 1)  # (batch, num_keys)
        indices = self._ints([sequence.index for sequence in bucket])
        return Segment(
            tokens=self._tokens(bucket),
            batch=len(bucket),
            single_query=True,
            key_rows=self._key_rows(indices[:, None], positions).flatten(),
            bias=None if min(counts) == max(counts) else self._bias(offsets < count)[:, None, None],
            merged=bucket[0].index in self._covered,
        )

    def _chunk(self, sequence: Sequence, window: int | None) -> Segment:
        first = self._first_key(sequence, window)
        positions = torch.arange(first, sequence.length, device=self._device)
        index = torch.tensor(sequence.index, device=self._device)
        causal = first == sequence.start and (window is None or window >= sequence.num_queries)
        bias = None
        if not causal:
            queries = positions[sequence.start - first :, None]
            bias = self._bias(_seen(queries, positions, window))[None, None]
        return Segment(
            tokens=slice(sequence.query_start, sequence.query_end),
            batch=1,
            single_query=False,
            key_rows=self._key_rows(index, positions),
            bias=bias,
            causal=causal,
            merged=sequence.index in self._covered,
        )

    def _shared(self, span: _Span, window: int | None) -> Segment | None:
        """The segment of a group, or None where the window hides the span from every row."""
        sequences = [self._batch.sequences[row] for row in span.rows]
        positions = torch.arange(span.first, span.last, device=self._device)
        bias = None
        if window is not None:
            if all(sequence.start - window + 1 >= span.last for sequence in sequences):
                return None
            queries = [torch.arange(each.start, each.length, device=self._device) for each in sequences]
            bias = self._bias(_seen(torch.cat(queries)[:, None], positions, window))[None, None]
        index = torch.tensor(span.rows[0], device=self._device)
        return Segment(
            tokens=self._tokens(sequences),
            batch=1,
            single_query=sum(sequence.num_queries for sequence in sequences) == 1,
            key_rows=self._key_rows(index, positions),
            bias=bias,
            merged=True,
        )

    def _key_rows(self, indices: Tensor, positions: Tensor) -> Tensor:
        block_size = self._storage.layout.block_size
        entries = self._batch.table_starts[indices] + positions.div(block_size, rounding_mode="floor")
        return self._storage.key_rows(self._batch.table_ids[entries], positions % block_size)

    def _tokens(self, sequences: list[Sequence]) -> Tensor | slice:
        """Query tokens of the sequences, in order; a slice where they adjoin, which spares copies in every layer."""
        adjoin = all(before.query_end == after.query_start for before, after in pairwise(sequences))
        if adjoin:
            return slice(sequences[0].query_start, sequences[-1].query_end)
        return self._ints([token for each in sequences for token in range(each.query_start, each.query_end)])

    def _bias(self, seen: Tensor) -> Tensor:
        bias = torch.zeros(seen.shape, dtype=self._storage.layout.dtype, device=self._device)
        return bias.masked_fill_(~seen, float("-inf"))

    def _ints(self, numbers: list[int]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.int64, device=self._device)


@dataclass(frozen=True)
class _Span:
    """Positions [first, last) whose KV the rows share and attend to together."""

    first: int
    last: int
    rows: tuple[int, ...]


def _group_spans(batch: CheckedBatch, block_size: int) -> Iterator[_Span]:
    """Cut nested groups so that every row meets every position once: a longer group starts where a shorter ended."""
    covered: dict[int, int] = {}
    for group in batch.groups:
        last = len(group.block_ids) * block_size
        for first, rows in _rows_by_cover(group, covered).items():
            if first < last:
                yield _Span(first, last, tuple(rows))
        covered.update(dict.fromkeys(group.rows, last))


def _rows_by_cover(group: Group, covered: dict[int, int]) -> dict[int, list[int]]:
    rows: dict[int, list[int]] = defaultdict(list)
    for row in group.rows:
        rows[covered.get(row, 0)].append(row)
    return rows


def _covered_tokens(spans: tuple[_Span, ...]) -> dict[int, int]:
    """Tokens of each grouped row that shared segments cover."""
    return {row: span.last for span in spans for row in span.rows}


def _seen(queries: Tensor, keys: Tensor, window: int | None) -> Tensor:
    """Which keys (num_keys,) each query (num_queries, 1) sees, by position."""
    seen = keys <= queries
    return seen if window is None else seen & (keys > queries - window)
