"""The KV cache: block pool, radix tree, leases, behind one door, `PrefixCache`. No torch in here."""

from radixkv.cache.eviction import EvictionPolicy, LeastRecentlyUsed
from radixkv.cache.lease import Lease, LeaseReleased
from radixkv.cache.prefix_cache import PrefixCache
from radixkv.cache.results import CacheStats, Explanation, Lookup

__all__ = [
    "CacheStats",
    "EvictionPolicy",
    "Explanation",
    "Lease",
    "LeaseReleased",
    "LeastRecentlyUsed",
    "Lookup",
    "PrefixCache",
]
