"""A lease: one sequence's hold on blocks."""

from __future__ import annotations

from dataclasses import dataclass, field

from radixkv.cache.radix_node import RadixNode
from radixkv.errors import RadixKVError
from radixkv.request import Namespace


class LeaseReleased(RadixKVError):
    """A lease was used after it was released or, having been put on hold, revoked because the pool was short."""

    def __init__(self, lease_id: int, owner: str) -> None:
        super().__init__(f"lease {lease_id} of {owner!r} was released; acquire its tokens again")
        self.lease_id = lease_id
        self.owner = owner


@dataclass(eq=False, slots=True)
class Lease:
    """The blocks of one sequence and how many of its tokens have KV there. Only the cache changes it.

    `length`: tokens with KV. `block_table`: block ids, token i at slot block_table[i // block_size] * block_size +
    i % block_size; it may reach beyond `length` (blocks reserved by `extend`). Empty once `released`.

    The rest is the cache's own. The first `tree_blocks` of the table belong to the tree and are held
    through the path to `tip`, the others are private. Whole blocks with KV are always in the tree; `tail` has the
    tokens of the partial block after them (4 bytes each). `announced`: the tokens of all whole blocks, from the first,
    that this lease said it would have (None: nothing is outstanding). `writing`: a step may be filling the slots after
    `length`.
    """

    lease_id: int
    owner: str
    reason: str
    namespace: Namespace
    tip: RadixNode
    length: int = 0
    block_table: list[int] = field(default_factory=list)
    released: bool = False
    tree_blocks: int = 0
    tail: bytes = b""
    announced: bytes | None = None
    writing: bool = False
