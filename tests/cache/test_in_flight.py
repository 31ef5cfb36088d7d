"""What a look-up tells about tokens that others are computing."""

from __future__ import annotations

from cache_model import CheckedCache, token_ids
from radixkv.cache import Lookup
from radixkv.request import Namespace

ONE = Namespace(model="one")
PROMPT = b"abcdefghijklmn"


def look(checked: CheckedCache, tokens: bytes, max_hit: int | None = None) -> Lookup:
    return checked.cache.lookup(token_ids(tokens), ONE, max_hit)


def test_an_announced_prefix_is_in_flight_until_it_is_committed(make_cache) -> None:
    checked = make_cache(16)
    first = checked.acquire(PROMPT, ONE)
    assert look(checked, PROMPT) == Lookup(0, 12)  # the tail is published at the end alone
    checked.step([(first, PROMPT[:5])])
    assert look(checked, PROMPT) == Lookup(4, 8)
    checked.step([(first, PROMPT[5:12])])
    assert look(checked, PROMPT) == Lookup(12, 0)


def test_what_is_in_flight_ends_where_the_prompts_part_and_at_the_limit(make_cache) -> None:
    checked = make_cache(16)
    checked.acquire(PROMPT, ONE)
    assert look(checked, b"abcdefghiXYZ") == Lookup(0, 9)
    assert look(checked, b"abcXefghijkl") == Lookup(0, 0)  # less than a block is no reason to wait
    assert look(checked, PROMPT[:8]) == Lookup(0, 7)
    assert look(checked, PROMPT, max_hit=6) == Lookup(0, 6)
    assert look(checked, PROMPT[:4]) == Lookup(0, 3)


def test_an_announcement_vanishes_with_its_lease(make_cache) -> None:
    checked = make_cache(16)
    first, second = checked.acquire(PROMPT, ONE), checked.acquire(PROMPT, ONE)
    checked.release(first)
    assert look(checked, PROMPT) == Lookup(0, 12)
    checked.hold(second)
    assert look(checked, PROMPT) == Lookup(0, 0)


def test_an_announcement_survives_a_split_of_its_node(make_cache) -> None:
    checked = make_cache(16)
    first = checked.acquire(PROMPT, ONE)
    checked.step([(first, PROMPT[:8])])
    checked.step([(checked.acquire(b"abcdXXXX", ONE), b"XXXX")])
    checked.check()
    assert look(checked, PROMPT) == Lookup(8, 4)


def test_an_announcement_ends_when_other_tokens_are_computed_or_the_cache_is_cleared(make_cache) -> None:
    checked = make_cache(16)
    first = checked.acquire(PROMPT, ONE)
    checked.step([(first, b"abcdXXXX")])
    assert look(checked, PROMPT) == Lookup(4, 0)
    assert look(checked, b"abcdXXXXijklm") == Lookup(8, 0)
    checked.acquire(PROMPT, ONE)
    assert look(checked, PROMPT) == Lookup(4, 8)
    checked.clear(None)
    assert look(checked, PROMPT) == Lookup(0, 0)
    assert look(checked, PROMPT[:4]) == Lookup(0, 0)
