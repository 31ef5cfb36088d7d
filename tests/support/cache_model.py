"""A plain model of the prefix cache that also simulates the KV contents, to check the real one against.

Slots hold (namespace, all tokens up to and including this one), written when a token is "computed" and copied by queued
copies. So a hit on a slot that does not hold exactly the right prefix is caught, whatever went wrong before. What is
cached is a set of prefixes per namespace; nothing here knows of nodes, edges or holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from radixkv.cache import Lease, PrefixCache
from radixkv.errors import OutOfBlocks
from radixkv.request import Namespace
from radixkv.tokens import TokenArray, token_array

Content = tuple[Namespace, bytes]


def token_ids(tokens: bytes) -> TokenArray:
    """A token id for each byte; all share their lowest byte, so that common bytes are not yet a common token."""
    return token_array(byte * 256 + 1 for byte in tokens)


@dataclass(eq=False)
class ModelLease:
    """What a lease should be: its tokens (one byte each), whether it publishes, what it has announced."""

    lease: Lease
    namespace: Namespace
    tokens: bytes
    publishes: bool = True
    announced: bytes = b""
    writing: bool = False


class CheckedCache:
    """A PrefixCache and its model, driven together. `check` compares all that can be seen."""

    def __init__(self, num_blocks: int, block_size: int, *, enabled: bool = True) -> None:
        self.cache = PrefixCache(num_blocks, block_size, enabled=enabled)
        self.block_size = block_size
        self.enabled = enabled
        self.slots: dict[int, Content] = {}
        self.cached: dict[Namespace, set[bytes]] = {}
        self.leases: list[ModelLease] = []
        self.counted = 0  # tokens of all acquires
        self.seen = self.cache.stats()

    def hit(self, tokens: bytes, namespace: Namespace, limit: int) -> int:
        known = self.cached.get(namespace, set())
        return next((n for n in range(min(limit, len(tokens)), 0, -1) if tokens[:n] in known), 0)

    def in_flight(self, tokens: bytes, namespace: Namespace, limit: int) -> int:
        ends = [0]
        for model in self.leases:
            if not model.publishes or model.namespace != namespace:
                continue
            ahead = self.whole(model.lease.length) + self.block_size
            if ahead <= len(model.announced) and tokens[:ahead] == model.announced[:ahead]:
                ends.append(_common(tokens, model.announced))
        return max(0, min(max(ends), limit) - self.hit(tokens, namespace, limit))

    def whole(self, length: int) -> int:
        return length - length % self.block_size

    def acquire(self, tokens: bytes, namespace: Namespace, max_hit: int | None = None) -> ModelLease:
        limit = len(tokens) - 1 if max_hit is None else min(len(tokens) - 1, max_hit)
        hit = self.hit(tokens, namespace, limit)
        ids = token_ids(tokens)
        lookup = self.cache.lookup(ids, namespace, max_hit)
        assert (lookup.hit_tokens, lookup.in_flight_tokens) == (hit, self.in_flight(tokens, namespace, limit))
        self.explain(tokens, namespace)
        lease = self.cache.acquire(ids, namespace, owner="model", max_hit=max_hit)
        if lease.length != hit:
            assert lease.length == self.whole(hit), "a hit is exact to the token, or to the block when there is no room"
            assert self.cache.stats().free_blocks == 0
        announced = tokens[: self.whole(len(tokens))] if self.enabled else b""
        model = ModelLease(lease, namespace, tokens[: lease.length], self.enabled, announced)
        self.leases.append(model)
        self.counted += len(tokens)
        return model

    def explain(self, tokens: bytes, namespace: Namespace) -> None:
        known = self.cached.get(namespace, set())
        hit = self.hit(tokens, namespace, len(tokens))
        told = self.cache.explain(token_ids(tokens), namespace)
        assert told.cached_tokens == min(hit, len(tokens) - 1)
        assert told.cached_tokens + told.computed_tokens == told.prompt_tokens == len(tokens)
        assert told.divergence == (hit if hit < len(tokens) else None)
        if told.cached_token is not None:
            assert told.prompt_token == token_ids(tokens)[hit] != told.cached_token
            assert tokens[:hit] + bytes([told.cached_token >> 8]) in known
        elif told.divergence is not None:
            assert not any(len(prefix) == hit + 1 and prefix.startswith(tokens[:hit]) for prefix in known)

    def extend(self, model: ModelLease, num_tokens: int) -> bool:
        """Whether there was room."""
        lease = model.lease
        before = list(lease.block_table)
        try:
            self.cache.extend(lease, num_tokens)
        except OutOfBlocks:
            assert lease.block_table == before, "out of blocks, then nothing has changed"
            return False
        assert len(lease.block_table) * self.block_size >= lease.length + num_tokens
        model.writing = model.writing or num_tokens > 0
        return True

    def step(self, work: list[tuple[ModelLease, bytes]]) -> None:
        """One step of the engine: extend all, run the copies, write all KV, commit all."""
        ready = [(model, new) for model, new in work if not model.lease.released and self.extend(model, len(new))]
        ready = [(model, new) for model, new in ready if not model.lease.released]
        self.run_copies()
        for model, new in ready:
            self.write(model, new)
        for model, new in ready:
            self.cache.commit(model.lease, token_ids(new))
            self.committed(model, new)

    def write(self, model: ModelLease, new: bytes) -> None:
        tokens = model.tokens + new
        for position in range(len(model.tokens), len(tokens)):
            slot = self.slot(model.lease, position)
            self.slots[slot] = (model.namespace, tokens[: position + 1])

    def committed(self, model: ModelLease, new: bytes) -> None:
        model.tokens += new
        model.writing = False
        whole = self.whole(len(model.tokens))
        if not model.announced.startswith(model.tokens[:whole]) or whole >= len(model.announced):
            model.announced = b""
        if model.publishes:
            self.publish(model, whole)

    def publish(self, model: ModelLease, length: int) -> None:
        known = self.cached.setdefault(model.namespace, set())
        known.update(model.tokens[:n] for n in range(1, length + 1))

    def run_copies(self) -> None:
        self.slots = self.after_copies()
        self.cache.take_copies()
        assert self.cache.take_copies() == ()

    def after_copies(self) -> dict[int, Content]:
        queued = self.cache.pool.queued_copies()
        if not queued:
            return self.slots
        slots = dict(self.slots)
        for copy in queued:
            for offset in range(copy.tokens):
                slots[copy.target * self.block_size + offset] = slots[copy.source * self.block_size + offset]
        return slots

    def fork(self, model: ModelLease, count: int) -> None:
        try:
            forks = self.cache.fork(model.lease, count, owner="fork")
        except ValueError:
            assert model.writing
            assert len(model.tokens) % self.block_size
            return
        for lease in forks:
            self.leases.append(ModelLease(lease, model.namespace, model.tokens, model.publishes))

    def truncate(self, model: ModelLease, length: int) -> None:
        self.cache.truncate(model.lease, length)
        if length < len(model.tokens):
            model.announced = b""
        model.tokens = model.tokens[:length]
        model.writing = False

    def hold(self, model: ModelLease) -> None:
        tail_goes = self.tail_is_publishable(model)
        self.cache.hold(model.lease)
        if not model.publishes:
            assert model.lease.released, "what no look-up can find is not kept"
            self.leases.remove(model)
            return
        self.ended(model, tail_goes)

    def release(self, model: ModelLease, publish_tail: bool = True) -> None:
        tail_goes = publish_tail and self.tail_is_publishable(model)
        self.cache.release(model.lease, publish_tail=publish_tail)
        self.cache.release(model.lease)  # harmless
        self.leases.remove(model)
        self.ended(model, tail_goes)

    def ended(self, model: ModelLease, tail_goes: bool) -> None:
        model.announced, model.writing = b"", False
        if tail_goes:
            self.publish(model, len(model.tokens))

    def tail_is_publishable(self, model: ModelLease) -> bool:
        if not model.publishes or len(model.tokens) % self.block_size == 0:
            return False
        block = model.lease.block_table[len(model.tokens) // self.block_size]
        return self.cache.pool.owner(block) == 1 and not self.cache.pool.awaits_copy(block)

    def evict(self, num_blocks: int) -> None:
        before = self.cache.stats()
        expected = min(num_blocks, before.cached_blocks)
        freed = self.cache.evict(num_blocks)
        after = self.cache.stats()
        assert freed == expected
        assert freed == after.evicted_blocks - before.evicted_blocks == after.free_blocks - before.free_blocks

    def clear(self, namespace: Namespace | None) -> None:
        self.cache.clear(namespace)
        for model in self.leases:
            if namespace in (None, model.namespace):
                model.publishes, model.announced = False, b""
        for each in list(self.cached):
            if namespace in (None, each):
                del self.cached[each]

    def slot(self, lease: Lease, position: int) -> int:
        return lease.block_table[position // self.block_size] * self.block_size + position % self.block_size

    def check(self) -> None:
        """Everything that can be seen is as it should be."""
        self.cache.check_integrity()
        self.check_counters()
        slots = self.after_copies()
        self.leave_revoked()
        for model in self.leases:
            assert model.lease.length == len(model.tokens)
            for position in range(len(model.tokens)):
                held = slots[self.slot(model.lease, position)]
                assert held == (model.namespace, model.tokens[: position + 1]), "a lease has another prefix's KV"
        found = self.tree_contents(slots)
        known = {namespace: prefixes for namespace, prefixes in self.cached.items() if prefixes}
        stats = self.cache.stats()
        if stats.evicted_blocks == self.seen.evicted_blocks and stats.revoked_leases == self.seen.revoked_leases:
            assert found == known
        else:
            for namespace, prefixes in found.items():
                assert prefixes <= known.get(namespace, set()), "something is cached that was never computed"
            self.cached = found
        self.seen = stats

    def leave_revoked(self) -> None:
        for model in [model for model in self.leases if model.lease.released]:
            self.leases.remove(model)
            if model.publishes:
                self.publish(model, len(model.tokens))  # at most; then blocks were evicted

    def tree_contents(self, slots: dict[int, Content]) -> dict[Namespace, set[bytes]]:
        """Every prefix that the tree has, by a walk of its nodes; the KV in its slots is checked."""
        found: dict[Namespace, set[bytes]] = {}
        for namespace, root in self.cache.tree.roots.items():
            stack = [(child, b"") for child in root.children]
            prefixes = set()
            while stack:
                node, above = stack.pop()
                tokens = above + node.label[1::4]
                for index in range(len(above), len(tokens)):
                    block, offset = divmod(index - len(above), self.block_size)
                    prefix = tokens[: index + 1]
                    held = slots[node.blocks[block] * self.block_size + offset]
                    assert held == (namespace, prefix), "the tree has another prefix's KV"
                    prefixes.add(prefix)
                stack.extend((child, tokens) for child in node.children)
            if prefixes:
                found[namespace] = prefixes
        return found

    def check_counters(self) -> None:
        stats = self.cache.stats()
        assert stats.free_blocks + stats.held_blocks + stats.cached_blocks == stats.total_blocks
        assert stats.hit_tokens + stats.miss_tokens == self.counted
        assert stats.leases == len(self.cache.leases)
        if not stats.leases:
            assert stats.held_blocks == 0, "at idle free + cached = total"
            assert not self.cache.pool.queued_copies()

    def finish(self) -> None:
        """End everything: no block may be left behind."""
        for model in list(self.leases):
            if not model.lease.released:
                self.cache.release(model.lease)
        self.cache.check_integrity()
        stats = self.cache.stats()
        assert stats.free_blocks + stats.cached_blocks == stats.total_blocks
        assert stats.leases == 0
        self.cache.clear()
        self.cache.check_integrity()
        assert self.cache.stats().free_blocks == stats.total_blocks
        assert not self.cache.tree.roots


def _common(left: bytes, right: bytes) -> int:
    return next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
