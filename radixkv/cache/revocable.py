"""Leases on hold: the cache may take them back, oldest hold first, when the pool is short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from radixkv.cache.block_pool import BlockPool
from radixkv.cache.lease import Lease
from radixkv.cache.radix_tree import RadixTree


class RevocableLeases:
    """Which leases are on hold, and whether blocks can be had at their cost. The tree counts what they hold as idle."""

    def __init__(self, pool: BlockPool, tree: RadixTree) -> None:
        self._pool = pool
        self._tree = tree
        self._leases: dict[int, Lease] = {}  # oldest hold first

    def __len__(self) -> int:
        return len(self._leases)

    def __contains__(self, lease: Lease) -> bool:
        return lease.lease_id in self._leases

    @property
    def by_id(self) -> Mapping[int, Lease]:
        """Leases on hold by id, the oldest hold first."""
        return self._leases

    def add(self, lease: Lease) -> None:
        """Put a lease that is in use on hold, as the newest. O(path)."""
        self._leases[lease.lease_id] = lease
        self._tree.rest_path(lease.tip)

    def discard(self, lease: Lease) -> None:
        """The lease is in use again, or about to change; harmless for one that is not on hold. O(path)."""
        if self._leases.pop(lease.lease_id, None) is not None:
            self._tree.use_path(lease.tip)

    @contextmanager
    def changing(self, lease: Lease) -> Iterator[None]:
        """Let the tip of a lease move inside the `with`; on hold or not, and how old its hold is, stays as it was."""
        on_hold = lease in self
        if on_hold:
            self._tree.use_path(lease.tip)
        yield
        if on_hold:
            self._tree.rest_path(lease.tip)

    def can_free(self, count: int, keep: Lease | None = None) -> bool:
        """Whether `count` blocks are free or can be freed by evicting and revoking, all but `keep`. Exact.

        O(1) where the tree's blocks are enough, or no lease is on hold; else O(leases on hold + path of `keep`).
        """
        blocks = self._pool.num_free + self._tree.idle_blocks
        if keep is not None and keep in self:
            blocks -= sum(len(node.blocks) for node in self._tree.path(keep.tip) if node.holds == node.idle)
        return count <= blocks or (len(self) > 0 and count <= blocks + self._private_blocks(keep))

    def _private_blocks(self, keep: Lease | None) -> int:
        """Blocks outside the tree that leases on hold, all but `keep`, have to themselves."""
        sharers = Counter(
            block
            for lease in self._leases.values()
            if lease is not keep
            for block in lease.block_table[lease.tree_blocks :]
        )
        return sum(self._pool.owner(block) == count for block, count in sharers.items())
