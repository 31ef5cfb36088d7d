"""What is found, shared, copied and published."""

from __future__ import annotations

import pytest

from cache_model import CheckedCache, ModelLease, token_ids
from radixkv.cache import LeaseReleased, Lookup, PrefixCache
from radixkv.cache.radix_tree import GROWN_BLOCKS
from radixkv.errors import OutOfBlocks
from radixkv.request import Namespace
from radixkv.tokens import NO_TOKENS, token_array

ONE = Namespace(model="one")
OTHER = Namespace(model="one", salt="tenant")


def run(checked: CheckedCache, tokens: bytes, namespace: Namespace = ONE) -> ModelLease:
    """A sequence whose tokens have all been computed."""
    model = checked.acquire(tokens, namespace)
    checked.step([(model, tokens[model.lease.length :])])
    checked.check()
    return model


def cached(checked: CheckedCache, tokens: bytes, namespace: Namespace = ONE) -> int:
    """How many of `tokens` the cache has, asked with one token more."""
    return checked.cache.lookup(token_ids(tokens + b"\xff"), namespace).hit_tokens


def test_a_hit_is_exact_to_the_token_and_copies_the_partly_matching_block(make_cache) -> None:
    checked = make_cache(8)
    checked.release(run(checked, b"abcdefgh"))
    model = checked.acquire(b"abcdefXY", ONE)
    assert model.lease.length == 6
    (copy,) = checked.cache.pool.queued_copies()
    assert (copy.target, copy.tokens) == (model.lease.block_table[1], 2)
    checked.step([(model, b"XY")])
    checked.check()
    assert cached(checked, b"abcdefXY") == cached(checked, b"abcdefgh") == 8


def test_whole_blocks_are_shared_and_not_copied(make_cache) -> None:
    checked = make_cache(8)
    first = run(checked, b"abcdefgh")
    second = checked.acquire(b"abcdefghijkl", ONE)
    assert second.lease.block_table == first.lease.block_table
    assert checked.cache.take_copies() == ()


@pytest.mark.parametrize("length", [1, 4, 8])
def test_r072_one_token_is_always_computed_and_never_a_block_for_it(make_cache, length: int) -> None:
    checked = make_cache(8)
    prompt = b"abcdefgh"[:length]
    for _ in range(3):
        model = checked.acquire(prompt, ONE)
        assert model.lease.length in (0, length - 1)
        checked.step([(model, prompt[model.lease.length :])])
        checked.release(model)
    assert checked.cache.lookup(token_ids(prompt), ONE) == Lookup(length - 1, 0)
    longer = checked.acquire(prompt + b"z", ONE)  # equal to the former prompt and completion
    assert longer.lease.length == length


@pytest.mark.parametrize("length", [15, 16, 17, 33])
def test_r068_max_hit_leaves_the_logits_that_are_asked_for_to_be_computed(make_cache, length: int) -> None:
    checked = make_cache(16, 16)
    prompt = bytes(range(length))
    checked.release(run(checked, prompt))
    assert checked.acquire(prompt, ONE, max_hit=0).lease.length == 0
    assert checked.acquire(prompt, ONE, max_hit=7).lease.length == 7
    assert checked.acquire(prompt, ONE).lease.length == length - 1
    with pytest.raises(ValueError, match="max_hit: got -1"):
        checked.cache.lookup(token_array([1]), ONE, -1)


@pytest.mark.parametrize("length", [4, 8, 12])
def test_r075_prompts_of_whole_blocks_are_filed_under_their_own_tokens(make_cache, length: int) -> None:
    checked = make_cache(16)
    text = bytes(range(1, 21))
    for _ in range(5):
        model = checked.acquire(text[:length], ONE)
        for end in range(model.lease.length + 1, 21):  # one token at a time; the model compares every prefix
            checked.step([(model, text[end - 1 : end])])
            checked.check()
        checked.release(model)
        checked.check()
    assert cached(checked, text) == 20


