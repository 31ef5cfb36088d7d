from __future__ import annotations

from scheduler_simulation import Simulation, content, request


def test_a_hold_keeps_the_blocks_of_a_finished_sequence_until_it_is_released() -> None:
    simulation = Simulation(64, 4)
    simulation.add(request("a", range(2, 14), hold="context", max_tokens=6))
    simulation.drain()
    assert simulation.scheduler.stats().holds == 1
    assert [lease.reason for lease in simulation.cache.leases.values()] == ["hold 'context'"]
    assert simulation.cache.evict(64) == 0
    simulation.scheduler.release_hold("context")
    simulation.scheduler.release_hold("context")
    assert simulation.scheduler.stats().holds == 0
    simulation.assert_drained()


def test_the_next_turn_computes_only_what_is_new() -> None:
    simulation = Simulation(64, 4)
    simulation.add(request("turn 1", range(2, 14), hold="context", max_tokens=6))
    simulation.drain()
    computed = simulation.forward.computed
    answer = simulation.tokens("turn 1")
    turn = request("turn 2", [*range(2, 14), *answer, 50, 51], hold="context", max_tokens=0)
    simulation.add(turn)
    simulation.drain()
    assert simulation.forward.computed - computed == 1 + 2, "the last sampled token and the new ones"
    assert simulation.scheduler.stats().holds == 1
    assert simulation.cache.stats().leases == 1, "the new hold replaced the old one of that name"


def test_a_hold_is_given_up_when_the_pool_is_short_and_the_tokens_are_computed_again() -> None:
    simulation = Simulation(8, 4)
    first, big = request("a", range(2, 14), hold="context", max_tokens=6), request("big", range(30, 60), max_tokens=2)
    simulation.add(first)
    simulation.drain()
    simulation.add(big)
    simulation.drain()
    simulation.assert_as_if_alone(big)
    assert simulation.scheduler.stats().holds == 0
    assert simulation.cache.stats().revoked_leases == 1
    simulation.scheduler.release_hold("context")


def test_holds_do_not_keep_others_from_running_side_by_side() -> None:
    """A pool full of holds, as programs leave it, still runs as many sequences as fit without them."""
    simulation = Simulation(40, 4)
    for number in range(8):
        simulation.add(
            request(f"context {number}", range(2 + number, 22 + number), hold=f"hold {number}", max_tokens=0)
        )
        simulation.drain()
    simulation.plans.clear()
    simulation.add(*[request(str(number), [60 + number, 61, 62], max_tokens=5) for number in range(4)])
    simulation.drain()
    assert [len(plan.sequences) for plan in simulation.plans] == [4] * 5


def test_stop_shortens_the_hold_whether_the_sequence_runs_or_has_ended() -> None:
    for steps in (8, 20):
        simulation = Simulation(64, 4)
        simulation.add(request("a", [2, 3, 4], hold="context", max_tokens=12))
        for _ in range(steps):
            simulation.step()
        simulation.stop("a", 0, 3)
        leases = list(simulation.cache.leases.values())
        assert [lease.length for lease in leases] == [6]
        kept = content([2, 3, 4, *simulation.tokens("a")[:3]])
        slots = [leases[0].block_table[position // 4] * 4 + position % 4 for position in range(6)]
        assert [simulation.forward.slots[slot] for slot in slots] == list(kept)
        simulation.scheduler.release_hold("context")
        simulation.assert_drained()


def test_aborted_sequences_leave_no_hold_and_an_older_one_of_that_name_stays() -> None:
    simulation = Simulation(64, 4)
    simulation.add(request("a", range(2, 14), hold="context", max_tokens=0))
    simulation.drain()
    simulation.add(request("b", range(2, 16), hold="context"))
    simulation.step()
    simulation.abort("b")
    assert simulation.scheduler.stats().holds == 1
    assert [lease.length for lease in simulation.cache.leases.values()] == [12]


def test_with_the_cache_disabled_there_are_no_holds() -> None:
    simulation = Simulation(64, 4, enabled=False)
    simulation.add(request("a", range(2, 14), hold="context"))
    simulation.drain()
    assert simulation.scheduler.stats().holds == 0
    simulation.assert_drained()


def test_a_request_that_does_not_fit_yet_costs_no_hold_and_no_cached_block_and_is_counted_once() -> None:
    simulation = Simulation(16, 4)
    for each in (
        request("held", range(2, 14), hold="context", max_tokens=0),
        request("old", range(30, 42), max_tokens=0),
    ):
        simulation.add(each)
        simulation.drain()
    runs, waits = request("runs", range(50, 66), max_tokens=20), request("waits", range(10, 66), max_tokens=2)
    simulation.add(runs, waits)
    for _ in range(3):
        simulation.step()
        stats = simulation.cache.stats()
        assert (stats.evicted_blocks, stats.revoked_leases) == (0, 0)
        assert (simulation.scheduler.stats().holds, simulation.scheduler.stats().waiting) == (1, 1)
        assert stats.hit_tokens + stats.miss_tokens == 12 + 12 + 16
    simulation.drain()
    simulation.assert_as_if_alone(runs)
    simulation.assert_as_if_alone(waits)
    stats = simulation.cache.stats()
    assert stats.hit_tokens + stats.miss_tokens == 12 + 12 + 16 + 56
    assert stats.revoked_leases == 1


def test_only_as_many_holds_go_as_a_request_needs_the_oldest_first() -> None:
    simulation = Simulation(16, 4)
    for number in range(4):
        prompt = range(2 + 20 * number, 14 + 20 * number)
        simulation.add(request(f"context {number}", prompt, hold=str(number), max_tokens=0))
        simulation.drain()
    simulation.add(request("runs", [90], max_tokens=6))
    simulation.step()
    simulation.add(request("fits", range(60, 88), max_tokens=1))
    simulation.step()
    held = {lease.owner for lease in simulation.cache.leases.values()}
    assert held == {"context 2/0", "context 3/0", "runs/0"}
    assert simulation.cache.stats().revoked_leases == 2


def test_clearing_the_cache_gives_the_holds_back_and_their_contexts_compute_again() -> None:
    simulation = Simulation(16, 4)
    simulation.add(request("a", range(2, 14), hold="context", max_tokens=0))
    simulation.drain()
    simulation.add(request("b", range(40, 52), hold="other", max_tokens=4))
    simulation.step()
    held_by_b = 3
    assert simulation.scheduler.clear_cache() == 3
    stats = simulation.cache.stats()
    assert (stats.free_blocks, stats.cached_tokens) == (16 - held_by_b, 0)
    simulation.drain()
    assert simulation.scheduler.stats().holds == 0, "b ended after the clear: no look-up would find what it has"
    assert simulation.cache.stats().free_blocks == 16
    again = request("c", range(2, 20), max_tokens=4)
    simulation.add(again)
    simulation.drain()
    simulation.assert_as_if_alone(again)
