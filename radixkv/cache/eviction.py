"""Which cached blocks go first."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from radixkv.cache.radix_node import RadixNode

_SLACK: Final = 64  # stale entries that are never worth a rebuild


class EvictionPolicy(Protocol):
    """Ranks leaves of the tree that nobody holds; the lowest rank goes first, from its tail."""

    def rank(self, leaf: RadixNode) -> int:
        """Rank of a leaf, asked when it becomes a candidate and each time its recency changes."""
        ...


class LeastRecentlyUsed:
    """The leaf that was hit, held or written longest ago goes first."""

    def rank(self, leaf: RadixNode) -> int:
        """The tick of the last use."""
        return leaf.last_used


class EvictionOrder:
    """The candidates for eviction in rank order: a heap whose entries go stale instead of being removed.

    A node's live entry is the one with its `ticket`. Adding and taking cost O(log candidates); discarding
    is O(1). Stale entries never outnumber live ones by more than a constant: the heap is then rebuilt,
    which is paid for by the discards before it.
    """

    def __init__(self, policy: EvictionPolicy) -> None:
        self._policy = policy
        self._heap: list[tuple[int, int, RadixNode]] = []
        self._live = 0
        self._tickets = 0

    def __len__(self) -> int:
        return self._live

    def add(self, leaf: RadixNode) -> None:
        """Make a leaf a candidate, or rank it anew. Mutates its ticket."""
        self.discard(leaf)
        self._tickets += 1
        leaf.ticket = self._tickets
        self._live += 1
        heappush(self._heap, (self._policy.rank(leaf), self._tickets, leaf))
        if len(self._heap) > 2 * self._live + _SLACK:
            self._heap = [entry for entry in self._heap if entry[1] == entry[2].ticket]
            heapify(self._heap)

    def discard(self, leaf: RadixNode) -> None:
        """Forget a candidate; harmless for a node that is none. Mutates its ticket."""
        if leaf.ticket:
            leaf.ticket = 0
            self._live -= 1

    def first(self) -> RadixNode | None:
        """The candidate that goes next, or None."""
        while self._heap:
            _, ticket, leaf = self._heap[0]
            if leaf.ticket == ticket:
                return leaf
            heappop(self._heap)
        return None

    def check_integrity(self, candidates: set[RadixNode]) -> None:
        """Raise AssertionError unless exactly `candidates` have one live entry each and garbage is bounded."""
        live = [entry[2] for entry in self._heap if entry[1] == entry[2].ticket]
        assert set(live) == candidates, "the eviction order does not hold exactly the unheld leaves"
        assert len(live) == len(candidates) == self._live, "entries of the eviction order"
        assert all(entry[0] == self._policy.rank(entry[2]) for entry in self._heap if entry[1] == entry[2].ticket)
