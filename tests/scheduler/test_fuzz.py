"""A random life: requests, aborts, stops and failing steps on tiny pools; every output is what it is alone."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from radixkv.errors import RequestTooLarge
from radixkv.request import FinishReason, Namespace, Request, SamplingParams, ScoreTarget
from radixkv.tokens import token_array
from scheduler_simulation import EOS, VOCAB, Simulation

PREFIXES = [tuple(range(2, 2 + length)) for length in (0, 3, 8, 13)] + [tuple(range(40, 56))]


@st.composite
def drafts(draw: st.DrawFn) -> Request:
    """A request without a name."""
    rest = draw(st.lists(st.integers(2, VOCAB - 1), max_size=6))
    prompt = token_array([*draw(st.sampled_from(PREFIXES)), *rest] or [2])
    max_tokens = draw(st.integers(0, 12))
    n = draw(st.sampled_from([1, 1, 1, 2, 3]))
    sampling = SamplingParams(
        n=n,
        max_tokens=max_tokens,
        min_tokens=draw(st.sampled_from([0, 0, max_tokens])),
        temperature=draw(st.sampled_from([0.0, 1.0])),
        ignore_eos=draw(st.booleans()),
        stop_token_ids=draw(st.sampled_from([(), (), tuple(range(50, 60))])),
        prompt_logprobs=draw(st.sampled_from([None, None, None, 0])),
        repetition_penalty=draw(st.sampled_from([1.0, 1.5])),
    )
    positions = draw(st.sampled_from([(), (), (0,), (len(prompt) // 2, len(prompt) - 1)]))
    return Request(
        "",
        prompt,
        sampling,
        seed=0,
        namespace=Namespace(salt=draw(st.sampled_from(["", "", "", "other"]))),
        targets=tuple(ScoreTarget(position, 5) for position in positions),
        hold=draw(st.sampled_from([None, None, "x", "y"])) if n == 1 else None,
        priority=draw(st.sampled_from([0, 0, 0, 1])),
    )


class SchedulerLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.requests: dict[str, Request] = {}
        self.kept: dict[tuple[str, int], int] = {}
        self.failed: set[str] = set()

    @initialize(
        num_blocks=st.integers(4, 20),
        block_size=st.sampled_from([1, 2, 4]),
        max_running=st.sampled_from([1, 2, 4, 64]),
        step_tokens=st.sampled_from([3, 8, 64]),
        max_prefix_wait=st.sampled_from([1, 5, 64]),
        age_weight=st.sampled_from([0.5, 16.0]),
        enabled=st.sampled_from([True, True, True, False]),
    )
    def start(self, num_blocks: int, block_size: int, enabled: bool, **config: float) -> None:
        self.simulation = Simulation(num_blocks, block_size, enabled=enabled, max_context=64, **config)

    @rule(draft=drafts())
    def submit(self, draft: Request) -> None:
        name = str(len(self.requests))
        request = replace(draft, request_id=name, seed=len(name))
        if len(request.prompt) > self.simulation.cache.stats().total_blocks * self.simulation.cache.block_size:
            with pytest.raises(RequestTooLarge):
                self.simulation.add(request)
        else:
            self.simulation.add(request)
            self.requests[name] = request

    @rule(count=st.integers(1, 8))
    def steps(self, count: int) -> None:
        for _ in range(count):
            self.simulation.step()

    def pick(self, number: int) -> str | None:
        return str(number % len(self.requests)) if self.requests else None

    @rule(number=st.integers(0, 50))
    def abort(self, number: int) -> None:
        if (name := self.pick(number)) in self.requests:
            self.simulation.abort(name)

    @rule(number=st.integers(0, 50), end=st.sampled_from(["abort", "stop", "nothing"]), fail=st.booleans())
    def end_or_fail_in_an_open_step(self, number: int, end: str, fail: bool) -> None:
        plan = self.simulation.scheduler.schedule()
        if plan is None:
            return
        name = self.pick(number)
        if end == "abort" and name in self.requests:
            self.simulation.abort(name)
        elif end == "stop":
            self.stop(number, 0, number)
        if fail:
            updates = self.simulation.scheduler.fail_step(plan)
            self.failed.update(update.request_id for update in updates)
            self.simulation.take(updates)
        else:
            self.simulation.take(self.simulation.scheduler.finish_step(plan, self.simulation.forward.run(plan)))

    @rule(number=st.integers(0, 50), choice=st.integers(0, 2), keep=st.integers(0, 12))
    def stop(self, number: int, choice: int, keep: int) -> None:
        name = self.pick(number)
        if name not in self.requests or (name, choice) not in self.simulation.outcomes:
            return
        outcome = self.simulation.outcomes[name, choice]
        if outcome.token_ids and outcome.finish_reason is None:
            kept = min(keep, len(outcome.token_ids))
            self.simulation.stop(name, choice, kept)
            self.kept[name, choice] = kept

    @rule(name=st.sampled_from(["x", "y", "unknown"]))
    def release_hold(self, name: str) -> None:
        self.simulation.scheduler.release_hold(name)

    @rule()
    def clear(self) -> None:
        self.simulation.scheduler.clear_cache()

    @invariant()
    def sound(self) -> None:
        if hasattr(self, "simulation"):
            self.simulation.checked()

    def teardown(self) -> None:
        if not hasattr(self, "simulation"):
            return
        self.simulation.drain(5000)
        for request in self.requests.values():
            self.check(request)
        for name in ("x", "y"):
            self.simulation.scheduler.release_hold(name)
        self.simulation.assert_drained()

    def check(self, request: Request) -> None:
        for choice in range(request.sampling.n):
            outcome = self.simulation.outcomes[request.request_id, choice]
            expected, reason = self.simulation.expected(request, choice)
            if (kept := self.kept.get((request.request_id, choice))) is not None:
                expected, reason = expected[:kept], FinishReason.STOP
            elif outcome.finish_reason in (FinishReason.ABORT, FinishReason.ERROR):
                assert outcome.finish_reason is FinishReason.ABORT or request.request_id in self.failed
                expected, reason = expected[: len(outcome.token_ids)], outcome.finish_reason
            elif not choice:
                assert outcome.targets == self.simulation.expected_targets(request)
            assert outcome.token_ids == expected
            assert outcome.finish_reason is reason
            assert EOS not in outcome.token_ids or request.sampling.ignore_eos
            assert outcome.last is not None
            usage = outcome.last.usage
            assert usage is not None
            assert usage.completion_tokens == len(outcome.token_ids)
            assert usage.prompt_tokens == usage.cached_tokens + usage.computed_tokens
            if outcome.finish_reason in (FinishReason.STOP, FinishReason.LENGTH):
                began = bool(outcome.token_ids)  # a further choice may end before it exists, or by its first token
                assert usage.prompt_tokens in ((1, int(began)) if choice else (len(request.prompt),))


class LongSchedulerLife(SchedulerLife):
    """The same, longer."""


TestSchedulerLife = SchedulerLife.TestCase
TestSchedulerLife.settings = settings(max_examples=60, stateful_step_count=40, deadline=None, derandomize=True)

TestLongSchedulerLife = pytest.mark.slow(LongSchedulerLife.TestCase)
TestLongSchedulerLife.settings = settings(max_examples=3000, stateful_step_count=60, deadline=None)
