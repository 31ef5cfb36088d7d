"""What live leases are computing, so that equal prefixes are computed once.

A lease announces the whole blocks that it is going to publish. The announcement sits at its tip under the tokens
of the next block, so a look-up that walks past the tip finds it with one dictionary access.
"""

from __future__ import annotations

from radixkv.cache.lease import Lease
from radixkv.cache.radix_node import RadixNode, common_prefix


def announce(lease: Lease, stride: int) -> None:
    """List what `lease.announced` has beyond its tip; with nothing left it ends. Mutates lease and tip."""
    if lease.announced is None:
        return
    start = lease.tree_blocks * stride
    chunk = lease.announced[start : start + stride]
    if not chunk:
        lease.announced = None
        return
    tip = lease.tip
    if tip.announced is None:
        tip.announced = {}
    tip.announced.setdefault(chunk, []).append(lease)


def withdraw(lease: Lease, stride: int) -> None:
    """Take the announcement off the tip, before the tip moves or the lease ends. Mutates the tip only."""
    listed = lease.tip.announced
    if lease.announced is None or listed is None:
        return
    start = lease.tree_blocks * stride
    chunk = lease.announced[start : start + stride]
    listed[chunk].remove(lease)
    if not listed[chunk]:
        del listed[chunk]
    if not listed:
        lease.tip.announced = None


def announced_end(path: list[RadixNode], data: bytes, stride: int) -> int:
    """Bytes of `data`, from its beginning, that are on the path or that a lease with its tip there will publish.

    At least one whole block must be announced and equal, otherwise it is no reason to wait.
    """
    end = start = 0
    for node in path:
        start += len(node.label)
        if node.announced:
            for lease in node.announced.get(data[start : start + stride], ()):
                if lease.announced is not None:
                    end = max(end, start + common_prefix(lease.announced[start:], data, start))
    return end
