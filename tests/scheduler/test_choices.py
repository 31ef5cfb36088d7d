from __future__ import annotations

import pytest

from radixkv.request import FinishReason, Usage
from scheduler_simulation import Simulation, request


@pytest.mark.parametrize("num_blocks", [15, 20, 200])
@pytest.mark.parametrize("length", [1, 3, 4, 5])
def test_r097_three_choices_of_fifty_tokens_in_a_small_pool_equal_those_in_a_big_one(
    num_blocks: int, length: int
) -> None:
    simulation = Simulation(num_blocks, 4)
    sampled = request("a", range(2, 2 + length), n=3, max_tokens=50, temperature=1.0, seed=1)
    simulation.add(sampled)
    simulation.drain()
    simulation.assert_as_if_alone(sampled)
    assert [len(simulation.tokens("a", choice)) for choice in range(3)] == [50, 50, 50]
    assert len({tuple(simulation.tokens("a", choice)) for choice in range(3)}) == 3
    simulation.assert_drained()


def test_choices_share_the_prompt_and_run_in_the_same_steps() -> None:
    simulation = Simulation(64, 4)
    simulation.add(request("a", range(2, 36), n=4, temperature=1.0, max_tokens=5))
    simulation.drain()
    assert [len(plan.sequences) for plan in simulation.plans] == [1, 4, 4, 4, 4, 3]
    assert simulation.forward.computed == 34 + 3 + 4 * 4
    assert len(simulation.plans[1].groups[0].block_ids) == 8


@pytest.mark.parametrize(("num_blocks", "max_running"), [(64, 64), (64, 2), (12, 64)])
def test_usage_counts_the_prompt_once_and_the_last_token_of_each_further_choice(
    num_blocks: int, max_running: int
) -> None:
    """Also where choices wait for a place, and where the pool is so small that they are preempted."""
    simulation = Simulation(num_blocks, 4, max_running=max_running)
    simulation.add(request("a", range(2, 36), n=3, max_tokens=5))
    simulation.drain()
    usages = [simulation.outcomes["a", choice].last.usage for choice in range(3)]  # type: ignore[union-attr]
    assert usages == [Usage(34, 0, 34, 0, 5), Usage(1, 0, 1, 0, 5), Usage(1, 0, 1, 0, 5)]
    if num_blocks == 64:
        assert sum(usage.computed_tokens for usage in usages) + 3 * 4 == simulation.forward.computed


def test_choices_without_a_place_in_the_batch_follow_later() -> None:
    simulation = Simulation(64, 4, max_running=2)
    sampled = request("a", range(2, 36), n=5, temperature=1.0)
    simulation.add(sampled)
    simulation.drain()
    simulation.assert_as_if_alone(sampled)
    assert max(len(plan.sequences) for plan in simulation.plans) == 2
    assert simulation.forward.computed <= 34 + 4 + 5 * 9


def test_places_are_kept_for_choices_that_will_come() -> None:
    simulation = Simulation(64, 4, max_running=4, step_tokens=8)
    simulation.add(request("a", range(2, 36), n=3), request("b", range(50, 60)), request("c", range(60, 70)))
    simulation.drain()
    assert max(len(plan.sequences) for plan in simulation.plans) == 4


def test_choices_end_one_by_one_also_at_the_first_token() -> None:
    for seed in range(60):
        simulation = Simulation(64, 4)
        stops = tuple(range(50))
        sampled = request("a", [2, 3, 4], n=3, temperature=1.0, seed=seed, stop_token_ids=stops)
        simulation.add(sampled)
        simulation.drain()
        simulation.assert_as_if_alone(sampled)
        simulation.assert_drained()


def test_every_choice_is_told_the_end_even_before_it_exists() -> None:
    for end in ("abort", "fail", "kv only"):
        simulation = Simulation(64, 4, step_tokens=8)
        simulation.add(request("a", range(2, 36), n=3, max_tokens=0 if end == "kv only" else 5))
        plan = simulation.scheduler.schedule()
        assert plan is not None
        if end == "abort":
            simulation.abort("a")
        if end == "fail":
            simulation.take(simulation.scheduler.fail_step(plan))
        else:
            simulation.take(simulation.scheduler.finish_step(plan, simulation.forward.run(plan)))
        simulation.drain()
        reason = {"abort": FinishReason.ABORT, "fail": FinishReason.ERROR, "kv only": FinishReason.LENGTH}[end]
        assert [simulation.outcomes["a", choice].finish_reason for choice in range(3)] == [reason] * 3
        assert simulation.scheduler.stats().finished == 3
        simulation.assert_drained()
