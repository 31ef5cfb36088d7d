"""Checks that all books of the cache agree. Slow on purpose: every derived number is computed anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from radixkv.cache.block_pool import FREE, TREE, BlockPool
from radixkv.cache.lease import Lease
from radixkv.cache.radix_node import TOKEN_BYTES, RadixNode
from radixkv.cache.radix_tree import RadixTree


def check_cache(pool: BlockPool, tree: RadixTree, leases: Mapping[int, Lease], revocable: Mapping[int, Lease]) -> None:
    """Raise AssertionError, with the owners dumped, unless pool, tree and leases agree. Mutates nothing."""
    try:
        pool.check_integrity()
        attached = [node for root in tree.roots.values() for node in tree.nodes(root)]
        reached = _reached(attached, tree, leases)
        _check_blocks(pool, reached, leases)
        _check_holds(tree, reached, leases, revocable)
        for lease in leases.values():
            _check_lease(lease, tree, pool)
        for node in reached:
            _check_node(node, tree)
        _check_attached(attached, reached, tree)
        _check_announcements(reached, tree, leases)
        assert all(leases.get(lease_id) is lease for lease_id, lease in revocable.items()), "a revocable lease is gone"
    except AssertionError as error:
        raise AssertionError(f"{error}\n{dump(pool, tree, leases)}") from error


def dump(pool: BlockPool, tree: RadixTree, leases: Mapping[int, Lease]) -> str:
    """Who has which block, as text: every lease, every node, every queued copy."""
    lines = [
        f"lease {lease.lease_id} of {lease.owner!r} ({lease.reason}): length {lease.length}, "
        f"table {lease.block_table}, {lease.tree_blocks} of the tree"
        for lease in leases.values()
    ]
    lines += [f"namespace {namespace}" for namespace in tree.roots]
    for node in _reached([n for root in tree.roots.values() for n in tree.nodes(root)], tree, leases):
        state = "detached" if node.detached else "attached"
        lines.append(f"node {len(node.label) // TOKEN_BYTES} tokens, blocks {node.blocks}, {node.holds} holds, {state}")
    owners = {FREE: "free", TREE: "tree"}
    lines.append("owners " + " ".join(f"{b}:{owners.get(o := pool.owner(b), o)}" for b in range(pool.num_blocks)))
    lines.append(f"copies {pool.queued_copies()}")
    return "\n".join(lines)


def _reached(attached: list[RadixNode], tree: RadixTree, leases: Mapping[int, Lease]) -> list[RadixNode]:
    """Every node: those that a look-up finds and the detached ones above leases' tips."""
    nodes = dict.fromkeys(attached)
    for lease in leases.values():
        nodes.update(dict.fromkeys(tree.path(lease.tip)))
    return list(nodes)


def _check_blocks(pool: BlockPool, nodes: list[RadixNode], leases: Mapping[int, Lease]) -> None:
    in_tree = Counter(block for node in nodes for block in node.blocks)
    private = Counter(block for lease in leases.values() for block in lease.block_table[lease.tree_blocks :])
    for block in range(pool.num_blocks):
        owner = pool.owner(block)
        assert in_tree[block] == (owner == TREE), f"block {block}: in {in_tree[block]} nodes, owner record {owner}"
        assert private[block] == max(owner, 0), f"block {block}: private to {private[block]} leases, record {owner}"


def _check_holds(
    tree: RadixTree, nodes: list[RadixNode], leases: Mapping[int, Lease], revocable: Mapping[int, Lease]
) -> None:
    holds = Counter(node for lease in leases.values() for node in tree.path(lease.tip))
    idle = Counter(node for lease in revocable.values() for node in tree.path(lease.tip))
    for node in nodes:
        assert node.holds == holds[node], f"blocks {node.blocks}: {node.holds} holds, expected {holds[node]}"
        assert node.idle == idle[node], f"blocks {node.blocks}: {node.idle} holds may be revoked, expected {idle[node]}"
    used = sum(len(node.blocks) for node in nodes if node.holds > node.idle)
    assert tree.used_blocks == used, f"{tree.used_blocks} blocks of the tree in use, expected {used}"
    held = sum(len(node.blocks) for node in nodes if node.holds)
    assert tree.held_blocks == held, f"{tree.held_blocks} held blocks of the tree, expected {held}"


