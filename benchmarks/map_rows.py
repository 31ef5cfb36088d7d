"""What a row of `map` costs the interpreter: 10,000 rows at width 64 on the scripted runtime, and the memory they add.

Process time, median of three runs. The scripted runtime's own work for the same rows is measured by calling its verbs
directly, and subtracted. Memory is the growth of the resident set over one run, in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import frontend_lang
from frontend_lang.api import load
from frontend_lang.modules import Module
from frontend_lang.runtime import GenParams, Role, RoleClose, RoleOpen, Text
from frontend_lang.scripted import ScriptedRuntime
from frontend_lang.sources import MappingSource

ROWS = 10_000
WIDTH = 64
REPEATS = 3
ROW_LIMIT_US = 200.0
MEMORY_LIMIT_MIB = 50.0

PLAIN = f"""
let xs = map x in jsonl("rows.jsonl") with width={WIDTH} {{ "@{{x.text}}:"; gen a with max=2; yield a }}
return len(xs)
"""
EVAL = f"""
def sentiment(review: str) -> str {{
  user "Label: @{{review}}"
  assistant {{ "Label:"; select label from [" positive", " negative"] }}
  return strip(label)
}}
let hits = map row in jsonl("rows.jsonl") with width={WIDTH}, on_error="none" {{
  yield sentiment(row.text) == row.label
}}
let ok = [h for h in hits if h != none]
return len(ok)
"""
DATA = MappingSource(
    {"rows.jsonl": "".join(f'{{"text": "review number {index}", "label": "positive"}}\n' for index in range(ROWS))}
)


async def plain_row(runtime: ScriptedRuntime, text: str) -> None:
    """The verbs of a row of `PLAIN`."""
    context = await runtime.open()
    await runtime.append(context, [Text(text, False), Text(":")])
    async for _ in runtime.generate(context, GenParams(max_tokens=2)):
        pass
    await runtime.release(context)


async def eval_row(runtime: ScriptedRuntime, text: str) -> None:
    """The verbs of a row of `EVAL`."""
    context = await runtime.open()
    parts = [RoleOpen(Role.USER), Text("Label: "), Text(text, False), RoleClose(), RoleOpen(Role.ASSISTANT)]
    await runtime.append(context, [*parts, Text("Label:")])
    await runtime.score(context, [" positive", " negative"])
    await runtime.release(context)


Row = Callable[[ScriptedRuntime, str], Coroutine[Any, Any, None]]


def runtime_s(row: Row) -> float:
    """Seconds of process time that the runtime's verbs take by themselves, in as many tasks as there are workers."""
    runtime = scripted()
    texts = iter([f"review number {index}" for index in range(ROWS)])

    async def worker() -> None:
        for text in texts:
            await row(runtime, text)

    async def everything() -> None:
        await asyncio.gather(*[worker() for _ in range(WIDTH)])

    start = time.process_time()
    asyncio.run(everything())
    return time.process_time() - start


def program_s(program: Module) -> float:
    """Seconds of process time of one run."""
    start = time.process_time()
    result = frontend_lang.run(program, runtime=scripted(), seed=1, data=DATA)
    took = time.process_time() - start
    assert result.value == ROWS
    return took


def scripted() -> ScriptedRuntime:
    """A runtime that keeps nothing of what it has done."""
    runtime = ScriptedRuntime(lambda prompt, call: " a b")
    runtime.history = runtime.generations = Forgetful()
    return runtime


class Forgetful(list[Any]):
    """A list that stays empty: the runtime's records are no part of what is measured."""

    def append(self, item: Any) -> None:
        """Drop it."""


def memory_mib(source: str) -> float:
    """Growth of the resident set over one run in a process of its own, which has run a few rows before."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import map_rows; print(map_rows.grown_mib(sys.argv[2]))"
    command = [sys.executable, "-c", code, str(Path(__file__).parent), source]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def grown_mib(source: str) -> float:
    """In this process: peak of the resident set during a run over what it was before."""
    program = load(source)
    few = MappingSource({"rows.jsonl": '{"text": "a", "label": "positive"}\n' * 200})
    frontend_lang.run(program, runtime=scripted(), data=few)
    before = _status_mib("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    program_s(program)
    return round(_status_mib("VmHWM") - before, 1)


def _status_mib(field: str) -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def figures(source: str, row: Row) -> dict[str, float]:
    """Microseconds per row: the whole, the runtime's own part, and what is left for the interpreter."""
    program = load(source)
    whole = statistics.median(program_s(program) for _ in range(REPEATS)) / ROWS * 1e6
    own = statistics.median(runtime_s(row) for _ in range(REPEATS)) / ROWS * 1e6
    return {
        "row_us": round(whole, 1),
        "runtime_us": round(own, 1),
        "interpreter_us": round(whole - own, 1),
        "memory_growth_mib": memory_mib(source),
    }


def main() -> None:
    """Print the figures; with --json write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    target = parser.parse_args().json
    measured = {
        "rows": ROWS,
        "width": WIDTH,
        "gen_row": figures(PLAIN, plain_row),
        "eval_row": figures(EVAL, eval_row),
        "limits": {"interpreter_us": ROW_LIMIT_US, "memory_growth_mib": MEMORY_LIMIT_MIB},
    }
    print(json.dumps(measured, indent=2))
    if target is not None:
        target.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
