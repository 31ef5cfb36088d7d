"""What the cache tells about itself: plain frozen values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lookup:
    """`hit_tokens` would be reused now; `in_flight_tokens` after them are being computed by a live lease."""

    hit_tokens: int
    in_flight_tokens: int


@dataclass(frozen=True)
class Explanation:
    """How much of a prompt is cached and where it parts from what is.

    `divergence` is the position of the first token that the cache does not have after this prefix (None: it has all
    of them; the last one is computed nevertheless, for its logits). There the prompt goes on with
    `prompt_token`, and the nearest cached prefix with `cached_token` (None: it ends there).
    """

    prompt_tokens: int
    cached_tokens: int
    computed_tokens: int
    in_flight_tokens: int
    divergence: int | None
    prompt_token: int | None
    cached_token: int | None


@dataclass
class CacheCounters:
    """Cumulative counts since the cache was made; they never go down."""

    hit_tokens: int = 0
    miss_tokens: int = 0
    resumed_hit_tokens: int = 0
    resumed_miss_tokens: int = 0
    adopted_blocks: int = 0
    queued_copies: int = 0
    leases_made: int = 0
    revoked_leases: int = 0


@dataclass(frozen=True)
class CacheStats:
    """A snapshot: blocks and leases as they are now, and the cumulative counters.

    total_blocks = free_blocks + held_blocks + cached_blocks. `held_blocks`: in use by a lease.
    `cached_blocks`: in the tree and held by nobody, so they can be evicted at once. `cached_tokens`: tokens that a
    look-up can find, held or not.

    `hit_tokens` and `miss_tokens` count each acquire's tokens once, those of resumed sequences apart. `evicted_blocks`:
    taken out of the tree to make room (not by `clear`). `adopted_blocks`: computed by a lease although another one had
    published the same, and freed. `copies`: block copies queued. `revoked_leases`: released because the pool was short.
    """

    total_blocks: int
    free_blocks: int
    held_blocks: int
    cached_blocks: int
    cached_tokens: int
    leases: int
    revocable_leases: int
    hit_tokens: int
    miss_tokens: int
    resumed_hit_tokens: int
    resumed_miss_tokens: int
    evicted_blocks: int
    adopted_blocks: int
    copies: int
    leases_made: int
    revoked_leases: int