def test_r080_a_shared_partial_block_is_never_written_by_two_owners(make_cache) -> None:
    checked = make_cache(16)
    prefix = run(checked, b"abcdef")
    checked.fork(prefix, 1)
    fork = checked.leases[1]
    shared = prefix.lease.block_table[1]
    checked.step([(fork, b"12345"), (prefix, b"vwxyz")])  # the fork writes first, so it gets the copy
    checked.check()
    assert prefix.lease.block_table[1] == shared != fork.lease.block_table[1]
    checked.release(prefix)
    checked.release(fork)
    again = checked.acquire(b"abcdefvwxyz!", ONE)
    assert again.lease.length == 11


def test_the_last_holder_of_a_tail_writes_in_place(make_cache) -> None:
    checked = make_cache(16)
    prefix = run(checked, b"abcdef")
    checked.fork(prefix, 2)
    checked.release(prefix)
    left, right = checked.leases
    shared = left.lease.block_table[1]
    checked.release(right, publish_tail=False)
    checked.step([(left, b"g")])
    assert left.lease.block_table[1] == shared
    assert checked.cache.stats().copies == 0


def test_two_equal_prompts_in_flight_end_on_the_same_blocks(make_cache) -> None:
    checked = make_cache(16)
    first, second = checked.acquire(b"abcdefghij", ONE), checked.acquire(b"abcdefghij", ONE)
    checked.step([(first, b"abcdef"), (second, b"abcdef")])
    checked.check()
    checked.step([(first, b"ghij"), (second, b"ghij")])
    checked.check()
    assert first.lease.block_table[:2] == second.lease.block_table[:2]
    assert first.lease.block_table[2] != second.lease.block_table[2]  # tails are each one's own
    assert checked.cache.stats().adopted_blocks == 2
    checked.release(first)
    checked.evict(16)
    checked.check()  # the second one still has its prefix


def test_adopted_blocks_are_reused_only_after_the_table_has_changed(make_cache) -> None:
    checked = make_cache(5)
    first, second = checked.acquire(b"abcd", ONE), checked.acquire(b"abcd", ONE)
    checked.step([(first, b"abcd"), (second, b"abcd")])
    assert checked.cache.stats().free_blocks == 4
    third = run(checked, b"0123456789ABCDEF")
    assert not set(third.lease.block_table) & set(second.lease.block_table)


def test_namespaces_share_nothing(make_cache) -> None:
    checked = make_cache(8)
    checked.release(run(checked, b"abcdefgh"))
    assert cached(checked, b"abcdefgh", OTHER) == 0
    assert cached(checked, b"abcdefgh", Namespace(model="one", adapter="tenant")) == 0
    run(checked, b"abcdefgh", OTHER)
    checked.clear(ONE)
    assert (cached(checked, b"abcdefgh"), cached(checked, b"abcdefgh", OTHER)) == (0, 8)


def test_a_fuller_block_replaces_a_cached_tail(make_cache) -> None:
    checked = make_cache(8)
    checked.release(run(checked, b"abcdef"))
    assert checked.cache.stats().cached_blocks == 2
    checked.release(run(checked, b"abcdefg"))
    checked.check()
    assert checked.cache.stats().cached_blocks == 2
    assert checked.cache.stats().cached_tokens == 7
    checked.release(run(checked, b"abcde"))  # a shorter tail is there already
    assert checked.cache.stats().cached_tokens == 7


def test_a_fuller_block_displaces_a_tail_that_is_on_hold(make_cache) -> None:
    checked = make_cache(8)
    kept = run(checked, b"abcdef")
    checked.hold(kept)
    checked.check()
    checked.release(run(checked, b"abcdefgh"))
    checked.check()
    assert cached(checked, b"abcdefgh") == 8
    assert checked.cache.stats().held_blocks == 2  # the held one still has its own
    checked.step([(kept, b"GH")])
    checked.check()
    assert cached(checked, b"abcdefGH") == 8


def test_the_tail_of_a_sequence_is_published_at_its_end_alone(make_cache) -> None:
    checked = make_cache(8)
    model = run(checked, b"abcdef")
    assert cached(checked, b"abcdef") == 4
    checked.release(model)
    assert cached(checked, b"abcdef") == 6
    checked.release(run(checked, b"012345"), publish_tail=False)
    assert cached(checked, b"012345") == 4