def _check_lease(lease: Lease, tree: RadixTree, pool: BlockPool) -> None:
    name, block_size = f"lease {lease.lease_id}", tree.stride // TOKEN_BYTES
    path = tree.path(lease.tip)
    blocks = [block for node in path for block in node.blocks]
    used, tail_tokens = divmod(lease.length, block_size)
    assert not lease.released, f"{name} is released"
    assert lease.block_table[: lease.tree_blocks] == blocks, f"{name}: its path has blocks {blocks}"
    assert lease.tree_blocks in (used, used + (tail_tokens > 0)), f"{name}: whole blocks are not in the tree"
    assert len(lease.block_table) >= used + (tail_tokens > 0), f"{name}: the block table is too short"
    assert len(lease.tail) == tail_tokens * TOKEN_BYTES, f"{name}: tokens of the tail"
    label = b"".join(node.label for node in path)
    if lease.tree_blocks > used:
        assert label.startswith(lease.tail, used * tree.stride), f"{name}: the tree has another tail"
    else:
        assert len(label) == used * tree.stride, f"{name}: its tip does not end at a block border"
    reserved = lease.block_table[used + 1 :]
    assert all(pool.owner(block) == 1 for block in reserved), f"{name}: a reserved block is shared"


def _check_node(node: RadixNode, tree: RadixTree) -> None:
    stride, name = tree.stride, f"node with blocks {node.blocks}"
    assert len(node.blocks) == -(-len(node.label) // stride), f"{name}: {len(node.label)} bytes of tokens"
    assert node.label or node.parent is None, f"{name}: empty"
    assert not node.children or len(node.label) % stride == 0, f"{name}: children below a partial block"
    assert node.keys == [child.label[:stride] for child in node.children], f"{name}: keys"
    assert all(child.parent is node for child in node.children), f"{name}: parents"
    pairs = list(zip(node.keys, node.keys[1:], strict=False))
    assert all(a < b and not b.startswith(a) for a, b in pairs), f"{name}: children's keys {node.keys}"
    assert all(child.last_used <= node.last_used for child in node.children), f"{name}: older than its child"
    assert not node.detached or node.holds, f"{name}: detached and held by nobody"
    assert not node.detached or all(child.detached for child in node.children), f"{name}: attached children"


def _check_attached(attached: list[RadixNode], reached: list[RadixNode], tree: RadixTree) -> None:
    found = set(attached)
    assert all(node.detached != (node in found) for node in reached), "a detached node is found, or another one is not"
    tokens = sum(len(node.label) for node in attached) // TOKEN_BYTES
    assert tree.num_tokens == tokens, f"{tree.num_tokens} cached tokens, expected {tokens}"
    tree.order.check_integrity({n for n in attached if n.parent is not None and not n.holds and not n.keys})
    assert all(root.holds or root.keys for root in tree.roots.values()), "an empty root is kept"


def _check_announcements(nodes: list[RadixNode], tree: RadixTree, leases: Mapping[int, Lease]) -> None:
    listed = [
        (lease, node, chunk) for node in nodes for chunk, owners in (node.announced or {}).items() for lease in owners
    ]
    announcing = [lease for lease in leases.values() if lease.announced is not None]
    assert sorted(entry[0].lease_id for entry in listed) == sorted(lease.lease_id for lease in announcing), "announced"
    for lease, node, chunk in listed:
        start = lease.tree_blocks * tree.stride
        assert lease.tip is node, f"lease {lease.lease_id}: announced away from its tip"
        assert lease.announced is not None
        assert lease.announced[start : start + tree.stride] == chunk, f"lease {lease.lease_id}: announced tokens"
        assert len(chunk) == tree.stride, f"lease {lease.lease_id}: announced part of a block"
