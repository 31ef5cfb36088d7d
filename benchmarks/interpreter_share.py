"""What the interpreter takes of a real run: programs of examples/ on the default model.

The event loop runs in a thread of its own beside the engine's. Its processor time is an upper bound of what the
interpreter takes of the run: tokenising, contexts and messages of the runtime are in it. The same run without the
time that the runtime's verbs take on that thread gives the interpreter alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import AsyncGenerator, Coroutine, Generator
from pathlib import Path
from typing import Any

import frontend_lang.api
from frontend_lang.runtime import Constraint, ContextId, Delta, GenParams, GenResult
from frontend_lang.sources import FolderSource
from radixkv.programs import EngineRuntime, local_runtime

EXAMPLES = Path(__file__).parents[1] / "examples"
PROGRAMS = {
    "judge.rkv": {"essay": (EXAMPLES / "essay.txt").read_text(encoding="utf-8")},
    "solve.rkv": {},
    "eval.rkv": {},
    "invoice.rkv": {"doc": (EXAMPLES / "invoice.txt").read_text(encoding="utf-8")},
}
REPEATS = 3


class Metered:
    """Drives a coroutine and adds up the processor time of this thread while it works."""

    def __init__(self, work: Coroutine[Any, Any, Any], meter: list[float]) -> None:
        self._work = work
        self._meter = meter

    def __await__(self) -> Generator[Any, Any, Any]:
        sent: Any = None
        error: BaseException | None = None
        while True:
            start = time.thread_time()
            try:
                yielded = self._work.throw(error) if error is not None else self._work.send(sent)
            except StopIteration as done:
                return done.value
            finally:
                self._meter[0] += time.thread_time() - start
            error = None
            try:
                sent = yield yielded
            except BaseException as thrown:  # noqa: BLE001  handed on to the coroutine
                error = thrown


class MeteredRuntime:
    """A runtime whose verbs are metered."""

    def __init__(self, runtime: EngineRuntime) -> None:
        self._runtime = runtime
        self.meter = [0.0]

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._runtime, name)
        if name not in ("open", "append", "commit", "score", "fork", "adopt", "truncate", "release", "tokens", "count"):
            return value

        async def verb(*args: Any, **kwargs: Any) -> Any:
            return await Metered(value(*args, **kwargs), self.meter)

        return verb

    async def generate(
        self, context: ContextId, params: GenParams, constraint: Constraint | None = None
    ) -> AsyncGenerator[Delta | GenResult, None]:
        """Meter each step of the stream."""
        stream = self._runtime.generate(context, params, constraint)
        try:
            while True:
                try:
                    item = await Metered(anext(stream), self.meter)  # type: ignore[arg-type]
                except StopAsyncIteration:
                    return
                yield item
        finally:
            await stream.aclose()


async def shares(name: str, runtime: EngineRuntime, seed: int) -> dict[str, float]:
    """One run: seconds, and the shares of the loop's thread and of the interpreter alone."""
    folder = FolderSource(EXAMPLES)
    program = frontend_lang.api.load((EXAMPLES / name).read_text(encoding="utf-8"), name, modules=folder)
    metered = MeteredRuntime(runtime)
    wall, thread = time.perf_counter(), time.thread_time()
    await frontend_lang.run_async(program, PROGRAMS[name], runtime=metered, seed=seed, data=folder)  # type: ignore[arg-type]
    wall, thread = time.perf_counter() - wall, time.thread_time() - thread
    return {"wall_s": wall, "loop_share": thread / wall, "interpreter_share": (thread - metered.meter[0]) / wall}


def cold_run(name: str, seed: int) -> dict[str, float]:
    """A run on a fresh engine: a second one would find every score and prefix, and wait for nothing."""
    with local_runtime(kv_memory=512 << 20) as runtime:
        return asyncio.run(shares(name, runtime, seed))


def main() -> None:
    """Print the figures; with --json write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    target = parser.parse_args().json
    figures = []
    for name in PROGRAMS:
        runs = [cold_run(name, seed) for seed in range(REPEATS)]
        figures.append(
            {"program": name, **{key: round(statistics.median(run[key] for run in runs), 5) for key in runs[0]}}
        )
        print(figures[-1], flush=True)
    if target is not None:
        target.write_text(json.dumps({"limit": 0.03, "runs": figures}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
