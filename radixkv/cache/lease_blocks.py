"""Moves blocks between a lease and the tree, keeping the lease's books."""

from __future__ import annotations

from radixkv.cache.block_pool import BlockPool
from radixkv.cache.in_flight import announce, withdraw
from radixkv.cache.lease import Lease
from radixkv.cache.radix_node import TOKEN_BYTES
from radixkv.cache.radix_tree import RadixTree
from radixkv.cache.results import CacheCounters


class LeaseBlocks:
    """The ways in which a lease's blocks change owner. Allocates nothing, so nothing here can run out of blocks."""

    def __init__(self, pool: BlockPool, tree: RadixTree, counters: CacheCounters) -> None:
        self.pool = pool
        self.tree = tree
        self.counters = counters

    @property
    def block_size(self) -> int:
        """Tokens of a block."""
        return self.tree.stride // TOKEN_BYTES

    def tail_shared(self, lease: Lease) -> bool:
        """Whether others can read the partial block after the whole ones: the tree's readers or another lease."""
        used = lease.length // self.block_size
        return lease.tree_blocks > used or self.pool.owner(lease.block_table[used]) > 1

    def replace_tail(self, lease: Lease, used: int, tail_tokens: int, target: int) -> None:
        """Give the lease a tail block of its own, to be filled by a queued copy of the shared one."""
        source = lease.block_table[used]
        self.queue_copy(source, target, tail_tokens)
        lease.block_table[used] = target
        if lease.tree_blocks > used:
            self.raise_tip(lease, used)
        else:
            self.pool.drop(source)

    def shrink(self, lease: Lease, num_blocks: int) -> None:
        """Give up all blocks of the table from `num_blocks` on."""
        for block in lease.block_table[max(num_blocks, lease.tree_blocks) :]:
            self.pool.drop(block)
        del lease.block_table[num_blocks:]
        self.raise_tip(lease, num_blocks)

    def raise_tip(self, lease: Lease, num_blocks: int) -> None:
        """Hold no more than the first `num_blocks` blocks of the tree; splits the node in which they end."""
        tree = self.tree
        while lease.tree_blocks > num_blocks:
            lower, excess = lease.tip, lease.tree_blocks - num_blocks
            kept = len(lower.blocks) - excess
            upper = tree.split(lower, kept) if kept > 0 else lower.parent
            assert upper is not None, "a lease has more tree blocks than its path"
            lease.tip = upper
            lease.tree_blocks -= len(lower.blocks)
            tree.release_node(lower)

    def publish(self, lease: Lease, data: bytes) -> None:
        """Pass the private blocks after the whole ones, with the tokens `data`, to the tree or adopt the tree's own."""
        first, stride = lease.tree_blocks, self.tree.stride
        last = first + -(-len(data) // stride)
        withdraw(lease, stride)
        mine = lease.block_table[first:last]
        lease.tip, blocks = self.tree.insert(lease.tip, data, mine)
        lease.block_table[first:last] = blocks
        lease.tree_blocks = last
        for own, canonical in zip(mine, blocks, strict=True):
            if own != canonical:
                self.pool.drop(own)
                self.counters.adopted_blocks += 1
        if lease.announced is not None and lease.announced[first * stride : last * stride] != data:
            lease.announced = None
        announce(lease, stride)

    def publish_tail(self, lease: Lease) -> None:
        """Pass the partial block to the tree if this lease alone has it, with its KV, and a look-up could find it."""
        if not lease.tail or lease.tip.detached or self.tail_shared(lease):
            return
        if not self.pool.awaits_copy(lease.block_table[lease.tree_blocks]):
            self.publish(lease, lease.tail)

    def end_announcement(self, lease: Lease) -> None:
        """Nobody should wait for this lease any more."""
        withdraw(lease, self.tree.stride)
        lease.announced = None

    def queue_copy(self, source: int, target: int, num_tokens: int) -> None:
        """Queue and count a copy of the first tokens of a block."""
        self.pool.queue_copy(source, target, num_tokens)
        self.counters.queued_copies += 1
