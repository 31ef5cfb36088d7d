"""The block pool: who owns each block, and the copies that are queued between blocks.

Every block has one owner record, an int:

    FREE      on the free list
    n > 0     private to n leases (more than one only for a partial tail that forks share)
    TREE      in the radix tree

Transitions (all others are refused):

    FREE -> 1      allocate          n -> n + k      share          1 -> TREE    publish
    n -> n - 1     drop              TREE -> FREE    free_tree      1 -> FREE    drop
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from radixkv.step_plan import BlockCopy

FREE: Final = 0
TREE: Final = -1


class BlockPool:
    """Owner of the block ids 0 .. num_blocks - 1. Every call costs O(blocks it names).

    Queued copies hold nothing. They need not, by one rule: *copies run in the order in which they were queued, and
    before any KV write of the next step.* Whoever is given the source or the target of a queued copy can only
    write there by a later copy or by a step, so each copy still reads what was there when it was queued.
    """

    def __init__(self, num_blocks: int) -> None:
        if num_blocks < 1:
            raise ValueError(f"num_blocks: got {num_blocks}, expected at least 1")
        self.num_blocks = num_blocks
        self.num_tree = 0  # blocks in the radix tree
        self._owner = [FREE] * num_blocks
        self._free = list(range(num_blocks - 1, -1, -1))  # low ids first
        self._copies: list[BlockCopy] = []

    @property
    def num_free(self) -> int:
        """Blocks that `allocate` can give now."""
        return len(self._free)

    def owner(self, block: int) -> int:
        """The owner record of a block: FREE, TREE or the number of leases it is private to."""
        return self._owner[block]

    def allocate(self, count: int) -> list[int]:
        """Take `count` blocks for one lease; the caller has made sure that they are free."""
        if count == 0:
            return []
        assert count <= len(self._free), f"{count} blocks asked of {len(self._free)} free ones"
        blocks = self._free[: -count - 1 : -1]
        del self._free[-count:]
        for block in blocks:
            self._move(block, FREE, 1)
        return blocks

    def share(self, block: int, count: int) -> None:
        """Let `count` more leases have a private block."""
        assert self._owner[block] > 0, self._wrong(block, "private")
        self._owner[block] += count

    def drop(self, block: int) -> None:
        """One lease gives up a private block; the last one frees it."""
        assert self._owner[block] > 0, self._wrong(block, "private")
        self._owner[block] -= 1
        if self._owner[block] == FREE:
            self._free.append(block)

    def publish(self, blocks: Iterable[int]) -> None:
        """Pass blocks that are private to one lease to the tree."""
        for block in blocks:
            self._move(block, 1, TREE)
            self.num_tree += 1

    def free_tree(self, blocks: list[int]) -> None:
        """Take blocks out of the tree."""
        for block in blocks:
            self._move(block, TREE, FREE)
        self._free += blocks
        self.num_tree -= len(blocks)

    def queue_copy(self, source: int, target: int, tokens: int) -> None:
        """Queue a copy of the first `tokens` slots of `source` into `target`, a block allocated for it."""
        assert self._owner[source] != FREE, self._wrong(source, "in use")
        assert self._owner[target] == 1, self._wrong(target, "private to one lease")
        self._copies.append(BlockCopy(source, target, tokens))

    def awaits_copy(self, block: int) -> bool:
        """Whether a queued copy has yet to fill this block. O(queued copies)."""
        return any(copy.target == block for copy in self._copies)

    def queued_copies(self) -> tuple[BlockCopy, ...]:
        """The copies that matter: those whose target nobody has any more and no later copy reads are left out."""
        kept: list[BlockCopy] = []
        read: set[int] = set()
        for copy in reversed(self._copies):
            if self._owner[copy.target] != FREE or copy.target in read:
                kept.append(copy)
                read.add(copy.source)
        return tuple(reversed(kept))

    def take_copies(self) -> tuple[BlockCopy, ...]:
        """Hand over the queued copies, in the order in which they must run."""
        if not self._copies:
            return ()
        copies = self.queued_copies()
        self._copies.clear()
        return copies

    def check_integrity(self) -> None:
        """Raise AssertionError unless the owner records agree with the free list and the counts."""
        assert sorted(self._free) == [b for b, owner in enumerate(self._owner) if owner == FREE], "free list"
        assert self.num_tree == self._owner.count(TREE), "blocks in the tree"

    def _move(self, block: int, old: int, new: int) -> None:
        assert self._owner[block] == old, self._wrong(block, f"owner record {old}")
        self._owner[block] = new

    def _wrong(self, block: int, expected: str) -> str:
        return f"block {block}: expected {expected}, its owner record is {self._owner[block]}"
