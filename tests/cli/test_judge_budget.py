"""examples/judge.rkv on the real model computes each text once, however many judges share it.

In float32: in bfloat16 the rounding of a step depends on which sequences share it, enough to change what is sampled,
and a second run that samples other tokens cannot be served from the first one's.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from counting_runtime import CALL_ALLOWANCE, CountingRuntime
from frontend_lang import RunResult, run_async
from radixkv.config import EngineConfig
from radixkv.engine import Engine

pytestmark = pytest.mark.model
EXAMPLES = Path(__file__).parents[2] / "examples"
ASPECTS = (
    "clarity",
    "evidence",
    "style",
    "structure",
    "tone",
    "brevity",
    "honesty",
    "depth",
    "wit",
    "rigour",
    "pace",
    "facts",
)


async def judge(runtime: CountingRuntime, judges: int) -> RunResult:
    arguments = {
        "essay": (EXAMPLES / "essay.txt").read_text(encoding="utf-8"),
        "dims": "[" + ", ".join(f'"{aspect}"' for aspect in ASPECTS[:judges]) + "]",
    }
    source = (EXAMPLES / "judge.rkv").read_text(encoding="utf-8")
    return await run_async(source, arguments, runtime=runtime, seed=7, file="judge.rkv")


async def judge_twice(judges: int) -> tuple[RunResult, RunResult, CountingRuntime, int]:
    async with Engine.start(EngineConfig(dtype="float32", kv_memory=512 << 20)) as engine:
        runtime = CountingRuntime(engine).count_with(engine.tokenizer)
        cold = await judge(runtime, judges)
        cold_budget = runtime.spent.budget
        runtime.count_with(engine.tokenizer)
        warm = await judge(runtime, judges)
        return cold, warm, runtime, cold_budget


@pytest.mark.parametrize("judges", [3, 12])
def test_judges_share_the_essay_and_a_second_run_computes_almost_nothing(judges: int) -> None:
    cold, warm, runtime, budget = asyncio.run(judge_twice(judges))
    assert len(cold.value["marks"]) == judges
    assert cold.usage.computed_tokens <= budget
    assert warm.value == cold.value
    assert warm.usage.computed_tokens <= CALL_ALLOWANCE * runtime.spent.calls
