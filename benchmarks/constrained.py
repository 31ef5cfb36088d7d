"""What constraints cost and save: time per step in the grammar, forwards against tokens, compiling, hostile inputs.

On the default model, with a schema as of an invoice, then without a constraint. The hostile constraints are those of
the tests, each in a fresh process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from radixkv.config import engine_config
from radixkv.constraint import Choice, Constraint, JsonSchema, Regex
from radixkv.constraints.matcher import Matcher
from radixkv.engine import Engine
from radixkv.request import SamplingParams
from radixkv.step_plan import Continuation

SUPPORT = Path(__file__).parents[1] / "tests" / "support"
PROMPT = "Invoice A-1734 of 2024-02-03 over 12 pens at 1.50 and 3 inks at 8.00, 42.00 EUR in all. As JSON:"
LINE = {
    "type": "object",
    "properties": {
        "description": {"type": "string", "maxLength": 24},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 999},
        "unit_price": {"type": "number", "minimum": 0, "maximum": 9999},
    },
    "required": ["description", "quantity", "unit_price"],
    "additionalProperties": False,
}
INVOICE = {
    "type": "object",
    "properties": {
        "invoice_number": {"type": "string", "maxLength": 12},
        "issue_date": {"type": "string", "format": "date"},
        "currency": {"enum": ["EUR", "USD", "GBP"]},
        "line_items": {"type": "array", "items": LINE, "minItems": 2, "maxItems": 2},
        "total_amount": {"type": "integer", "minimum": 0, "maximum": 9999},
    },
    "required": ["invoice_number", "issue_date", "currency", "line_items", "total_amount"],
    "additionalProperties": False,
}
CONSTRAINTS: dict[str, Constraint] = {
    "invoice": JsonSchema(json.dumps(INVOICE)),
    "regex": Regex("[A-Z]{2}-[0-9]{4}(/[a-z]+)?"),
    "choice of 100": Choice(tuple(f"option number {n}" for n in range(100))),
}


@contextmanager
def timed_steps() -> Iterator[list[float]]:
    """Microseconds of each step of any matcher while this is open."""
    times: list[float] = []
    plain = Matcher.advance

    def advance(matcher: Matcher, token_id: int) -> Continuation:
        begin = time.perf_counter()
        following = plain(matcher, token_id)
        times.append((time.perf_counter() - begin) * 1e6)
        return following

    with mock.patch.object(Matcher, "advance", advance):
        yield times


async def generated(engine: Engine, constraint: Constraint | None, max_tokens: int) -> dict[str, Any]:
    """One greedy generation with the prompt cached."""
    sampling = SamplingParams(temperature=0.0, max_tokens=max_tokens)
    await engine.submit(PROMPT, SamplingParams(max_tokens=1))
    before, begin = engine.stats().scheduler, time.perf_counter()
    completion = await engine.submit(PROMPT, sampling, constraint=constraint)
    seconds, after = time.perf_counter() - begin, engine.stats().scheduler
    return {
        "tokens": completion.usage.completion_tokens,
        "forwards": after.steps - before.steps,
        "forced_tokens": after.forced_tokens - before.forced_tokens,
        "seconds": round(seconds, 3),
        "ms_per_token": round(seconds / completion.usage.completion_tokens * 1e3, 2),
        "finish_reason": completion.choices[0].finish_reason.value,
        "text": completion.text,
    }


def compile_times(engine: Engine) -> dict[str, float]:
    """Milliseconds of the first compilation, which starts a process and reads the vocabulary, then of each."""
    compiler = engine._parts.constraints.compiler
    begin = time.perf_counter()
    compiler.compile(Regex("first"))
    times = {"first_of_an_engine": (time.perf_counter() - begin) * 1e3}
    for name, constraint in CONSTRAINTS.items():
        begin = time.perf_counter()
        compiler.compile(constraint)
        times[name] = (time.perf_counter() - begin) * 1e3
        begin = time.perf_counter()
        compiler.compile(constraint)
        times[f"{name}, again"] = (time.perf_counter() - begin) * 1e3
    return {name: round(value, 3) for name, value in times.items()}


def hostile() -> dict[str, Any]:
    sys.path.insert(0, str(SUPPORT))
    from hostile_constraints import HOSTILE

    figures = {}
    for name in HOSTILE:
        command = [sys.executable, "-m", "hostile_constraints", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=SUPPORT)
        figures[name] = json.loads(done.stdout)
    return figures


async def measure() -> dict[str, Any]:
    engine = Engine.start(engine_config("smollm2", {}))
    try:
        compiling = compile_times(engine)
        with timed_steps() as times:
            invoice = await generated(engine, CONSTRAINTS["invoice"], 200)
        free = await generated(engine, None, invoice["tokens"])
    finally:
        await engine.close()
    corpus = hostile()
    return {
        "load_average": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
        "compile_ms": compiling,
        "step_us": {"median": round(statistics.median(times), 1), "max": round(max(times), 1), "steps": len(times)},
        "invoice": invoice,
        "unconstrained": {key: value for key, value in free.items() if key != "text"},
        "hostile": corpus,
        "hostile_worst": {
            key: max(figures[key] for figures in corpus.values())
            for key in ("compile_s", "slowest_step_s", "peak_growth_bytes")
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    target = parser.parse_args().json
    text = json.dumps(asyncio.run(measure()), indent=2, ensure_ascii=False)
    print(text)
    if target:
        target.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
