from __future__ import annotations

import pytest

from radixkv.errors import OutOfBlocks
from radixkv.request import FinishReason
from scheduler_simulation import Simulation, request


@pytest.mark.parametrize("enabled", [True, False])
def test_r090_preempted_requests_lose_and_repeat_nothing(enabled: bool) -> None:
    simulation = Simulation(20, 4, enabled=enabled)
    requests = [request(str(i), [10 * i + 2, 10 * i + 3, 10 * i + 4], max_tokens=40) for i in range(4)]
    simulation.add(*requests)
    simulation.drain()
    assert simulation.scheduler.stats().preemptions > 0
    for each in requests:
        simulation.assert_as_if_alone(each)
        usage = simulation.outcomes[each.request_id, 0].last.usage  # type: ignore[union-attr]
        assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (3, 0, 40)  # type: ignore[union-attr]
    simulation.assert_drained()


def test_r096_the_last_sequence_keeps_its_text_when_the_pool_ends() -> None:
    simulation = Simulation(8, 4)
    long, after = request("long", range(2, 7), max_tokens=100), request("next", range(50, 55))
    simulation.add(long)
    simulation.drain()
    simulation.assert_as_if_alone(long)
    assert len(simulation.tokens("long")) == 32 + 1 - 5
    assert simulation.outcomes["long", 0].finish_reason is FinishReason.LENGTH
    simulation.add(after)
    simulation.drain()
    simulation.assert_as_if_alone(after)


def test_the_victim_is_the_lowest_priority_then_the_youngest() -> None:
    simulation = Simulation(12, 4)
    low = request("low", range(2, 14), max_tokens=20)
    simulation.add(low)
    simulation.step()
    simulation.add(request("old", range(20, 32), priority=1, max_tokens=20))
    simulation.step()
    simulation.add(request("high", range(40, 48), priority=2, max_tokens=20))
    while not simulation.scheduler.stats().preemptions:
        simulation.step()
    assert [each.sequence_id for each in simulation.plans[-1].sequences] == [2, 1]
    simulation.drain()
    simulation.assert_as_if_alone(low)


def test_a_request_of_higher_priority_takes_the_blocks_of_a_lower_one() -> None:
    simulation = Simulation(8, 4)
    low, high = request("low", range(2, 22), max_tokens=8), request("high", range(30, 54), priority=1, max_tokens=5)
    simulation.add(low)
    simulation.step()
    simulation.add(high)
    simulation.step()
    assert [each.sequence_id for each in simulation.plans[-1].sequences] == [1]
    simulation.drain()
    simulation.assert_as_if_alone(low)
    simulation.assert_as_if_alone(high)


def test_equal_priority_does_not_preempt_to_get_in() -> None:
    simulation = Simulation(8, 4)
    simulation.add(request("first", range(2, 22), max_tokens=8))
    simulation.step()
    simulation.add(request("second", range(30, 54), max_tokens=5))
    simulation.drain()
    assert simulation.scheduler.stats().preemptions == 0


def test_resuming_counts_as_resumed_and_not_as_hit() -> None:
    simulation = Simulation(20, 4)
    simulation.add(*[request(str(i), [10 * i + 2, 10 * i + 3, 10 * i + 4], max_tokens=40) for i in range(4)])
    simulation.drain()
    stats = simulation.cache.stats()
    assert stats.hit_tokens == 0
    assert stats.miss_tokens == 4 * 3
    assert stats.resumed_hit_tokens + stats.resumed_miss_tokens > 0


def test_preemption_and_resuming_do_not_chase_each_other() -> None:
    """Twice as many sequences as the pool can hold to their end: work is lost once in a while, not in every step."""
    simulation = Simulation(64, 4, max_running=16)
    requests = [request(str(i), [i + 2, 3, 4], max_tokens=60) for i in range(16)]
    simulation.add(*requests)
    simulation.drain()
    stats = simulation.scheduler.stats()
    assert 0 < stats.preemptions <= 2 * len(requests)
    assert stats.recomputed_tokens <= 0.5 * len(requests) * 62
    for each in requests:
        simulation.assert_as_if_alone(each)


def test_decoding_recovers_as_soon_as_a_sequence_has_ended() -> None:
    simulation = Simulation(36, 4)
    requests = [request(str(i), [i + 2, 3, 4], max_tokens=40 + 10 * i) for i in range(4)]
    simulation.add(*requests)
    while not simulation.scheduler.stats().preemptions:
        simulation.step()
    while simulation.outcomes["0", 0].finish_reason is None:
        simulation.step()
    before = simulation.scheduler.stats().waiting
    assert before
    simulation.step()
    assert simulation.scheduler.stats().waiting < before, "the place is taken in the next step"
    simulation.drain()


def test_a_pool_smaller_than_any_hold_on_it_is_an_error_not_a_silent_stop() -> None:
    """Somebody outside the scheduler has leases on everything: the caller is told, nothing hangs."""
    simulation = Simulation(8, 4, check=False)
    foreign = simulation.cache.acquire(request("x", range(2, 30)).prompt, request("x", [2]).namespace, owner="foreign")
    simulation.cache.extend(foreign, 27)
    simulation.add(request("a", range(40, 52)))
    with pytest.raises(OutOfBlocks):
        simulation.step()
    simulation.cache.release(foreign)
    simulation.drain()
    simulation.assert_as_if_alone(request("a", range(40, 52)))
