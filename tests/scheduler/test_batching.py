from __future__ import annotations

from radixkv.request import FinishReason
from scheduler_simulation import Simulation, request


def test_decodes_and_prefill_chunks_share_a_step_and_its_budget() -> None:
    simulation = Simulation(64, 4, step_tokens=8)
    simulation.add(request("a", range(2, 6), max_tokens=20))
    simulation.step()
    simulation.add(request("b", range(30, 50)))
    simulation.step()
    assert [len(each.token_ids) for each in simulation.plans[-1].sequences] == [1, 7]
    simulation.step()
    simulation.step()
    assert [len(each.token_ids) for each in simulation.plans[-1].sequences] == [1, 6]
    simulation.step()
    assert [len(each.token_ids) for each in simulation.plans[-1].sequences] == [1, 1]
    simulation.drain()
    simulation.assert_as_if_alone(request("b", range(30, 50)))


def test_a_chunk_proceeds_even_when_all_places_but_one_decode() -> None:
    simulation = Simulation(64, 4, step_tokens=4, max_running=64)
    requests = [request(str(i), [i + 2, 3], max_tokens=30) for i in range(3)] + [request("long", range(40, 60))]
    simulation.add(*requests)
    simulation.drain()
    for each in requests:
        simulation.assert_as_if_alone(each)
    assert max(len(plan.sequences) for plan in simulation.plans) == 4


def test_sequences_on_one_context_run_in_the_same_steps_as_a_group() -> None:
    simulation = Simulation(64, 4)
    context = list(range(2, 34))
    simulation.add(request("context", context, max_tokens=0))
    simulation.drain()
    simulation.plans.clear()
    branches = [request(f"branch {i}", [*context, 50 + i], max_tokens=6) for i in range(5)]
    simulation.add(*branches)
    simulation.drain()
    assert len(simulation.plans) == 6
    assert all(len(plan.sequences) == 5 for plan in simulation.plans)
    assert all(
        len(plan.groups[0].block_ids) == 8 and plan.groups[0].rows == (0, 1, 2, 3, 4) for plan in simulation.plans
    )
    assert simulation.forward.computed == 32 + 5 * 6


def test_only_kv_wanted_ends_with_the_prompt_and_samples_nothing() -> None:
    simulation = Simulation(64, 4)
    simulation.add(request("a", range(2, 14), max_tokens=0))
    simulation.drain()
    assert simulation.outcomes["a", 0].finish_reason is FinishReason.LENGTH
    assert simulation.tokens("a") == []
    assert all(each.sampling is None for plan in simulation.plans for each in plan.sequences)
    computed = simulation.forward.computed
    simulation.add(request("b", range(2, 14), max_tokens=0))
    simulation.drain()
    assert simulation.forward.computed == computed + 1, "a prompt that is cached whole costs its last token"
    usage = simulation.outcomes["b", 0].last.usage  # type: ignore[union-attr]
    assert (usage.cached_tokens, usage.computed_tokens) == (11, 1)  # type: ignore[union-attr]


def test_penalties_get_prompt_and_output_others_get_neither() -> None:
    simulation = Simulation(64, 4)
    simulation.add(request("plain", [2, 3]), request("penalised", [4, 5], repetition_penalty=1.1))
    simulation.add(request("presence", [6, 7], presence_penalty=1.0))
    simulation.drain()
    lengths = [
        [(len(each.sampling.prompt_ids), len(each.sampling.output_ids)) for each in plan.sequences if each.sampling]
        for plan in simulation.plans
    ]
    assert lengths[3] == [(0, 0), (2, 3), (0, 3)]


def test_choices_without_any_place_wait_for_one() -> None:
    simulation = Simulation(16, 4, max_running=1)
    simulation.add(each := request("a", range(2, 9), n=3, temperature=1.0, max_tokens=4))
    simulation.drain()
    simulation.assert_as_if_alone(each)
    simulation.assert_drained()
