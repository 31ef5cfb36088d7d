"""examples/judge.rkv on the real model computes each text once, however many judges share it.

In float32: in bfloat16 the rounding of a step depends on which sequences share it, enough to change what is sampled,
and a second run that samples other tokens cannot be served from the first one's.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from frontend_lang import RunResult, run_async
from frontend_lang.runtime import CallUsage
from radixkv.config import EngineConfig
from radixkv.engine import Engine
from radixkv.models import ModelFiles
from recording_runtime import RecordingRuntime

pytestmark = pytest.mark.model
ROOT = Path(__file__).parents[2]
ASPECTS = "clarity, evidence, style, structure, tone, brevity, honesty, depth, wit, rigour, pace, facts"
DIMS = [f'"{aspect}"' for aspect in ASPECTS.split(", ")]
PER_CALL = 2  # one token for the logits, one for the last sampled token whose KV was never written
KV_MEMORY = 512 << 20


@dataclass(frozen=True)
class Run:
    """A run and what it was allowed."""

    result: RunResult
    budget: int
    calls: int
    usages: list[CallUsage]

    @property
    def computed(self) -> int:
        return self.result.usage.computed_tokens


async def judge(engine: Engine, judges: int) -> Run:
    runtime = RecordingRuntime(engine)
    runtime.clear()
    arguments = {
        "essay": (ROOT / "examples/essay.txt").read_text(encoding="utf-8"),
        "dims": f"[{', '.join(DIMS[:judges])}]",
    }
    source = (ROOT / "examples/judge.rkv").read_text(encoding="utf-8")
    result = await run_async(source, arguments, runtime=runtime, seed=7, file="judge.rkv")
    return Run(result, runtime.budget(), runtime.calls, list(runtime.usages))


async def judge_twice(judges: int) -> tuple[Run, Run]:
    async with Engine.start(EngineConfig(dtype="float32", kv_memory=KV_MEMORY)) as engine:
        return await judge(engine, judges), await judge(engine, judges)


@pytest.mark.parametrize("judges", [3, 12])
def test_judges_share_the_essay_and_a_second_run_computes_almost_nothing(judges: int) -> None:
    cold, warm = asyncio.run(judge_twice(judges))
    print(f"{judges} judges: {cold.computed} computed, at most {cold.budget}; again: {warm.computed}")
    assert len(cold.result.value["marks"]) == judges
    assert cold.computed <= cold.budget
    assert warm.result.value == cold.result.value
    assert max(usage.computed_tokens for usage in warm.usages) <= PER_CALL
    assert warm.computed <= PER_CALL * warm.calls


# The peak of this process image alone: what wait4 reports includes the parent's, from before the exec.
MEASURED = """
import sys
from radixkv.cli.main import main
try:
    main()
finally:
    status = open("/proc/self/status").read()
    print(next(line for line in status.splitlines() if line.startswith("VmHWM")), file=sys.stderr)
"""


def test_peak_memory_of_a_run_is_weights_and_pool_and_little_more(smollm2_files: ModelFiles) -> None:
    command = [sys.executable, "-c", MEASURED, "run", "examples/judge.rkv", "-a", "essay=@examples/essay.txt"]
    command += ["--dtype", "float32", "--kv-memory", str(KV_MEMORY), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    peak_kib = int(done.stderr.splitlines()[-1].split()[1])
    weights = 4 * 134_515_008  # parameters of SmolLM2-135M
    assert weights < peak_kib * 1024 <= weights + KV_MEMORY + (600 << 20)
