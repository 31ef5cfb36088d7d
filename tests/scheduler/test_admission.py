from __future__ import annotations

import pytest

from radixkv.errors import InvalidRequest, RequestTooLarge
from radixkv.request import FinishReason, ScoreTarget
from scheduler_simulation import Simulation, request


@pytest.mark.parametrize("enabled", [True, False])
def test_r076_r093_a_prompt_that_can_never_fit_the_pool_is_refused_at_once(enabled: bool) -> None:
    simulation = Simulation(16, 4, enabled=enabled)
    with pytest.raises(RequestTooLarge, match=r"prompt tokens: got 70, expected at most 64 .*--kv-memory") as error:
        simulation.add(request("long", range(2, 72), max_tokens=5))
    assert (error.value.needed, error.value.available) == (70, 64)
    fits = request("short", range(2, 7), max_tokens=5)
    simulation.add(fits)
    simulation.drain()
    simulation.assert_as_if_alone(fits)
    assert ("long", 0) not in simulation.outcomes
    simulation.assert_drained()


def test_a_prompt_beyond_the_context_is_refused_with_numbers_and_a_way_out() -> None:
    simulation = Simulation(16, 4, max_context=20)
    with pytest.raises(RequestTooLarge, match=r"got 20, expected at most 19 .*--max-context"):
        simulation.add(request("full", range(2, 22)))
    simulation.add(request("only KV", range(2, 22), max_tokens=0))
    simulation.drain()


def test_output_is_capped_by_the_context() -> None:
    simulation = Simulation(16, 4, max_context=20)
    simulation.add(request("a", range(2, 17), max_tokens=100))
    simulation.drain()
    assert len(simulation.tokens("a")) == 5
    assert simulation.outcomes["a", 0].finish_reason is FinishReason.LENGTH


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"prompt": []}, "prompt"),
        ({"hold": "h", "n": 2}, "hold"),
        ({"targets": (ScoreTarget(3, 5),)}, "targets"),
        ({"targets": (ScoreTarget(1, 5), ScoreTarget(0, 5))}, "targets"),
    ],
)
def test_bad_requests_are_refused_by_field(fields: dict[str, object], field: str) -> None:
    simulation = Simulation()
    with pytest.raises(InvalidRequest) as error:
        simulation.add(request("a", **{"prompt": [2, 3, 4], **fields}))  # type: ignore[arg-type]
    assert error.value.field == field
    assert not simulation.scheduler.has_work


def test_an_id_in_use_is_refused_and_free_again_afterwards() -> None:
    simulation = Simulation()
    simulation.add(request("a", [2, 3]))
    with pytest.raises(InvalidRequest, match="request_id"):
        simulation.add(request("a", [4, 5]))
    simulation.drain()
    simulation.outcomes.clear()
    simulation.add(request("a", [4, 5]))
    simulation.drain()


def test_steps_are_closed_exactly_once() -> None:
    simulation = Simulation()
    simulation.add(request("a", [2, 3]))
    plan = simulation.scheduler.schedule()
    assert plan is not None
    with pytest.raises(RuntimeError, match="still open"):
        simulation.scheduler.schedule()
    result = simulation.forward.run(plan)
    simulation.scheduler.finish_step(plan, result)
    with pytest.raises(ValueError, match="not open"):
        simulation.scheduler.finish_step(plan, result)
