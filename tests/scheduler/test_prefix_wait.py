from __future__ import annotations

import pytest

from scheduler_simulation import Simulation, request

PREFIX = range(2, 42)


def test_equal_prompts_in_flight_are_computed_once() -> None:
    simulation = Simulation(200, 4, step_tokens=16)
    equal = [request(str(i), PREFIX, max_tokens=3) for i in range(8)]
    simulation.add(*equal)
    simulation.drain()
    for each in equal:
        simulation.assert_as_if_alone(each)
    decoded = 8 * 2  # the last sampled token needs no KV
    assert simulation.forward.computed == 40 + 7 * 1 + decoded, "the others compute the last prompt token only"
    assert simulation.scheduler.stats().prefix_waits == 7


def test_those_who_waited_for_a_prefix_start_in_the_same_step_and_share_it() -> None:
    simulation = Simulation(200, 4)
    judges = [request(f"judge {i}", [*PREFIX, 50 + i, 60], max_tokens=4) for i in range(12)]
    simulation.add(*judges)
    simulation.drain()
    assert [len(plan.sequences) for plan in simulation.plans] == [1, 12, 12, 12, 11]
    assert simulation.plans[1].groups[0].rows == tuple(range(12))
    assert simulation.forward.computed == 42 + 11 * 2 + 12 * 3


def test_the_wait_ends_as_soon_as_the_shared_part_is_there() -> None:
    simulation = Simulation(200, 4, step_tokens=8)
    simulation.add(request("long", [*PREFIX, *range(50, 90)]), request("short", [*PREFIX[:8], 95, 96]))
    simulation.step()
    simulation.step()
    assert simulation.scheduler.stats().waiting == 1, "the first prefill takes the whole budget"
    simulation.add(request("other", [95]))
    for _ in range(9):
        simulation.step()
    assert {each.sequence_id for each in simulation.plans[-1].sequences} == {0, 1, 2}


def test_the_wait_is_bounded_in_steps() -> None:
    """Somebody announces the prefix and never computes it."""
    simulation = Simulation(200, 4, max_prefix_wait=3, check=False)
    waiting = request("b", PREFIX)
    idle = simulation.cache.acquire(waiting.prompt, waiting.namespace, owner="idle")
    simulation.add(request("a", [95], max_tokens=30), waiting)
    for _ in range(3):
        simulation.step()
        assert simulation.scheduler.stats().waiting_for_prefix == 1
    simulation.step()
    assert simulation.scheduler.stats().waiting == 0
    simulation.drain()
    simulation.assert_as_if_alone(waiting)
    simulation.cache.release(idle)
    simulation.assert_drained()


def test_nobody_waits_for_a_prefix_while_nothing_runs() -> None:
    simulation = Simulation(200, 4, check=False)
    alone = request("b", PREFIX)
    simulation.cache.acquire(alone.prompt, alone.namespace, owner="idle")
    simulation.add(alone)
    simulation.step()
    assert simulation.scheduler.stats().running == 1


@pytest.mark.parametrize("how", ["abort", "fail", "clear"])
def test_the_wait_ends_with_the_life_of_the_other(how: str) -> None:
    simulation = Simulation(200, 4, step_tokens=8)
    waiting = request("b", PREFIX)
    simulation.add(request("a", PREFIX), waiting)
    plan = simulation.scheduler.schedule()
    assert plan is not None
    assert [each.sequence_id for each in plan.sequences] == [0]
    if how == "fail":
        simulation.take(simulation.scheduler.fail_step(plan))
    else:
        simulation.take(simulation.scheduler.finish_step(plan, simulation.forward.run(plan)))
        simulation.abort("a") if how == "abort" else simulation.scheduler.clear_cache()
    simulation.drain()
    simulation.assert_as_if_alone(waiting)


def test_a_prompt_that_shares_less_than_a_block_does_not_wait() -> None:
    simulation = Simulation(200, 8)
    simulation.add(request("a", range(2, 30)), request("b", [*range(2, 8), *range(60, 80)]))
    simulation.step()
    assert len(simulation.plans[0].sequences) == 2


def test_other_namespaces_share_nothing_and_do_not_wait() -> None:
    simulation = Simulation(200, 4)
    simulation.add(request("a", PREFIX, salt="a"), request("b", PREFIX, salt="b"))
    simulation.drain()
    assert len(simulation.plans[0].sequences) == 2
    assert simulation.forward.computed == 2 * 40 + 2 * 9