def test_nothing_is_cached_before_it_is_computed(make_cache) -> None:
    checked = make_cache(8)
    model = checked.acquire(b"abcdefgh", ONE)
    checked.extend(model, 8)
    assert cached(checked, b"abcdefgh") == 0
    checked.release(model)
    assert cached(checked, b"abcdefgh") == 0


def test_a_tail_that_still_awaits_its_copy_is_not_published(make_cache) -> None:
    checked = make_cache(8)
    checked.release(run(checked, b"abcdefgh"))
    model = checked.acquire(b"abcdefXY", ONE)
    checked.evict(8)  # the source too
    checked.release(model)
    checked.check()
    assert cached(checked, b"abcdef") == 4
    assert checked.cache.take_copies() == ()  # nobody has its target any more


def test_a_queued_copy_outlives_its_source_and_a_chain_of_copies_stays_whole(make_cache) -> None:
    checked = make_cache(6)
    checked.release(run(checked, b"abcdef"))
    first = checked.acquire(b"abcdefX", ONE)  # copies the tail
    checked.fork(first, 1)
    second = checked.leases[1]
    checked.extend(second, 1)  # copies the copy
    checked.evict(6)
    checked.release(first)
    checked.check()
    assert [copy.tokens for copy in checked.cache.pool.queued_copies()] == [2, 2]
    checked.step([(second, b"Y")])
    checked.check()


def test_truncate_forgets_tokens_but_not_what_was_published(make_cache) -> None:
    checked = make_cache(8)
    model = run(checked, b"abcdefghij")
    checked.truncate(model, 6)
    checked.check()
    assert len(model.lease.block_table) == 2
    checked.step([(model, b"XYZ")])
    checked.check()
    assert cached(checked, b"abcdefgh") == cached(checked, b"abcdefXY") == 8
    with pytest.raises(ValueError, match="expected 0 to 9"):
        checked.cache.truncate(model.lease, 10)


def test_clear_with_live_leases_detaches_what_they_hold(make_cache) -> None:
    checked = make_cache(8)
    model = run(checked, b"abcdefghij")
    checked.release(run(checked, b"0123"))
    assert checked.cache.stats().cached_blocks == 1
    checked.clear(None)
    checked.check()
    assert checked.cache.stats().free_blocks == 5
    fresh = run(checked, b"abcdefghij")
    checked.step([(model, b"klmn")])  # goes on, but for itself alone
    checked.check()
    assert cached(checked, b"abcdefghijklmn") == 8
    checked.release(model)
    checked.release(fresh)
    assert cached(checked, b"abcdefghijklmn") == 10
    checked.clear(None)
    assert checked.cache.stats().free_blocks == 8


def test_a_disabled_cache_matches_and_keeps_nothing_but_forks_share(make_cache) -> None:
    checked = make_cache(8, enabled=False)
    first = run(checked, b"abcdefghij")
    second = run(checked, b"abcdefghij")
    assert first.lease.block_table != second.lease.block_table
    checked.release(second)
    assert checked.cache.lookup(token_ids(b"abcdefghij"), ONE) == Lookup(0, 0)
    checked.fork(first, 2)
    assert checked.cache.stats().held_blocks == 3
    checked.step([(checked.leases[1], b"12345"), (checked.leases[2], b"67")])
    checked.check()
    checked.hold(first)
    assert first.lease.released
    for model in list(checked.leases):
        checked.release(model)
    assert checked.cache.stats().free_blocks == 8


def test_commit_needs_room_and_a_tail_of_its_own() -> None:
    cache = PrefixCache(4, 4)
    lease = cache.acquire(token_array([1, 2, 3, 4, 5, 6]), ONE, owner="test")
    cache.commit(lease, NO_TOKENS)
    with pytest.raises(ValueError, match="6 tokens after 0 do not fit its 0 slots; call extend"):
        cache.commit(lease, token_array([1, 2, 3, 4, 5, 6]))
    cache.extend(lease, 6)
    with pytest.raises(ValueError, match="do not fit its 8 slots"):
        cache.commit(lease, token_array(range(9)))
    cache.commit(lease, token_array([1, 2, 3, 4, 5, 6]))
    cache.fork(lease, 1, owner="test")
    with pytest.raises(ValueError, match="its tail block is shared"):
        cache.commit(lease, token_array([7]))


