"""What goes when the pool is short, and what stays."""

from __future__ import annotations

import pytest

from cache_model import CheckedCache, ModelLease, token_ids
from radixkv.cache import EvictionPolicy, PrefixCache
from radixkv.cache.radix_node import RadixNode
from radixkv.errors import OutOfBlocks
from radixkv.request import Namespace
from radixkv.tokens import token_array

ONE = Namespace(model="one")


def run(checked: CheckedCache, tokens: bytes) -> ModelLease:
    model = checked.acquire(tokens, ONE)
    checked.step([(model, tokens[model.lease.length :])])
    checked.check()
    return model


def cached(checked: CheckedCache, tokens: bytes) -> int:
    return checked.cache.lookup(token_ids(tokens + b"\xff"), ONE).hit_tokens


def test_r082_a_request_never_evicts_the_prefix_that_it_has_just_matched(make_cache) -> None:
    checked = make_cache(6)
    checked.release(run(checked, b"abcdefgh"))  # the oldest
    checked.release(run(checked, b"0123456789ABCDEF"))
    model = checked.acquire(b"abcdefghijklmnop", ONE)
    assert checked.extend(model, 8)
    checked.check()  # every cached block has its ancestors: the model compares whole prefixes
    assert model.lease.length == 8
    assert cached(checked, b"0123456789ABCDEF") == 8


def test_r083_deepest_block_goes_first(make_cache) -> None:
    for _ in range(100):
        checked = make_cache(3)
        checked.release(run(checked, b"abcdefghijkl"))
        run(checked, b"0123")
        assert cached(checked, b"abcdefghijkl") == 8


def test_r085_a_hit_refreshes_recency(make_cache) -> None:
    checked = make_cache(3)
    for prompt in (b"AAAA", b"BBBB", b"CCCC"):
        checked.release(run(checked, prompt))
    checked.release(checked.acquire(b"AAAA!", ONE))
    checked.release(run(checked, b"DDDD"))
    assert [cached(checked, prompt) for prompt in (b"AAAA", b"BBBB", b"CCCC", b"DDDD")] == [4, 0, 4, 4]


def test_r085_a_partial_hit_refreshes_the_node_it_copies_from(make_cache) -> None:
    checked = make_cache(4)
    for prompt in (b"AAAA", b"BBBB", b"CCCC"):
        checked.release(run(checked, prompt))
    checked.release(checked.acquire(b"AA??", ONE))
    checked.evict(1)
    assert [cached(checked, prompt) for prompt in (b"AAAA", b"BBBB", b"CCCC")] == [4, 0, 4]


def test_a_look_up_refreshes_nothing(make_cache) -> None:
    checked = make_cache(3)
    for prompt in (b"AAAA", b"BBBB"):
        checked.release(run(checked, prompt))
    cached(checked, b"AAAA")
    checked.cache.explain(token_ids(b"AAAA"), ONE)
    checked.evict(1)
    assert (cached(checked, b"AAAA"), cached(checked, b"BBBB")) == (0, 4)


def test_r087_exactly_as_many_blocks_as_asked_are_evicted(make_cache) -> None:
    checked = make_cache(20)
    checked.release(run(checked, bytes(range(48))))
    checked.release(run(checked, bytes(range(100, 132))))
    assert checked.cache.stats().cached_blocks == 20
    freed = [checked.cache.evict(count) for count in (1, 3, 7)]
    assert freed == [1, 3, 7]
    assert checked.cache.stats().evicted_blocks == 11
    assert checked.cache.stats().free_blocks == 11
    checked.check()
    assert checked.cache.evict(100) == 9


def test_a_parent_goes_when_its_turn_comes_and_not_with_its_last_child(make_cache) -> None:
    checked = make_cache(8)
    checked.release(run(checked, b"SSSSaaaa"))
    checked.release(run(checked, b"SSSSbbbb"))
    checked.release(run(checked, b"xxxx"))
    checked.release(checked.acquire(b"SSSS!", ONE))  # S is the most recent now
    checked.evict(3)
    assert (cached(checked, b"SSSS"), cached(checked, b"xxxx")) == (4, 0)


def test_r101_leases_that_never_allocated_leave_no_holds(make_cache) -> None:
    checked = make_cache(8)
    checked.release(run(checked, b"abcdefgh"))
    waiting = [checked.acquire(b"abcdefgh", ONE, max_hit=4) for _ in range(20)]
    assert checked.cache.stats().held_blocks == 1
    for model in waiting:
        checked.release(model)
    checked.check()
    assert checked.cache.stats().cached_blocks == checked.cache.evict(8) == 2


def test_held_blocks_are_not_evicted(make_cache) -> None:
    checked = make_cache(8)
    model = run(checked, b"abcdefgh")
    checked.release(run(checked, b"abcdefghijkl"))
    assert checked.cache.evict(8) == 1
    checked.check()
    assert model.lease.length == cached(checked, b"abcdefgh") == 8


