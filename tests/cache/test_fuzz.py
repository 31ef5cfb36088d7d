"""Random operations on tiny pools against the model, everything checked after each one."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from cache_model import CheckedCache, ModelLease
from radixkv.request import Namespace

NAMESPACES = (Namespace(model="m"), Namespace(model="m", salt="tenant"))
MOST_LEASES = 8
SHRINK = (Phase.shrink,) if os.environ.get("RADIXKV_FUZZ_SHRINK") else ()  # takes minutes: for whoever hunts a failure
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "cache_fuzz.json"

tokens = st.lists(st.integers(0, 1), min_size=1, max_size=12).map(bytes)
few_tokens = st.lists(st.integers(0, 1), min_size=1, max_size=6).map(bytes)
namespaces = st.sampled_from(NAMESPACES)
picks = st.integers(0, MOST_LEASES - 1)


class CacheMachine(RuleBasedStateMachine):
    """acquire / extend / commit / fork / truncate / hold / release / evict / clear on a pool of 3 to 10 blocks."""

    steps = 0  # of all machines

    @initialize(num_blocks=st.integers(3, 10), block_size=st.integers(1, 4))
    def start(self, num_blocks: int, block_size: int) -> None:
        self.checked = CheckedCache(num_blocks, block_size)

    def pick(self, index: int) -> ModelLease:
        return self.checked.leases[index % len(self.checked.leases)]

    @property
    def any_lease(self) -> bool:
        return bool(self.checked.leases)

    @property
    def room(self) -> bool:
        return len(self.checked.leases) < MOST_LEASES

    @precondition(lambda self: self.room)
    @rule(prompt=tokens, namespace=namespaces, max_hit=st.none() | st.integers(0, 8))
    def acquire(self, prompt: bytes, namespace: Namespace, max_hit: int | None) -> None:
        self.checked.acquire(prompt, namespace, max_hit)

    @precondition(lambda self: self.room)
    @rule(prompt=tokens, namespace=namespaces, chunk=st.integers(1, 8))
    def acquire_and_prefill(self, prompt: bytes, namespace: Namespace, chunk: int) -> None:
        model = self.checked.acquire(prompt, namespace)
        self.checked.step([(model, prompt[model.lease.length :][:chunk])])

    @precondition(lambda self: self.any_lease and self.room)
    @rule(index=picks, back=st.integers(0, 2), more=few_tokens)
    def continue_one(self, index: int, back: int, more: bytes) -> None:
        """The next turn of a conversation, or a retry of its end."""
        former = self.pick(index)
        prompt = former.tokens[: max(0, len(former.tokens) - back)] + more
        model = self.checked.acquire(prompt, former.namespace)
        self.checked.step([(model, prompt[model.lease.length :])])

    @precondition(lambda self: self.any_lease)
    @rule(index=picks, count=st.integers(0, 6))
    def extend(self, index: int, count: int) -> None:
        self.checked.extend(self.pick(index), count)

    @precondition(lambda self: self.any_lease)
    @rule(first=picks, second=picks, new=few_tokens, other=few_tokens)
    def commit(self, first: int, second: int, new: bytes, other: bytes) -> None:
        work = {id(self.pick(first)): (self.pick(first), new), id(self.pick(second)): (self.pick(second), other)}
        self.checked.step([(model, self.follow(model, count)) for model, count in work.values()])

    def follow(self, model: ModelLease, drawn: bytes) -> bytes:
        """The announced tokens, as a prefill would, or else the drawn ones."""
        return drawn if drawn[-1] else model.announced[len(model.tokens) :][: len(drawn)] or drawn

    @rule()
    def run_copies(self) -> None:
        self.checked.run_copies()

    @precondition(lambda self: self.any_lease and self.room)
    @rule(index=picks, count=st.integers(1, 2))
    def fork(self, index: int, count: int) -> None:
        self.checked.fork(self.pick(index), count)

    @precondition(lambda self: self.any_lease)
    @rule(index=picks, back=st.integers(0, 6))
    def truncate(self, index: int, back: int) -> None:
        model = self.pick(index)
        self.checked.truncate(model, max(0, len(model.tokens) - back))

    @precondition(lambda self: self.any_lease)
    @rule(index=picks)
    def hold(self, index: int) -> None:
        self.checked.hold(self.pick(index))

    @precondition(lambda self: self.any_lease)
    @rule(index=picks, publish_tail=st.booleans())
    def release(self, index: int, publish_tail: bool) -> None:
        self.checked.release(self.pick(index), publish_tail)

    @rule(count=st.integers(1, 4))
    def evict(self, count: int) -> None:
        self.checked.evict(count)

    @rule(namespace=st.none() | namespaces)
    def clear(self, namespace: Namespace | None) -> None:
        self.checked.clear(namespace)

    @invariant()
    def everything_is_as_it_should_be(self) -> None:
        CacheMachine.steps += 1
        self.checked.check()

    def teardown(self) -> None:
        if hasattr(self, "checked"):
            self.checked.finish()


def fuzz(examples: int, batch: int = 0) -> int:
    """Steps taken by `examples` runs of up to 50 steps; another `batch` takes others, the same one the same."""
    before = CacheMachine.steps
    profile = settings(
        max_examples=examples,
        stateful_step_count=50,
        deadline=None,
        database=None,
        print_blob=False,
        phases=(Phase.generate, *SHRINK),
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(batch)(CacheMachine), settings=profile)
    return CacheMachine.steps - before


def test_random_operations_agree_with_the_model() -> None:
    assert fuzz(examples=160) >= 5_000


@pytest.mark.slow
def test_a_million_random_operations_agree_with_the_model() -> None:
    wanted = int(os.environ.get("RADIXKV_FUZZ_STEPS", "1000000"))
    started, used = time.perf_counter(), time.process_time()
    taken = batch = 0
    while taken < wanted:  # in batches, since Hypothesis remembers every example of one
        batch += 1
        taken += fuzz(examples=500, batch=batch)
    figures = {
        "steps": taken,
        "batches": batch,
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(time.process_time() - used, 1),
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(figures, indent=2) + "\n")
