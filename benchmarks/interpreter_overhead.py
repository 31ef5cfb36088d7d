"""What the interpreter itself costs: forks of 1,000 branches and plain loops on the scripted runtime.

Process time, median of several runs; the scripted runtime's own work (a copy of the context per branch) is included.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import frontend_lang
import frontend_lang.api
from frontend_lang.modules import Module
from frontend_lang.scripted import ScriptedRuntime

BRANCHES = 1_000
ROUNDS = 20_000
REPEATS = 7

FORK = f'return fork {BRANCHES} as i {{ "n=@{{i}}"\ngen a with max=2\nyield a }} join vote'
LOOP = f"let s = 0\nrepeat 1000 {{ repeat {ROUNDS // 1000} {{ s = s + 1 }} }}\nreturn s"
CALLS = "def f(x: int) -> int { return x }\nlet r = [f(i) for i in range(1000)]\nreturn len(r)"


def median_s(source: str, *, listener: bool = False) -> float:
    """Seconds of process time of one run."""
    program = frontend_lang.api.load(source)
    return statistics.median(once(program, listener) for _ in range(REPEATS))


def once(program: Module, listener: bool) -> float:
    runtime = ScriptedRuntime(lambda prompt, call: f"x{call.index}")
    start = time.process_time()
    frontend_lang.run(program, runtime=runtime, seed=1, on_event=(lambda event: None) if listener else None)
    return time.process_time() - start


def main() -> None:
    """Print the figures; with --json write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    target = parser.parse_args().json
    figures = {
        "branch_ms": median_s(FORK) / BRANCHES * 1e3,
        "branch_with_events_ms": median_s(FORK, listener=True) / BRANCHES * 1e3,
        "loop_round_with_assignment_us": median_s(LOOP) / ROUNDS * 1e6,
        "call_us": median_s(CALLS) / 1000 * 1e6,
        "branch_limit_ms": 1.0,
    }
    print(json.dumps(figures, indent=2))
    if target is not None:
        target.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
