"""The block pool: who owns each block, and the copies that are queued between blocks.

Every block has one owner record, an int:

    FREE      on the free list
    n > 0     private to n leases (more than one only for a partial tail that forks share)
    TREE      in the radix tree
    COPIES    owned by nobody any more, but a queued copy still has to read it

Transitions (all others are refused):

    FREE -> 1      allocate          n -> n + k   share        1 -> TREE      publish
    n -> n - 1     drop              TREE -> FREE free_tree    1 -> FREE      drop

In the last two FREE is COPIES while a queued copy reads the block, until that copy is taken or dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from radixkv.step_plan import BlockCopy

FREE: Final = 0
TREE: Final = -1
COPIES: Final = -2


class BlockPool:
    """Owner of the block ids 0 .. num_blocks - 1. Every call costs O(blocks it names).

    Copies obey one rule: *a queued copy keeps its source out of the free list until it is taken, and vanishes when its
    target is freed.* A source that is evicted or released meanwhile waits as COPIES; a target that another
    queued copy reads is not freed, so chains of copies stay whole. Taken copies must run, in order, before any KV
    write of the next step; from then on it does not matter what becomes of their sources.
    """

    def __init__(self, num_blocks: int) -> None:
        if num_blocks < 1:
            raise ValueError(f"num_blocks: got {num_blocks}, expected at least 1")
        self.num_blocks = num_blocks
        self.num_tree = 0  # blocks in the radix tree
        self._owner = [FREE] * num_blocks
        self._free = list(range(num_blocks - 1, -1, -1))  # low ids first
        self._copies: dict[int, BlockCopy] = {}  # by target, in the order in which they must run
        self._readers: dict[int, int] = {}  # source -> queued copies that read it

    @property
    def num_free(self) -> int:
        """Blocks that `allocate` can give now."""
        return len(self._free)

    def owner(self, block: int) -> int:
        """The owner record of a block: FREE, TREE, COPIES or the number of leases it is private to."""
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
        leases = self._owner[block]
        assert leases > 0, self._wrong(block, "private")
        if leases > 1:
            self._owner[block] = leases - 1
        else:
            self._release(block)

    def publish(self, blocks: Iterable[int]) -> None:
        """Pass blocks that are private to one lease to the tree."""
        for block in blocks:
            self._move(block, 1, TREE)
            self.num_tree += 1

    def free_tree(self, blocks: list[int]) -> int:
        """Take blocks out of the tree. Returns how many are free now: those that a queued copy reads are not yet."""
        before = len(self._free)
        self.num_tree -= len(blocks)
        for block in blocks:
            assert self._owner[block] == TREE, self._wrong(block, "in the tree")
            self._release(block)
        return len(self._free) - before

    def queue_copy(self, source: int, target: int, tokens: int) -> None:
        """Queue a copy of the first `tokens` slots of `source` into `target`, a block allocated for it."""
        assert self._owner[source] != FREE, self._wrong(source, "in use")
        assert self._owner[target] > 0, self._wrong(target, "private")
        assert target not in self._copies, f"block {target} is the target of two copies"
        self._copies[target] = BlockCopy(source, target, tokens)
        self._readers[source] = self._readers.get(source, 0) + 1

    def awaits_copy(self, block: int) -> bool:
        """Whether a queued copy has yet to fill this block."""
        return block in self._copies

    def queued_copies(self) -> tuple[BlockCopy, ...]:
        """The copies that `take_copies` would return."""
        return tuple(self._copies.values())

    def take_copies(self) -> tuple[BlockCopy, ...]:
        """Hand over the queued copies, in order, and let go of their sources."""
        if not self._copies:
            return ()
        copies = tuple(self._copies.values())
        self._copies.clear()
        for copy in copies:
            self._stop_reading(copy.source)
        return copies

    def check_integrity(self) -> None:
        """Raise AssertionError unless the owner records, the free list and the copies agree."""
        assert sorted(self._free) == [b for b, owner in enumerate(self._owner) if owner == FREE], "free list"
        assert self.num_tree == self._owner.count(TREE), "blocks in the tree"
        readers: dict[int, int] = {}
        for copy in self._copies.values():
            readers[copy.source] = readers.get(copy.source, 0) + 1
            assert self._owner[copy.target] > 0 or copy.target in self._readers, self._wrong(copy.target, "private")
        assert readers == self._readers, f"readers {self._readers}, expected {readers}"
        for block, owner in enumerate(self._owner):
            assert owner != COPIES or block in readers, self._wrong(block, "read by a queued copy")
            assert owner != FREE or block not in readers, self._wrong(block, "kept for its readers")

    def _move(self, block: int, old: int, new: int) -> None:
        assert self._owner[block] == old, self._wrong(block, f"owned by {old}")
        self._owner[block] = new

    def _release(self, block: int) -> None:
        """The last owner is gone: the block is free, unless a queued copy reads it, and no copy need fill it."""
        if block in self._readers:
            self._owner[block] = COPIES
            return
        self._owner[block] = FREE
        self._free.append(block)
        if block in self._copies:
            self._stop_reading(self._copies.pop(block).source)

    def _stop_reading(self, source: int) -> None:
        readers = self._readers[source] - 1
        if readers:
            self._readers[source] = readers
            return
        del self._readers[source]
        if self._owner[source] == COPIES:
            self._release(source)

    def _wrong(self, block: int, expected: str) -> str:
        return f"block {block}: expected {expected}, its owner record is {self._owner[block]}"
