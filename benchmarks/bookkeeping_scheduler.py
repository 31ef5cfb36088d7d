"""Time of the scheduler per step, without a model: `schedule` plus `finish_step` at 64 running sequences.

Process time. The forward is left out: every sampled token is the same id. Contexts have 1,000 tokens when decoding
begins; unshared, or all beginning with the same 800. The waiting requests have prompts of 1,000 tokens.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path

from radixkv.cache import PrefixCache
from radixkv.config import SchedulerConfig
from radixkv.request import Request, SamplingParams
from radixkv.scheduler import Scheduler, SchedulerLimits
from radixkv.step_plan import SequencePlan, SequenceResult, StepPlan, StepResult
from radixkv.tokens import token_array

RUNNING = 64
CONTEXT = 1_000
SHARED = 800
NUM_BLOCKS = 16_384
STEPS = 200


def forward(plan: StepPlan) -> StepResult:
    return StepResult(plan.step, tuple(map(sampled, plan.sequences)))


def sampled(sequence: SequencePlan) -> SequenceResult:
    return SequenceResult(sequence.sequence_id, (7,) if sequence.sampling else ())


def request(number: int, shared: int) -> Request:
    own = 1_000 + number
    prompt = token_array([*range(10, 10 + shared), *([own] * (CONTEXT - shared))])
    return Request(f"request-{number}", prompt, SamplingParams(max_tokens=10_000, ignore_eos=True), seed=number)


def running(shared: int, waiting: int) -> Scheduler:
    """A scheduler with 64 sequences that decode, and others that wait."""
    cache = PrefixCache(NUM_BLOCKS)
    scheduler = Scheduler(SchedulerConfig(max_running=RUNNING), cache, SchedulerLimits(32_768, (2,)))
    for number in range(RUNNING):
        scheduler.add(request(number, shared))
    while (plan := advance(scheduler)) and plan.num_tokens != RUNNING:
        pass
    for number in range(RUNNING, RUNNING + waiting):
        scheduler.add(request(number, shared))
    return scheduler


def advance(scheduler: Scheduler) -> StepPlan | None:
    plan = scheduler.schedule()
    if plan is not None:
        scheduler.finish_step(plan, forward(plan))
    return plan


def step_times(scheduler: Scheduler) -> list[float]:
    """Milliseconds per step, the stand-in for the forward not counted."""
    times = []
    for _ in range(STEPS):
        begin = time.process_time()
        plan = scheduler.schedule()
        planned = time.process_time()
        assert plan is not None
        assert plan.num_tokens == RUNNING
        result = forward(plan)
        resumed = time.process_time()
        scheduler.finish_step(plan, result)
        times.append((time.process_time() - resumed + planned - begin) * 1e3)
    return times


def admission_times(waiting: int) -> list[float]:
    """Milliseconds per step while one sequence ends in each step and one that waits takes its place."""
    scheduler = running(SHARED, waiting)
    times = []
    for number in range(min(STEPS, waiting)):
        scheduler.abort(f"request-{number}")
        begin = time.process_time()
        advance(scheduler)
        times.append((time.process_time() - begin) * 1e3)
    return times


def measure() -> dict[str, object]:
    figures: dict[str, object] = {"running": RUNNING, "context_tokens": CONTEXT, "unit": "ms per step"}
    figures["load_average"] = round(os.getloadavg()[0], 1)  # figures grow with it, although they are process time
    figures["cores"] = os.cpu_count()
    for name, shared in (("unshared", 0), ("shared", SHARED)):
        for waiting in (0, 2_000):
            figures[f"decode_{name}_{waiting}_waiting"] = summary(step_times(running(shared, waiting)))
    figures["one_admitted_each_step_2000_waiting"] = summary(admission_times(2_000))
    return figures


def summary(times: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(times), 4), "p95": round(statistics.quantiles(times, n=20)[-1], 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    target = parser.parse_args().json
    text = json.dumps(measure(), indent=2)
    print(text)
    if target:
        target.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
