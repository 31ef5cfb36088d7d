"""Nodes of the radix tree, and what walks over them find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from radixkv.request import Namespace
from radixkv.tokens import NO_TOKENS

if TYPE_CHECKING:
    from radixkv.cache.lease import Lease

TOKEN_BYTES: Final = NO_TOKENS.itemsize


class RadixNode:
    """A run of tokens with its blocks. Only the tree changes it."""

    __slots__ = (
        "announced",
        "blocks",
        "children",
        "detached",
        "holds",
        "idle",
        "keys",
        "label",
        "last_used",
        "namespace",
        "parent",
        "ticket",
    )

    def __init__(self, parent: RadixNode | None, label: bytes, blocks: list[int], namespace: Namespace) -> None:
        self.parent = parent
        self.label = label
        self.blocks = blocks
        self.namespace = namespace
        self.keys: list[bytes] = []  # of the children: tokens of their first block, sorted
        self.children: list[RadixNode] = []
        self.holds = 0
        self.idle = 0  # of the holds: those of leases that may be revoked
        self.last_used = 0  # tick
        self.ticket = 0  # its entry in the eviction order; 0: none
        self.detached = False
        self.announced: dict[bytes, list[Lease]] | None = None  # next block's tokens -> leases that compute it


class Edge(NamedTuple):
    """The child that shares most tokens with a query, and how many bytes (whole tokens) of its label it shares."""

    node: RadixNode
    common: int


class Match(NamedTuple):
    """How far the tree knows a query: `path` (root first) is matched whole, `matched` bytes; then a part of `edge`."""

    path: list[RadixNode]
    matched: int
    edge: Edge | None

    @property
    def tokens(self) -> int:
        """Tokens of the query that the tree has."""
        return (self.matched + (self.edge.common if self.edge else 0)) // TOKEN_BYTES


class Inserted(NamedTuple):
    """Where inserted tokens are in the tree: their last node, now held, and the blocks that have them."""

    tip: RadixNode
    blocks: list[int]


def common_prefix(label: bytes, data: bytes, start: int) -> int:
    """Bytes, in whole tokens, that `label` and `data[start:]` have in common at their beginning.

    O(common) bytes compared, in O(log) pieces.
    """
    if data.startswith(label, start):
        return len(label)
    low, high = 0, min(len(label), len(data) - start)
    while low < high:  # label[:low] is common, label[:high + 1] is not
        middle = (low + high + 1) // 2
        if label[low:middle] == data[start + low : start + middle]:
            low = middle
        else:
            high = middle - 1
    return low - low % TOKEN_BYTES
