"""The radix tree: prefix of tokens -> blocks, one root per namespace.

Shape (docs/decisions/0003-radix-tree-shape.md):
- A node's label is a run of tokens as bytes (4 a token), so comparing is memcmp and slicing is memcpy. It starts at a
  block border and comes with its blocks; only the last block of a leaf may be partial.
- A node keeps its children sorted by their first block's tokens (`keys`). No key is a prefix of a sibling's, so the
  child that shares most tokens with a query is next to the query's place in that order: one bisection.
- A hold counts on every node from a lease's tip up to the root. What nobody holds can be evicted, leaves first; what
  only leases on hold have (`holds == idle`) can be evicted once they are revoked.
- A node that was cut off (cleared, or displaced by a fuller block) while held is `detached`: no look-up
  finds it, and its blocks are freed with its last hold. What is published below it is detached too.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

from radixkv.cache.block_pool import BlockPool
from radixkv.cache.eviction import EvictionOrder, EvictionPolicy
from radixkv.cache.radix_node import TOKEN_BYTES, Edge, Inserted, Match, RadixNode, common_prefix
from radixkv.request import Namespace

GROWN_BLOCKS: Final = 256  # a leaf of so many blocks grows no more, so that growing copies a label of bounded length


class RadixTree:
    """All namespaces' trees over one block pool, with holds, recency and eviction."""

    def __init__(self, pool: BlockPool, block_size: int, policy: EvictionPolicy) -> None:
        self.pool = pool
        self.stride = block_size * TOKEN_BYTES  # bytes of a whole block's tokens
        self.roots: dict[Namespace, RadixNode] = {}
        self.order = EvictionOrder(policy)
        self.num_tokens = 0  # that a look-up can find
        self.held_blocks = 0  # blocks of held nodes, detached ones included
        self.used_blocks = 0  # of them: those that a lease in use holds, which cannot be revoked
        self.clock = 0
        self.evicted_blocks = 0  # ever

    @property
    def evictable_blocks(self) -> int:
        """Blocks that nobody holds; below an unheld node nothing is held, so all of them can go."""
        return self.pool.num_tree - self.held_blocks

    @property
    def idle_blocks(self) -> int:
        """Blocks that no lease in use holds: those that can be evicted now or once leases on hold are revoked."""
        return self.pool.num_tree - self.used_blocks

    def match(self, namespace: Namespace, data: bytes) -> Match | None:
        """The longest match of `data`, None where the namespace is empty. Mutates nothing. O(path log children)."""
        node = self.roots.get(namespace)
        if node is None:
            return None
        path, start, end, stride = [node], 0, len(data), self.stride
        while start < end:
            index = bisect_right(node.keys, data[start : start + stride])
            if not index:
                break
            child = node.children[index - 1]
            label = child.label
            if len(label) % stride or not data.startswith(label, start):
                break
            path.append(child)
            start += len(label)
            node = child
        return Match(path, start, self.nearest(node, data, start) if start < end else None)

    def used_on(self, match: Match) -> int:
        """Whole blocks of a match that a lease in use holds. O(path)."""
        blocks = sum([len(node.blocks) for node in match.path if node.holds > node.idle])
        edge = match.edge
        return blocks + (edge.common // self.stride if edge and edge.node.holds > edge.node.idle else 0)

    def nearest(self, node: RadixNode, data: bytes, start: int) -> Edge | None:
        """The child of `node` that shares most tokens with `data[start:]`, None without children. Mutates nothing."""
        keys = node.keys
        chunk = data[start : start + self.stride]
        index = bisect_right(keys, chunk)
        before = common_prefix(keys[index - 1], chunk, 0) if index else 0
        after = common_prefix(keys[index], chunk, 0) if index < len(keys) else 0
        if index and (before >= after or index == len(keys)):
            index -= 1
        elif index == len(keys):
            return None
        child = node.children[index]
        return Edge(child, common_prefix(child.label, data, start))

    def root(self, namespace: Namespace) -> RadixNode:
        """The root of a namespace, made when it is new; forgotten again when nothing is below it or held."""
        found = self.roots.get(namespace)
        if found is None:
            found = self.roots[namespace] = RadixNode(None, b"", [], namespace)
        return found

    def detached_root(self, namespace: Namespace) -> RadixNode:
        """A root that no look-up finds: for leases that share with their own forks alone."""
        root = RadixNode(None, b"", [], namespace)
        root.detached = True
        return root

    def split(self, node: RadixNode, num_blocks: int) -> RadixNode:
        """Cut a node after `num_blocks` whole blocks; returns the new upper part. Mutates the tree, not what it has.

        The node itself stays as the lower part, so tips, announcements and the place in the eviction order stay true.
        """
        parent, cut = node.parent, num_blocks * self.stride
        assert parent is not None, "a root has nothing to split"
        assert 0 < num_blocks < len(node.blocks), "both parts need a block"
        upper = RadixNode(parent, node.label[:cut], node.blocks[:num_blocks], node.namespace)
        upper.holds, upper.idle = node.holds, node.idle
        upper.last_used, upper.detached = node.last_used, node.detached
        parent.children[bisect_left(parent.keys, self._key(node))] = upper
        node.parent, node.label, node.blocks = upper, node.label[cut:], node.blocks[num_blocks:]
        upper.keys.append(self._key(node))
        upper.children.append(node)
        return upper

    def insert(self, tip: RadixNode, data: bytes, blocks: list[int]) -> Inserted:
        """Publish `blocks`, private to one lease that holds `tip`, whose tokens are `data`, below `tip`.

        The last block may be partial. Where the tree has the tokens already its own blocks are taken instead, and the
        caller keeps and must drop those that were not used. A partial block that is a prefix of a new one is displaced.
        Mutates the tree; every node from `tip` down to the returned tip is held once more.
        """
        canonical: list[int] = []
        while len(canonical) < len(blocks):
            start = len(canonical) * self.stride
            edge = self.nearest(tip, data, start)
            shared = self._shared_blocks(edge, len(data) - start)
            if edge is None or not shared:
                if edge is not None and edge.common == len(edge.node.label):
                    self._displace(edge.node)
                new = blocks[len(canonical) :]
                tip = self._append(tip, data[start:], new)
                canonical += new
                break
            tip = self.split(edge.node, shared) if shared < len(edge.node.blocks) else edge.node
            self.hold(tip)
            canonical += tip.blocks
        return Inserted(tip, canonical)

    def hold(self, node: RadixNode, count: int = 1) -> None:
        """Hold one node `count` times more; its ancestors must be held already."""
        if node.holds == node.idle:
            self._now_used(node)
        node.holds += count

    def hold_path(self, path: list[RadixNode], count: int = 1) -> None:
        """Hold a path from its root and refresh its recency. O(path)."""
        self.clock += 1
        for node in path:
            if node.holds == node.idle:
                self._now_used(node)
            node.holds += count
            node.last_used = self.clock

    def release_path(self, tip: RadixNode) -> None:
        """Give up one hold, of a lease in use, on the path to `tip` and refresh its recency. O(path)."""
        self.clock += 1
        node: RadixNode | None = tip
        while node is not None:
            parent = node.parent
            node.last_used = self.clock
            node.holds -= 1
            if node.holds == node.idle:
                self._now_idle(node)
            node = parent

    def rest_path(self, tip: RadixNode) -> None:
        """A lease in use that holds the path to `tip` may be revoked from now on. O(path)."""
        for node in self.path(tip):
            node.idle += 1
            if node.holds == node.idle:
                self.used_blocks -= len(node.blocks)

    def use_path(self, tip: RadixNode) -> None:
        """Undo `rest_path`. O(path)."""
        for node in self.path(tip):
            if node.holds == node.idle:
                self.used_blocks += len(node.blocks)
            node.idle -= 1

    def release_node(self, node: RadixNode) -> None:
        """Give up one hold, of a lease in use, on one node, the lowest that its lease holds."""
        node.holds -= 1
        if node.holds == node.idle:
            self._now_idle(node)

    def release_between(self, node: RadixNode, above: RadixNode) -> None:
        """Give up one hold on each node from `node` up to, but without, its ancestor `above`."""
        current: RadixNode | None = node
        while current is not None and current is not above:
            parent = current.parent
            self.release_node(current)
            current = parent

    def path(self, tip: RadixNode) -> list[RadixNode]:
        """The nodes from the root to `tip`."""
        nodes: list[RadixNode] = []
        node: RadixNode | None = tip
        while node is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    def last_block(self, node: RadixNode) -> bytes:
        """The tokens of a node's last block; none of a root."""
        return node.label[max(0, len(node.blocks) - 1) * self.stride :]

    def evict(self, num_blocks: int) -> int:
        """Free `num_blocks` of unheld leaves, deepest first, or all there are; returns how many.

        O(log candidates) a leaf and O(1) a block.
        """
        freed = 0
        while freed < num_blocks:
            leaf = self.order.first()
            if leaf is None:
                break
            count = min(num_blocks - freed, len(leaf.blocks))
            victims = leaf.blocks[: -count - 1 : -1]
            if count == len(leaf.blocks):
                self._remove(leaf)
            else:
                self._shorten(leaf, count)
            self.pool.free_tree(victims)
            freed += count
        self.evicted_blocks += freed
        return freed

    def clear(self, namespace: Namespace) -> None:
        """Forget a namespace: unheld nodes are freed, held ones detached. O(nodes of the namespace)."""
        root = self.roots.pop(namespace, None)
        if root is None:
            return
        for node in list(self.nodes(root)):
            self.num_tokens -= len(node.label) // TOKEN_BYTES
            node.detached = True
            if not node.holds:
                self.order.discard(node)
                self.pool.free_tree(node.blocks)
            kept = [child for child in node.children if child.holds]
            node.children, node.keys = kept, [self._key(child) for child in kept]

    def nodes(self, root: RadixNode) -> Iterator[RadixNode]:
        """Every node of a tree, parents first."""
        stack = [root]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.children)

    def _key(self, node: RadixNode) -> bytes:
        return node.label[: self.stride]

    def _shared_blocks(self, edge: Edge | None, length: int) -> int:
        """Blocks of `edge` whose tokens begin with ours; of the last, partial one a fuller block is as good."""
        if edge is None:
            return 0
        return 1 if edge.common == length < self.stride else edge.common // self.stride

    def _append(self, tip: RadixNode, label: bytes, blocks: list[int]) -> RadixNode:
        self.pool.publish(blocks)
        self.held_blocks += len(blocks)
        self.used_blocks += len(blocks)
        if not tip.detached:
            self.num_tokens += len(label) // TOKEN_BYTES
        if (
            tip.holds == 1 and 0 < len(tip.blocks) < GROWN_BLOCKS and not tip.keys
        ):  # nobody else has this leaf: it grows
            tip.label += label
            tip.blocks += blocks
            return tip
        node = RadixNode(tip, label, blocks, tip.namespace)
        node.holds, node.last_used, node.detached = 1, tip.last_used, tip.detached
        index = bisect_left(tip.keys, self._key(node))
        tip.keys.insert(index, self._key(node))
        tip.children.insert(index, node)
        return node

    def _displace(self, leaf: RadixNode) -> None:
        """Take out a partial leaf that a fuller block replaces."""
        if not leaf.holds:
            self._remove(leaf)
            self.pool.free_tree(leaf.blocks)
            return
        self._unlist(leaf)
        if not leaf.detached:
            self.num_tokens -= len(leaf.label) // TOKEN_BYTES
            leaf.detached = True

    def _now_used(self, node: RadixNode) -> None:
        """Nobody held the node, or only leases on hold; the caller adds a hold of a lease in use."""
        self.used_blocks += len(node.blocks)
        if not node.holds:
            self.held_blocks += len(node.blocks)
            self.order.discard(node)

    def _now_idle(self, node: RadixNode) -> None:
        """The last hold of a lease in use is gone from the node."""
        self.used_blocks -= len(node.blocks)
        if node.holds:
            return
        self.held_blocks -= len(node.blocks)
        if node.detached:
            self._unlist(node)
            self.pool.free_tree(node.blocks)
        else:
            self._consider(node)

    def _consider(self, node: RadixNode) -> None:
        """Let an attached node that lost its last hold or child be evicted, or, as a root, be forgotten."""
        if node.holds or node.keys:
            return
        if node.parent is None:
            del self.roots[node.namespace]
        else:
            self.order.add(node)

    def _remove(self, leaf: RadixNode) -> None:
        self.num_tokens -= len(leaf.label) // TOKEN_BYTES
        self.order.discard(leaf)
        parent = leaf.parent
        assert parent is not None, "a root is no leaf"
        self._unlist(leaf)
        self._consider(parent)

    def _shorten(self, leaf: RadixNode, num_blocks: int) -> None:
        kept = leaf.label[: (len(leaf.blocks) - num_blocks) * self.stride]
        self.num_tokens -= (len(leaf.label) - len(kept)) // TOKEN_BYTES
        leaf.label = kept
        del leaf.blocks[-num_blocks:]

    def _unlist(self, node: RadixNode) -> None:
        parent = node.parent
        if parent is None:
            return
        index = bisect_left(parent.keys, self._key(node))
        if index < len(parent.children) and parent.children[index] is node:  # a displaced leaf is not listed any more
            del parent.keys[index], parent.children[index]
