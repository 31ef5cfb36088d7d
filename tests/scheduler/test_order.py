from __future__ import annotations

import math

import hypothesis.strategies as st
from hypothesis import given, settings

from scheduler_simulation import Simulation, request

HOT = tuple(range(2, 34))


def started(simulation: Simulation) -> dict[int, int]:
    """Sequence id -> step in which it first ran."""
    first: dict[int, int] = {}
    for plan in simulation.plans:
        for sequence in plan.sequences:
            first.setdefault(sequence.sequence_id, plan.step)
    return first


def test_higher_priority_goes_first() -> None:
    simulation = Simulation(max_running=1)
    simulation.add(*[request(str(i), [i + 2, 3], priority=i) for i in range(4)])
    simulation.drain()
    assert sorted(started(simulation), key=started(simulation).__getitem__) == [3, 2, 1, 0]


def test_saved_work_goes_first_also_when_it_was_cached_only_after_the_request_came() -> None:
    simulation = Simulation(max_running=1)
    simulation.add(request("hot", HOT, max_tokens=4, priority=1))
    simulation.step()
    simulation.add(request("cold", range(60, 80)), request("warm", [*HOT, 70]))
    simulation.drain()
    assert started(simulation)[2] < started(simulation)[1]


def test_age_outweighs_saved_work() -> None:
    simulation = Simulation(max_running=1, age_weight=8.0)
    simulation.add(request("hot", HOT, max_tokens=12))
    simulation.step()
    simulation.add(request("cold", range(60, 80)))
    for _ in range(5):
        simulation.step()
    simulation.add(request("warm", [*HOT, 70]))
    simulation.drain()
    assert started(simulation)[1] < started(simulation)[2], "40 tokens of age against 32 of hit"


arrivals = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, len(HOT)), st.lists(st.integers(40, 90), min_size=1, max_size=4)),
    min_size=5,
    max_size=40,
)


@given(arrivals, st.sampled_from([2.0, 8.0, 16.0]), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_starvation_is_bounded(
    arrivals: list[tuple[int, int, list[int]]], age_weight: float, max_prefix_wait: int, max_running: int
) -> None:
    """Nobody who came (H - h) / age_weight steps after a request starts before it, but for max_prefix_wait steps.

    H is the largest hit there is and h >= 0 the request's own.
    """
    simulation = Simulation(
        200, 4, check=False, max_running=max_running, age_weight=age_weight, max_prefix_wait=max_prefix_wait
    )
    arrived = []
    for number, (pause, shared, rest) in enumerate(arrivals):
        for _ in range(pause):
            simulation.step()
        arrived.append(simulation.scheduler.stats().steps)
        simulation.add(request(str(number), [*HOT[:shared], *rest], max_tokens=3))
    simulation.drain()
    longest_hit = max(shared + len(rest) for _, shared, rest in arrivals) - 1
    window = math.ceil(longest_hit / age_weight)
    first = started(simulation)
    for one in range(len(arrivals)):
        late = {first[other] for other in first if arrived[other] > arrived[one] + window and first[other] < first[one]}
        assert len(late) <= max_prefix_wait


def test_a_cold_request_is_not_starved_by_a_stream_of_hits() -> None:
    simulation = Simulation(max_running=1, age_weight=16.0)
    simulation.add(request("hot", HOT, max_tokens=0))
    simulation.drain()
    simulation.add(request("cold", range(60, 80), max_tokens=1))
    for number in range(100):
        simulation.add(request(f"warm {number}", [*HOT, 40 + number % 50], max_tokens=1))
        simulation.step()
    assert started(simulation)[1] <= 1 + math.ceil(len(HOT) / 16.0) + 1


def test_thousands_may_wait_at_no_cost_in_look_ups_while_no_place_is_free() -> None:
    simulation = Simulation(200, 4, max_running=2, check=False)
    simulation.add(*[request(str(i), [*HOT, 40 + i % 50], max_tokens=30) for i in range(2000)])
    for _ in range(10):
        simulation.step()
    look_ups = []
    found = simulation.cache.lookup
    simulation.cache.lookup = lambda *given: look_ups.append(1) or found(*given)  # type: ignore[method-assign, assignment, func-returns-value]
    for _ in range(10):
        simulation.step()
    assert not look_ups
    for _ in range(30):
        before = len(look_ups)
        simulation.step()
        assert len(look_ups) - before <= 40
    assert look_ups
