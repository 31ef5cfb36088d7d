from __future__ import annotations

import random

import pytest

from radixkv.errors import RequestTooLarge
from radixkv.request import FinishReason, Request
from scheduler_simulation import EOS, VOCAB, Simulation, request

STOPS = tuple(range(2, 60))


def test_an_end_id_ends_the_sequence_is_named_and_is_not_part_of_the_output() -> None:
    simulation = Simulation(64, 4)
    ended = [request(str(i), [i + 2], stop_token_ids=STOPS, max_tokens=60) for i in range(20)]
    simulation.add(*ended)
    simulation.drain()
    for each in ended:
        simulation.assert_as_if_alone(each)
        outcome = simulation.outcomes[each.request_id, 0]
        assert outcome.finish_reason is FinishReason.STOP
        assert outcome.last is not None
        assert outcome.last.stopped_by in STOPS
        assert not set(STOPS) & set(outcome.token_ids)


def test_end_of_sequence_ends_unless_ignored() -> None:
    simulation = Simulation(400, 4)
    heeding = [request(f"heed {i}", [i + 2], ignore_eos=False, max_tokens=200) for i in range(10)]
    ignoring = [request(f"ignore {i}", [i + 2], max_tokens=200) for i in range(10)]
    simulation.add(*heeding, *ignoring)
    simulation.drain()
    for each in (*heeding, *ignoring):
        simulation.assert_as_if_alone(each)
    assert any(simulation.outcomes[each.request_id, 0].last.stopped_by == EOS for each in heeding)  # type: ignore[union-attr]
    assert any(EOS in simulation.tokens(each.request_id) for each in ignoring)


def test_end_ids_are_banned_before_min_tokens() -> None:
    simulation = Simulation(64, 4)
    ended = [
        request(str(i), [i + 2], stop_token_ids=STOPS, ignore_eos=False, max_tokens=60, min_tokens=7) for i in range(9)
    ]
    simulation.add(*ended)
    simulation.drain()
    for each in ended:
        simulation.assert_as_if_alone(each)
        assert len(simulation.tokens(each.request_id)) >= 7
    states = [each.sampling for plan in simulation.plans for each in plan.sequences if each.sampling]
    assert all(state.banned_ids == ((EOS, *STOPS) if state.position < 7 else ()) for state in states)


