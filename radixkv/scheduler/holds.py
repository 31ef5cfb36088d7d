"""Leases that outlive their sequence, by the name their request gave."""

from __future__ import annotations

from dataclasses import dataclass

from radixkv.cache import Lease, PrefixCache
from radixkv.sequence import Sequence


@dataclass(frozen=True)
class Hold:
    """A held lease and where its request's prompt ended."""

    lease: Lease
    request_id: str
    prompt_length: int


class HoldTable:
    """Holds by name. The cache may revoke a hold when the pool is short; it is then forgotten here too."""

    def __init__(self, cache: PrefixCache) -> None:
        self._cache = cache
        self._holds: dict[str, Hold] = {}

    def __len__(self) -> int:
        return len(self.leases())

    def leases(self) -> list[Lease]:
        """Leases still held."""
        self._holds = {name: hold for name, hold in self._holds.items() if not hold.lease.released}
        return [hold.lease for hold in self._holds.values()]

    def put(self, name: str, sequence: Sequence, lease: Lease) -> None:
        """Keep the lease of a finished sequence. A hold of that name is replaced, its blocks released afterwards."""
        earlier = self._holds.pop(name, None)
        self._cache.hold(lease, reason=f"hold {name!r}")
        if not lease.released:
            self._holds[name] = Hold(lease, sequence.request.request_id, sequence.prompt_length)
        if earlier is not None:
            self._cache.release(earlier.lease)

    def release(self, name: str) -> bool:
        """Give a hold back; whether there was one. Idempotent."""
        hold = self._holds.pop(name, None)
        if hold is None or hold.lease.released:
            return False
        self._cache.release(hold.lease)
        return True

    def clear(self) -> None:
        """Give all holds back."""
        for lease in self.leases():
            self._cache.release(lease)
        self._holds.clear()

    def cut(self, request_id: str, kept_tokens: int) -> None:
        """Forget what the finished request put after its first `kept_tokens` sampled tokens. O(holds)."""
        for hold in self._holds.values():
            if hold.request_id == request_id and not hold.lease.released:
                self._cache.truncate(hold.lease, min(hold.lease.length, hold.prompt_length + kept_tokens))
