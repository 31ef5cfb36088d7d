"""The one door to the KV cache."""

from __future__ import annotations

from array import array

from radixkv.cache.block_pool import BlockPool
from radixkv.cache.eviction import EvictionPolicy, LeastRecentlyUsed
from radixkv.cache.in_flight import announce, announced_end
from radixkv.cache.integrity import check_cache
from radixkv.cache.lease import Lease, LeaseReleased
from radixkv.cache.lease_blocks import LeaseBlocks
from radixkv.cache.radix_node import TOKEN_BYTES, Edge, Match, RadixNode
from radixkv.cache.radix_tree import RadixTree
from radixkv.cache.results import CacheCounters, CacheStats, Explanation, Lookup
from radixkv.cache.revocable import RevocableLeases
from radixkv.errors import OutOfBlocks
from radixkv.request import Namespace
from radixkv.step_plan import BlockCopy
from radixkv.tokens import TokenArray


class PrefixCache:
    """Blocks of KV, shared by all sequences that begin with the same tokens in the same namespace.

    A sequence acquires a lease on what is cached of its tokens, extends it, has the KV computed, commits it, and
    releases the lease. The order within a step: `extend` each sequence, `take_copies` and run them in order, write KV,
    `commit`. KV is published by `commit` alone, so only what has been computed is ever shared.

    With `enabled=False` nothing is matched or published; leases work as before and share with their forks only.
    All costs are in the docstrings; none grows with the number of cached tokens, except that a node's children are
    kept in a sorted array (an insertion moves 16 bytes a sibling).
    """

    def __init__(
        self, num_blocks: int, block_size: int = 16, *, enabled: bool = True, policy: EvictionPolicy | None = None
    ) -> None:
        if block_size < 1:
            raise ValueError(f"block_size: got {block_size}, expected at least 1 token")
        self.block_size = block_size
        self.enabled = enabled
        self.pool = BlockPool(num_blocks)
        self.tree = RadixTree(self.pool, block_size, policy or LeastRecentlyUsed())
        self.leases: dict[int, Lease] = {}
        self._revocable = RevocableLeases(self.pool, self.tree)
        self._counters = CacheCounters()
        self._blocks = LeaseBlocks(self.pool, self.tree, self._counters)

    def lookup(self, tokens: TokenArray, namespace: Namespace, max_hit: int | None = None) -> Lookup:
        """What `acquire` would reuse, and what a live lease is computing of the tokens after that. Mutates nothing.

        In flight counts only if a whole block of it is equal, and like the hit ends at `max_hit`. O(path nodes).
        """
        limit = self._hit_limit(tokens, max_hit)
        data = tokens.tobytes()
        match = self.tree.match(namespace, data[: limit * TOKEN_BYTES]) if self.enabled else None
        if match is None:
            return Lookup(0, 0)
        end = announced_end(match.path, data, self.tree.stride) // TOKEN_BYTES
        return Lookup(match.tokens, max(0, min(end, limit) - match.tokens))

    def has_room(self, tokens: TokenArray, namespace: Namespace, *, max_hit: int | None = None, spare: int = 0) -> bool:
        """Whether `acquire`, then `extend` for all of `tokens`, will find its blocks, with `spare` blocks left over.

        Exact, at the cost of cached blocks and revocable leases if need be: what counts against the blocks needed is
        the part of the hit that leases in use hold, for all else of the hit is no longer to be had when it is taken.
        Mutates nothing. O(path nodes), and O(revocable leases) where it is close.
        """
        data = tokens[: self._hit_limit(tokens, max_hit)].tobytes()
        match = self.tree.match(namespace, data) if self.enabled else None
        needed = -(-len(tokens) // self.block_size) + spare
        return self._revocable.can_free(needed - (self.tree.used_on(match) if match else 0))

    def acquire(
        self,
        tokens: TokenArray,
        namespace: Namespace,
        *,
        owner: str,
        reason: str = "request",  # why the blocks are held, for whoever reads a dump of the leases
        max_hit: int | None = None,
        resumed: bool = False,
    ) -> Lease:
        """A lease on the longest cached prefix of `tokens`: min(match, len(tokens) - 1, max_hit), exact to the token.

        Whole blocks are shared and held before anything is allocated. The matching tokens of a block that matches in
        part are copied into a fresh one (a queued copy); when no block can be had, the hit ends at the block border
        instead. The rest of `tokens` is announced as in flight. Hit and miss are counted once; with `resumed` (after
        a preemption) in counters of their own.

        Mutates recency (the whole path is refreshed) and may split a node. Raises ValueError for a negative `max_hit`.
        O(path nodes + hit blocks).
        """
        limit = self._hit_limit(tokens, max_hit)
        data = tokens.tobytes()
        lease = self._new_lease(namespace, owner, reason)
        if self.enabled:
            self._take_hit(lease, self.tree.match(namespace, data[: limit * TOKEN_BYTES]), data)
            lease.announced = data[: len(data) - len(data) % self.tree.stride]
            announce(lease, self.tree.stride)
        else:
            self.tree.hold_path([lease.tip])
        self._count_hit(lease.length, len(tokens), resumed)
        return lease

    def extend(self, lease: Lease, num_tokens: int) -> None:
        """Make the next `num_tokens` slots after `lease.length` writable: call it before each step that writes.

        Adds blocks to the table. A partial tail that others can read (the tree, a fork, unless this lease is its last
        holder) is replaced by a fresh block and a queued copy. A lease on hold is in use again. Raises OutOfBlocks when
        evicting and revoking would not give enough blocks; nothing has changed then.
        """
        self._check_live(lease)
        used, tail_tokens = divmod(lease.length, self.block_size)
        missing = max(0, -(-(lease.length + num_tokens) // self.block_size) - len(lease.block_table))
        copy_tail = num_tokens > 0 and tail_tokens > 0 and self._blocks.tail_shared(lease)
        blocks = self._allocate(missing + copy_tail, lease)
        self._revocable.discard(lease)
        if copy_tail:
            self._blocks.replace_tail(lease, used, tail_tokens, blocks.pop())
        lease.block_table += blocks
        lease.writing = lease.writing or num_tokens > 0

    def commit(self, lease: Lease, tokens: TokenArray) -> None:
        """The KV of `tokens`, those after `lease.length`, has been computed: the length grows, whole blocks are shared.

        Where the tree already has a block's tokens the lease adopts the tree's block and its own is freed, in one
        operation. Mutates the block table then. Raises ValueError when `extend` did not make room. O(1) while no
        block is filled, else O(new blocks) and one copy of a label of bounded length (GROWN_BLOCKS).
        """
        self._check_live(lease)
        if not tokens:
            return
        self._check_writable(lease, len(tokens))
        self._revocable.discard(lease)
        data = lease.tail + tokens.tobytes()
        whole = len(data) - len(data) % self.tree.stride
        if whole:
            self._blocks.publish(lease, data[:whole])
        lease.tail = data[whole:]
        lease.length += len(tokens)
        lease.writing = False

    def fork(self, lease: Lease, count: int, *, owner: str) -> list[Lease]:
        """`count` more leases on the same tokens. Mutates hold counts only; allocates nothing. O(path + blocks) a fork.

        The private partial tail is shared until somebody writes to it: `extend` gives a copy to all but its last
        holder. A fork has no reserved blocks, announces nothing and is not on hold. Raises ValueError between `extend`
        and `commit` when there is a private tail, for a step may be writing to it (`truncate` to the present length
        calls that off), and for a count below 1.
        """
        self._check_live(lease)
        if count < 1:
            raise ValueError(f"fork of lease {lease.lease_id}: got count {count}, expected at least 1")
        used, tail_tokens = divmod(lease.length, self.block_size)
        private_tail = tail_tokens > 0 and lease.tree_blocks == used
        if private_tail and lease.writing:
            raise ValueError(f"lease {lease.lease_id}: fork between extend and commit; commit or truncate it first")
        self.tree.hold_path(self.tree.path(lease.tip), count)
        if private_tail:
            self.pool.share(lease.block_table[used], count)
        return [self._fork_once(lease, owner) for _ in range(count)]

    def truncate(self, lease: Lease, length: int) -> None:
        """Forget the tokens from `length` on, and give back reserved blocks. What was published stays cached.

        Mutates the lease and may split a node. Ends its announcement when it gets shorter. Raises ValueError above
        `lease.length`. O(blocks given up).
        """
        self._check_live(lease)
        if not 0 <= length <= lease.length:
            raise ValueError(f"truncate of lease {lease.lease_id}: got length {length}, expected 0 to {lease.length}")
        if length < lease.length:
            self._blocks.end_announcement(lease)
        same_block = length // self.block_size == lease.length // self.block_size
        with self._revocable.changing(lease):
            self._blocks.shrink(lease, -(-length // self.block_size))
        tail = lease.tail if same_block else self.tree.last_block(lease.tip)
        lease.tail = tail[: length % self.block_size * TOKEN_BYTES]
        lease.length, lease.writing = length, False

    def hold(self, lease: Lease, *, reason: str = "hold") -> None:
        """Keep the KV of a sequence that pauses: reserved blocks go back and the tail is published too.

        From now on the lease is revocable: when the pool is short, such leases are released, oldest hold first, before
        OutOfBlocks is raised; `lease.released` tells. `extend` puts it to use again. A tail that forks
        share stays private. What no look-up can find is not worth keeping: with the cache
        disabled, and after a clear, this is `release`.
        """
        self._check_live(lease)
        if self.tree.path(lease.tip)[0].detached:
            self.release(lease)
            return
        self._revocable.discard(lease)
        self._blocks.end_announcement(lease)
        self._blocks.shrink(lease, -(-lease.length // self.block_size))
        self._blocks.publish_tail(lease)
        lease.writing, lease.reason = False, reason
        self._revocable.add(lease)

    def release(self, lease: Lease, *, publish_tail: bool = True) -> None:
        """End a lease at any moment; again is harmless. What it computed stays cached, unless told so without its tail.

        Mutates: the block table is emptied. O(path nodes + private blocks).
        """
        if lease.released:
            return
        self._check_live(lease)
        self._revocable.discard(lease)
        self._blocks.end_announcement(lease)
        if publish_tail:
            self._blocks.publish_tail(lease)
        for block in lease.block_table[lease.tree_blocks :]:
            self.pool.drop(block)
        self.tree.release_path(lease.tip)
        lease.block_table.clear()
        lease.released = True
        del self.leases[lease.lease_id]

    def take_copies(self) -> tuple[BlockCopy, ...]:
        """All copies queued since the last call. Run them, in order, before any KV write of the next step.

        By that rule neither source nor target need be kept from reuse: what is written to them is written later. A copy
        whose target has been freed since is left out, unless a later one reads that target.
        """
        return self.pool.take_copies()

    def evict(self, num_blocks: int) -> int:
        """Free up to `num_blocks` cached blocks that nobody holds; returns how many were freed."""
        return self.tree.evict(num_blocks)

    def clear(self, namespace: Namespace | None = None) -> int:
        """Forget what is cached, of one namespace or all; returns the blocks freed. Never fails.

        What leases hold is detached: it stays theirs, no look-up finds it, and it is freed with them. What they
        compute later is not published either. O(nodes cleared).
        """
        before = self.pool.num_free
        for each in list(self.tree.roots) if namespace is None else [namespace]:
            self.tree.clear(each)
        return self.pool.num_free - before

    def explain(self, tokens: TokenArray, namespace: Namespace) -> Explanation:
        """What is cached of `tokens` and where they part from the nearest cached prefix. Mutates nothing."""
        data = tokens.tobytes()
        match = self.tree.match(namespace, data) if self.enabled else None
        matched = match.tokens if match else 0
        found = self.lookup(tokens, namespace)
        diverges = matched < len(tokens)
        return Explanation(
            prompt_tokens=len(tokens),
            cached_tokens=found.hit_tokens,
            computed_tokens=len(tokens) - found.hit_tokens,
            in_flight_tokens=found.in_flight_tokens,
            divergence=matched if diverges else None,
            prompt_token=tokens[matched] if diverges else None,
            cached_token=_next_token(match.edge) if match and match.edge and diverges else None,
        )

    def stats(self) -> CacheStats:
        """A snapshot of blocks, leases and cumulative counters. O(1)."""
        counters = self._counters
        free, cached = self.pool.num_free, self.tree.evictable_blocks
        return CacheStats(
            total_blocks=self.pool.num_blocks,
            free_blocks=free,
            held_blocks=self.pool.num_blocks - free - cached,
            cached_blocks=cached,
            cached_tokens=self.tree.num_tokens,
            leases=len(self.leases),
            revocable_leases=len(self._revocable),
            hit_tokens=counters.hit_tokens,
            miss_tokens=counters.miss_tokens,
            resumed_hit_tokens=counters.resumed_hit_tokens,
            resumed_miss_tokens=counters.resumed_miss_tokens,
            evicted_blocks=self.tree.evicted_blocks,
            adopted_blocks=counters.adopted_blocks,
            copies=counters.queued_copies,
            leases_made=counters.leases_made,
            revoked_leases=counters.revoked_leases,
        )

    def check_integrity(self) -> None:
        """Raise AssertionError, with every lease and its blocks, unless all books agree. O(everything): for tests."""
        check_cache(self.pool, self.tree, self.leases, self._revocable.by_id)

    def _hit_limit(self, tokens: TokenArray, max_hit: int | None) -> int:
        if max_hit is not None and max_hit < 0:
            raise ValueError(f"max_hit: got {max_hit}, expected at least 0 tokens")
        limit = max(0, len(tokens) - 1)
        return limit if max_hit is None else min(limit, max_hit)

    def _check_live(self, lease: Lease) -> None:
        if lease.released:
            raise LeaseReleased(lease.lease_id, lease.owner)
        if self.leases.get(lease.lease_id) is not lease:
            raise ValueError(f"lease {lease.lease_id} of {lease.owner!r} is not of this cache")

    def _check_writable(self, lease: Lease, num_tokens: int) -> None:
        capacity = len(lease.block_table) * self.block_size
        if lease.length + num_tokens > capacity:
            raise ValueError(
                f"commit of lease {lease.lease_id}: {num_tokens} tokens after {lease.length} do not fit its "
                f"{capacity} slots; call extend before the step"
            )
        if lease.tail and (
            self._blocks.tail_shared(lease) or self.pool.awaits_copy(lease.block_table[lease.tree_blocks])
        ):
            raise ValueError(
                f"commit of lease {lease.lease_id}: its tail block is shared or not copied yet; "
                "call extend and run take_copies before the step"
            )

    def _new_lease(self, namespace: Namespace, owner: str, reason: str) -> Lease:
        root = self.tree.root(namespace) if self.enabled else self.tree.detached_root(namespace)
        return self._register(Lease(self._counters.leases_made, owner, reason, namespace, root))

    def _register(self, lease: Lease) -> Lease:
        self._counters.leases_made += 1
        self.leases[lease.lease_id] = lease
        return lease

    def _fork_once(self, lease: Lease, owner: str) -> Lease:
        fork = Lease(self._counters.leases_made, owner, lease.reason, lease.namespace, lease.tip, lease.length)
        fork.block_table = lease.block_table[: -(-lease.length // self.block_size)]
        fork.tree_blocks, fork.tail = lease.tree_blocks, lease.tail
        return self._register(fork)

    def _take_hit(self, lease: Lease, match: Match | None, data: bytes) -> None:
        """Hold what matched, then copy the part of a block that matched beyond it."""
        path = match.path if match else [lease.tip]
        edge = match.edge if match else None
        whole, rest = divmod(edge.common, self.tree.stride) if edge else (0, 0)
        if edge and whole:
            path.append(self.tree.split(edge.node, whole))
        self.tree.hold_path(path)
        for node in path:
            lease.block_table += node.blocks
        lease.tip, lease.tree_blocks = path[-1], len(lease.block_table)
        lease.length = lease.tree_blocks * self.block_size
        if edge and rest:
            start = lease.length * TOKEN_BYTES
            self._copy_part(lease, edge.node, data[start : start + rest])

    def _copy_part(self, lease: Lease, node: RadixNode, tail: bytes) -> None:
        """Add a fresh block with the KV of `tail`, with which the first block of `node` begins, if one can be had."""
        source = node.blocks[0]
        node.last_used = lease.tip.last_used
        self.tree.hold(node)  # or making room might evict it
        try:
            target = self._allocate(1, lease)[0]
        except OutOfBlocks:
            return
        else:
            self._blocks.queue_copy(source, target, len(tail) // TOKEN_BYTES)
            lease.block_table.append(target)
            lease.tail = tail
            lease.length += len(tail) // TOKEN_BYTES
        finally:
            self.tree.release_between(node, lease.tip)

    def _count_hit(self, hit: int, total: int, resumed: bool) -> None:
        if resumed:
            self._counters.resumed_hit_tokens += hit
            self._counters.resumed_miss_tokens += total - hit
        else:
            self._counters.hit_tokens += hit
            self._counters.miss_tokens += total - hit

    def _allocate(self, count: int, lease: Lease) -> list[int]:
        """Blocks for `lease`: free ones, then evicted ones, then those of revocable leases. Raises OutOfBlocks."""
        if count > self.pool.num_free:
            self._reclaim(count, lease)
        return self.pool.allocate(count)

    def _reclaim(self, count: int, keep: Lease) -> None:
        """Bring the free blocks up to `count`: evict, then revoke the oldest holds, no more of either than needed.

        Raises OutOfBlocks, before anything has changed, where that would not be enough.
        """
        pool = self.pool
        if not self._revocable.can_free(count, keep):
            raise OutOfBlocks(count, pool.num_free, self.tree.evictable_blocks)
        self.evict(count - pool.num_free)
        for lease in list(self._revocable.by_id.values()) if pool.num_free < count else ():
            if lease is not keep:
                self.release(lease)
                self._counters.revoked_leases += 1
                self.evict(count - pool.num_free)
            if pool.num_free >= count:
                return


def _next_token(edge: Edge) -> int | None:
    rest = edge.node.label[edge.common : edge.common + TOKEN_BYTES]
    return array("i", rest)[0] if rest else None