def test_a_fork_in_the_middle_of_a_step_is_refused() -> None:
    cache = PrefixCache(4, 4)
    lease = cache.acquire(token_array([1, 2, 3]), ONE, owner="test")
    cache.extend(lease, 2)
    cache.commit(lease, token_array([1, 2]))
    cache.extend(lease, 1)
    with pytest.raises(ValueError, match="fork between extend and commit"):
        cache.fork(lease, 1, owner="test")
    cache.truncate(lease, lease.length)
    assert len(cache.fork(lease, 1, owner="test")) == 1


def test_a_released_or_foreign_lease_is_refused() -> None:
    cache = PrefixCache(4, 4)
    lease = cache.acquire(token_array([1]), ONE, owner="request 7")
    with pytest.raises(ValueError, match="not of this cache"):
        PrefixCache(4, 4).extend(lease, 1)
    cache.release(lease)
    cache.release(lease)
    with pytest.raises(LeaseReleased, match="lease 0 of 'request 7' was released"):
        cache.extend(lease, 1)


def test_counters_count_each_acquire_once_and_resumed_ones_apart() -> None:
    cache = PrefixCache(8, 4)
    lease = cache.acquire(token_array(range(10)), ONE, owner="test")
    cache.lookup(token_array(range(10)), ONE)
    cache.extend(lease, 10)
    cache.commit(lease, token_array(range(10)))
    cache.release(lease)
    cache.acquire(token_array(range(10)), ONE, owner="test")
    cache.acquire(token_array(range(10)), ONE, owner="test", resumed=True)
    stats = cache.stats()
    assert (stats.hit_tokens, stats.miss_tokens) == (9, 11)
    assert (stats.resumed_hit_tokens, stats.resumed_miss_tokens) == (9, 1)
    assert (stats.leases, stats.leases_made, stats.copies) == (2, 3, 2)


def test_explain_tells_where_a_prompt_parts_from_what_is_cached(make_cache) -> None:
    checked = make_cache(8)
    checked.release(run(checked, b"abcdefgh"))
    told = checked.cache.explain(token_ids(b"abcdeXgh"), ONE)
    assert (told.cached_tokens, told.computed_tokens, told.divergence) == (5, 3, 5)
    assert (told.prompt_token, told.cached_token) == tuple(token_ids(b"Xf"))
    same = checked.cache.explain(token_ids(b"abcdefgh"), ONE)
    assert (same.cached_tokens, same.divergence, same.cached_token) == (7, None, None)
    longer = checked.cache.explain(token_ids(b"abcdefghi"), ONE)
    assert (longer.divergence, longer.prompt_token, longer.cached_token) == (8, token_ids(b"i")[0], None)


def test_out_of_blocks_tells_the_numbers_and_changes_nothing(make_cache) -> None:
    checked = make_cache(3)
    model = run(checked, b"abcdef")
    checked.release(run(checked, b"0123"))
    with pytest.raises(OutOfBlocks, match="2 needed, 0 free, 1 evictable"):
        checked.cache.extend(model.lease, 10)
    checked.check()
    assert cached(checked, b"0123") == 4  # it would not have helped, so it was not evicted


def test_a_long_decode_makes_few_nodes_of_bounded_length() -> None:
    cache = PrefixCache(2 * GROWN_BLOCKS + 10, 1)
    lease = cache.acquire(token_array([0]), Namespace(), owner="decode")
    tokens = token_array(range(2 * GROWN_BLOCKS + 10))
    for token in tokens:
        cache.extend(lease, 1)
        cache.commit(lease, token_array([token]))
    assert [len(node.blocks) for node in cache.tree.path(lease.tip)] == [0, GROWN_BLOCKS, GROWN_BLOCKS, 10]
    cache.check_integrity()
    assert cache.lookup(tokens, Namespace()).hit_tokens == len(tokens) - 1
