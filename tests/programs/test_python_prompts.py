"""Python prompts on the engine: called from threads, from loops, in batches; interrupted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from frontend_lang import Limits, ProgramError, State, gen, prompt, select, use_runtime
from radixkv.programs import EngineRuntime, local_runtime
from recording_runtime import RecordingRuntime


@prompt
def judge(s: State, essay: str) -> Any:
    s.user(essay)

    def one(b: State, dim: str) -> Any:
        b.user(f"Judge the {dim}.")
        with b.assistant():
            b += gen("why", max=4, temp=0)
            b += select("score", ["1", "2", "3"])
        return {"why": b["why"], "score": b["score"]}

    marks = s.fork_over(["clarity", "style"], one).record()
    s.user(marks)
    s.assistant(gen("number", type=int, max=4))
    return {"marks": marks, "number": s["number"]}


@prompt
async def judge_async(s: State, essay: str) -> Any:
    return await judge.a(essay)


def test_a_prompt_shares_its_prefix_and_repeats_itself(runtime: RecordingRuntime) -> None:
    essay = "A fine essay. " * 40
    first = judge.run(essay, runtime=runtime, seed=3)
    second = judge.run(essay, runtime=runtime, seed=3)
    assert first.value == second.value
    assert type(first.value["number"]) is int
    assert first.usage.forks == 2
    assert first.usage.cached_tokens > 2 * len(essay)  # a byte is a token: both branches and what follows go on from it
    assert second.usage.computed_tokens < len(essay) / 4


def test_sync_calls_async_calls_and_batches_give_the_same(runtime: RecordingRuntime) -> None:
    with use_runtime(runtime):
        alone = judge("Short.", seed=3)
        assert asyncio.run(judge.a("Short.", seed=3)) == alone
        rows = judge_async.batch([{"essay": "Short."}] * 6, width=4, seed=3)
    assert all(set(row) == {"marks", "number"} for row in rows)


def test_a_run_that_is_out_of_time_gives_its_blocks_back(runtime: RecordingRuntime) -> None:
    @prompt
    def endless(s: State) -> Any:
        def branch(b: State) -> Any:
            b += gen("a", max=4096)
            return b["a"]

        s += "Go on: "
        return s.fork(4, branch).all()

    with pytest.raises(ProgramError) as caught:
        endless(runtime=runtime, limits=Limits(wall_s=0.3))
    assert caught.value.code == "E0802"


def test_an_engine_for_the_length_of_a_block(long_llama: Path) -> None:
    with local_runtime(str(long_llama), dtype="float32", num_blocks=256, threads=1) as runtime, use_runtime(runtime):
        assert isinstance(runtime, EngineRuntime)
        assert set(judge("x")) == {"marks", "number"}
    with pytest.raises(ProgramError) as caught:
        judge("x", runtime=runtime)
    assert caught.value.code == "E0801"
