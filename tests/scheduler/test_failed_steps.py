"""A step may fail before its copies have run: no lease or cached block may have slots that such a copy was to fill."""

from __future__ import annotations

import pytest

from radixkv.request import FinishReason
from radixkv.step_plan import StepPlan
from scheduler_simulation import Simulation, request

SYSTEM = range(2, 16)  # three blocks of 4 and a half


def warm(**config: float) -> Simulation:
    """Cached: the system prompt, its last block in part."""
    simulation = Simulation(32, 4, **config)
    simulation.add(request("warm", SYSTEM, max_tokens=0))
    simulation.drain()
    return simulation


def open_step(simulation: Simulation) -> StepPlan:
    plan = simulation.scheduler.schedule()
    assert plan is not None
    assert plan.copies
    return plan


def assert_cache_is_true(simulation: Simulation) -> None:
    """Whoever hits what is cached now computes what he would have alone."""
    later = [
        request("later", [*SYSTEM, 60, 61], max_tokens=6),
        request("next", [*SYSTEM, 70], max_tokens=6),
        request("same", SYSTEM, max_tokens=6),
        request("as first", [*SYSTEM, *simulation.tokens("first")], max_tokens=6),
    ]
    for each in later:
        simulation.add(each)
        simulation.drain()
        simulation.assert_as_if_alone(each)


def test_partial_hits_of_a_failed_step_leave_nothing() -> None:
    simulation = warm()
    simulation.add(request("first", [*SYSTEM, 60, 61]), request("second", [*SYSTEM, 70], hold="context"))
    simulation.take(simulation.scheduler.fail_step(open_step(simulation)))
    assert simulation.cache.stats().leases == 0
    assert simulation.cache.stats().cached_tokens == len(SYSTEM)
    assert_cache_is_true(simulation)
    simulation.assert_drained()


def test_a_sequence_preempted_while_the_step_was_planned_is_no_row_and_keeps_nothing() -> None:
    """Its copy is left out or in vain; when it runs again its hit is looked up anew."""
    simulation = Simulation(8, 4)
    simulation.add(request("warm", SYSTEM, max_tokens=0))
    simulation.drain()
    simulation.add(request("first", [*SYSTEM, 60], max_tokens=8))
    simulation.step()
    urgent = request("urgent", range(40, 60), max_tokens=4, priority=1)
    simulation.add(urgent)
    plan = simulation.scheduler.schedule()
    assert plan is not None
    assert simulation.scheduler.stats().preemptions == 1
    simulation.take(simulation.scheduler.fail_step(plan))
    simulation.drain()
    assert simulation.outcomes["urgent", 0].finish_reason is FinishReason.ERROR
    simulation.assert_as_if_alone(request("first", [*SYSTEM, 60], max_tokens=8))
    assert_cache_is_true(simulation)
    simulation.assert_drained()


@pytest.mark.parametrize("end", ["stop", "abort"])
@pytest.mark.parametrize("hold", [None, "context"])
def test_who_ends_in_an_open_step_publishes_and_holds_no_tail_that_waits_for_its_copy(
    end: str, hold: str | None
) -> None:
    simulation = warm()
    simulation.add(request("first", [*SYSTEM, 60, 61], hold=hold))
    plan = open_step(simulation)
    if end == "stop":
        simulation.stop("first", 0, 0)
    else:
        simulation.abort("first")
    simulation.take(simulation.scheduler.fail_step(plan))
    assert [lease.length for lease in simulation.cache.leases.values()] == (
        [12] if (end, hold) == ("stop", "context") else []
    )
    assert_cache_is_true(simulation)
    simulation.scheduler.release_hold("context")
    simulation.assert_drained()


def test_choices_that_copy_their_shared_tail_in_a_failed_step_leave_it_as_it_was() -> None:
    simulation = warm()
    simulation.add(request("first", [*SYSTEM, 60], n=3, temperature=1.0))
    simulation.step()
    simulation.take(simulation.scheduler.fail_step(open_step(simulation)))
    assert {outcome.finish_reason for (name, _), outcome in simulation.outcomes.items() if name == "first"} == {
        FinishReason.ERROR
    }
    assert simulation.cache.stats().leases == 0
    assert_cache_is_true(simulation)
    simulation.assert_drained()
