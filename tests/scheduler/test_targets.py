from __future__ import annotations

import pytest

from radixkv.request import ScoreTarget
from scheduler_simulation import Simulation, request

PROMPT = range(2, 26)


@pytest.mark.parametrize("step_tokens", [1, 5, 64])
def test_targets_are_scored_across_chunks_and_only_what_they_need_is_computed(step_tokens: int) -> None:
    simulation = Simulation(64, 4, step_tokens=step_tokens)
    simulation.add(request("warm", PROMPT, max_tokens=0))
    simulation.drain()
    computed = simulation.forward.computed
    targets = (ScoreTarget(18, 5), ScoreTarget(18, 6), ScoreTarget(21, 7), ScoreTarget(23, 8))
    scored = request("score", PROMPT, targets=targets, max_tokens=0)
    simulation.add(scored)
    simulation.drain()
    simulation.assert_as_if_alone(scored)
    assert [each.token_id for each in simulation.outcomes["score", 0].targets] == [5, 6, 7, 8]
    assert simulation.forward.computed - computed == 24 - 18


@pytest.mark.parametrize("step_tokens", [1, 5, 64])
def test_prompt_logprobs_are_given_for_every_token_but_the_first_also_on_a_cache_hit(step_tokens: int) -> None:
    simulation = Simulation(64, 4, step_tokens=step_tokens)
    for name in ("cold", "warm"):
        scored = request(name, PROMPT, prompt_logprobs=2)
        simulation.add(scored)
        simulation.drain()
        simulation.assert_as_if_alone(scored)
        assert [each.token_id for each in simulation.outcomes[name, 0].targets] == list(PROMPT[1:])
    assert all(each.prompt_logprobs_top == 2 for plan in simulation.plans for each in plan.sequences)


def test_prompt_logprobs_and_targets_come_merged_by_position() -> None:
    simulation = Simulation(64, 4, step_tokens=7)
    both = request("a", PROMPT, prompt_logprobs=0, targets=(ScoreTarget(3, 90), ScoreTarget(23, 91)))
    simulation.add(both)
    simulation.drain()
    simulation.assert_as_if_alone(both)
    ids = [each.token_id for each in simulation.outcomes["a", 0].targets]
    assert ids == [*PROMPT[1:5], 90, *PROMPT[5:], 91]


def test_targets_delivered_before_a_preemption_are_not_repeated() -> None:
    simulation = Simulation(12, 4, step_tokens=6)
    scored = request("score", PROMPT, prompt_logprobs=0)
    simulation.add(scored)
    simulation.step()
    simulation.step()
    simulation.add(request("urgent", range(40, 60), priority=1, max_tokens=8))
    simulation.drain()
    assert simulation.scheduler.stats().preemptions > 0
    simulation.assert_as_if_alone(scored)


def test_logprobs_are_cut_with_the_tokens() -> None:
    simulation = Simulation(64, 4)
    simulation.add(request("a", [2, 3], logprobs=0, ignore_eos=False, stop_token_ids=tuple(range(40)), max_tokens=40))
    simulation.drain()
    outcome = simulation.outcomes["a", 0]
    assert [each.token_id for each in outcome.logprobs] == outcome.token_ids