def test_a_hit_shrinks_to_whole_blocks_when_no_block_can_be_had(make_cache) -> None:
    checked = make_cache(3)
    run(checked, b"abcdefghijkl")
    model = checked.acquire(b"abcdefXX", ONE)
    assert model.lease.length == 4
    assert checked.cache.take_copies() == ()


def test_leases_on_hold_are_revoked_oldest_first_before_blocks_run_out(make_cache) -> None:
    checked = make_cache(4)
    oldest, newer = run(checked, b"AAAA"), run(checked, b"BBBB")
    checked.hold(newer)
    checked.hold(oldest)
    assert checked.cache.evict(4) == 0
    working = run(checked, b"012345678")
    assert newer.lease.released
    assert newer.lease.block_table == []
    assert not oldest.lease.released
    assert checked.cache.stats().revoked_leases == 1
    with pytest.raises(OutOfBlocks, match="3 needed, 0 free, 0 evictable"):
        checked.cache.extend(working.lease, 12)
    checked.check()
    assert not oldest.lease.released, "revoking it would not have been enough"
    assert checked.extend(working, 4)
    assert oldest.lease.released
    checked.check()


def test_only_as_many_holds_are_revoked_as_are_needed_oldest_first(make_cache) -> None:
    checked = make_cache(6)
    holds = [run(checked, letter * 4) for letter in (b"A", b"B", b"C", b"D")]
    checked.release(run(checked, b"EEEE"))
    for model in holds:
        checked.hold(model)
    run(checked, bytes(range(16)))
    assert [model.lease.released for model in holds] == [True, True, False, False]
    assert checked.cache.stats().evicted_blocks == 3


def test_out_of_blocks_changes_nothing(make_cache) -> None:
    checked = make_cache(6)
    checked.release(run(checked, b"cached__"))
    held, working = run(checked, b"held"), run(checked, b"work")
    checked.hold(held)
    before = checked.cache.stats()
    assert not checked.extend(working, 21)
    assert checked.cache.stats() == before
    assert not checked.extend(held, 21), "nor does it for a lease on hold, whose own blocks are no help"
    assert checked.cache.stats() == before
    assert checked.extend(working, 20)
    assert held.lease.released


def test_room_for_a_prompt_is_exact(make_cache) -> None:
    """Of the hit only what leases in use hold spares blocks; all else of it is no longer to be had once it is taken."""
    for prompt, spare, room in (
        (b"heldcached__more", 0, True),
        (b"worktobedonebyit", 1, True),
        (b"worktobedonebyit", 2, False),
        (b"heldtobedonebyits", 0, False),
        (b"new_", 3, True),
        (b"new_", 4, False),
    ):
        checked = make_cache(5)
        held, working = run(checked, b"held"), run(checked, b"work")
        checked.release(run(checked, b"cach"))
        checked.hold(held)
        assert checked.cache.has_room(token_ids(prompt), ONE, spare=spare) == room, prompt
        blocks = -(-len(prompt) // 4) + spare
        model = checked.acquire(prompt, ONE)
        assert checked.extend(model, blocks * 4 - model.lease.length) == room, prompt
        assert not working.lease.released
        checked.check()


def test_a_lease_that_is_extended_again_is_not_revocable_any_more(make_cache) -> None:
    checked = make_cache(3)
    model = run(checked, b"abcdef")
    checked.hold(model)
    assert checked.cache.stats().revocable_leases == 1
    assert checked.extend(model, 1)
    assert checked.cache.stats().revocable_leases == 0
    assert not checked.extend(checked.acquire(b"01234", ONE), 5)
    assert not model.lease.released


def test_the_policy_is_a_strategy() -> None:
    class MostRecentFirst:
        def rank(self, leaf: RadixNode) -> int:
            return -leaf.last_used

    policy: EvictionPolicy = MostRecentFirst()
    cache = PrefixCache(4, 1, policy=policy)
    for token in range(3):
        lease = cache.acquire(token_array([token]), ONE, owner="test")
        cache.extend(lease, 1)
        cache.commit(lease, token_array([token]))
        cache.release(lease)
    cache.evict(1)
    cache.check_integrity()
    assert [cache.lookup(token_array([token, 9]), ONE).hit_tokens for token in range(3)] == [1, 1, 0]


def test_garbage_in_the_eviction_order_is_bounded() -> None:
    cache = PrefixCache(8, 4)
    lease = cache.acquire(token_array([1, 2, 3, 4]), ONE, owner="test")
    cache.extend(lease, 4)
    cache.commit(lease, token_array([1, 2, 3, 4]))
    cache.release(lease)
    for _ in range(1_000):
        cache.release(cache.acquire(token_array([1, 2, 3, 4, 5]), ONE, owner="test"))
    assert len(cache.tree.order._heap) < 100
    cache.check_integrity()