@pytest.mark.parametrize("steps", range(6))
@pytest.mark.parametrize("open_step", [False, True])
def test_abort_at_any_moment_frees_everything(steps: int, open_step: bool) -> None:
    simulation = Simulation(8, 4, step_tokens=8)
    simulation.add(*[request(str(i), [*range(2, 18), 20 + i // 2], n=1 + i % 2, priority=i % 2) for i in range(4)])
    for _ in range(steps):
        simulation.step()
    plan = simulation.scheduler.schedule() if open_step else None
    for name in "0123":
        simulation.abort(name)
        simulation.abort(name)
    if plan is not None:
        assert simulation.scheduler.finish_step(plan, simulation.forward.run(plan)) == []
    assert {outcome.finish_reason for outcome in simulation.outcomes.values()} == {FinishReason.ABORT}
    assert simulation.scheduler.schedule() is None
    simulation.assert_drained()


def test_aborting_an_unknown_request_is_harmless() -> None:
    assert Simulation().scheduler.abort("nobody") == []


def test_a_failed_step_ends_its_sequences_and_publishes_nothing() -> None:
    simulation = Simulation(64, 4)
    simulation.add(request("a", range(2, 30)), request("b", range(40, 60)))
    plan = simulation.scheduler.schedule()
    assert plan is not None
    simulation.take(simulation.scheduler.fail_step(plan))
    assert {outcome.finish_reason for outcome in simulation.outcomes.values()} == {FinishReason.ERROR}
    assert simulation.cache.stats().cached_tokens == 0
    again = request("c", range(2, 30))
    simulation.add(again)
    simulation.drain()
    simulation.assert_as_if_alone(again)


def test_r101_waiting_requests_hold_nothing_so_aborting_them_leaves_nothing() -> None:
    simulation = Simulation(64, 4, max_running=1)
    simulation.add(request("warm", range(2, 30), max_tokens=0))
    simulation.drain()
    simulation.add(request("long", range(40, 60), max_tokens=100))
    simulation.add(*[request(str(i), [*range(2, 30), i]) for i in range(20)])
    simulation.step()
    assert simulation.cache.stats().leases == 1
    for i in range(20):
        simulation.abort(str(i))
    simulation.abort("long")
    stats = simulation.cache.stats()
    assert (stats.leases, stats.held_blocks) == (0, 0)
    assert simulation.cache.evict(64) == stats.cached_blocks
    simulation.assert_drained()


def test_stop_from_outside_forgets_the_output_beyond_what_is_kept() -> None:
    simulation = Simulation(64, 4)
    simulation.add(request("a", [2, 3, 4], max_tokens=50), request("b", [5, 6], max_tokens=12))
    for _ in range(9):
        simulation.step()
    simulation.stop("a", 0, 5, "text")
    outcome = simulation.outcomes["a", 0]
    assert outcome.last is not None
    assert (outcome.last.finish_reason, outcome.last.stopped_by) == (FinishReason.STOP, "text")
    assert outcome.last.usage is not None
    assert outcome.last.usage.completion_tokens == 5
    assert simulation.scheduler.stop("a", 0, 2, "text") is None, "it has ended"
    simulation.drain()
    simulation.assert_as_if_alone(request("b", [5, 6], max_tokens=12))
    simulation.assert_drained()


def test_stop_in_an_open_step_drops_the_result_of_the_step() -> None:
    simulation = Simulation(64, 4)
    simulation.add(request("a", [2, 3, 4], max_tokens=50))
    for _ in range(6):
        simulation.step()
    plan = simulation.scheduler.schedule()
    assert plan is not None
    simulation.stop("a", 0, 6)
    assert simulation.scheduler.finish_step(plan, simulation.forward.run(plan)) == []
    simulation.assert_drained()


def short_request(rng: random.Random, number: int) -> Request:
    n = rng.choice([1, 1, 1, 2, 3])
    prompt = [*range(2, 2 + rng.randrange(0, 24)), rng.randrange(2, VOCAB)]
    return request(
        str(number),
        prompt + [5] * (200 if rng.random() < 0.01 else 0),
        seed=number,
        n=n,
        max_tokens=rng.randrange(0, 12),
        ignore_eos=rng.random() < 0.5,
        stop_token_ids=STOPS if rng.random() < 0.3 else (),
        temperature=rng.choice([0.0, 1.0]),
        priority=rng.choice([0, 0, 0, 1]),
        hold=f"hold {rng.randrange(5)}" if n == 1 and rng.random() < 0.2 else None,
    )


def mixed_load(simulation: Simulation, rng: random.Random, count: int) -> dict[str, Request]:
    """Submit, abort, fail and step at random; the requests that were not refused."""
    requests = {}
    for number in range(count):
        each = short_request(rng, number)
        if len(each.prompt) > 96:
            with pytest.raises(RequestTooLarge):
                simulation.add(each)
            continue
        simulation.add(each)
        requests[each.request_id] = each
        if rng.random() < 0.15:
            simulation.abort(str(rng.randrange(number + 1)))
        if rng.random() < 0.02 and (plan := simulation.scheduler.schedule()):
            simulation.take(simulation.scheduler.fail_step(plan))
        for _ in range(rng.randrange(0, 3)):
            simulation.step()
        if number % 100 == 0:
            simulation.scheduler.check_integrity()
    return requests


def test_r098_two_thousand_short_requests_that_end_in_every_way_leave_nothing() -> None:
    simulation = Simulation(24, 4, max_running=12, step_tokens=48, check=False)
    requests = mixed_load(simulation, random.Random(98), 2000)
    simulation.drain()
    for each in requests.values():
        reasons = {simulation.outcomes[each.request_id, choice].finish_reason for choice in range(each.sampling.n)}
        assert None not in reasons
        if FinishReason.ERROR not in reasons:
            simulation.assert_as_if_alone(each)
    seen = {outcome.finish_reason for outcome in simulation.outcomes.values()}
    assert seen == {FinishReason.STOP, FinishReason.LENGTH, FinishReason.ABORT, FinishReason.ERROR}
    stats = simulation.scheduler.stats()
    assert min(stats.preemptions, stats.stalls, stats.prefix_waits) > 0
    for number in range(5):
        simulation.scheduler.release_hold(f"hold {number}")
    simulation.assert_drained()
