"""Every program in examples/ on the default model, from the shell: seconds, tokens computed, cached and generated."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAMS = {
    "chat.rkv": ["-a", "city=Oslo"],
    "sentiment.rkv": [],
    "invoice.rkv": ["-a", "doc=@examples/invoice.txt"],
    "solve.rkv": [],
    "tot.rkv": [],
    "skeleton.rkv": [],
    "judge.rkv": ["-a", "essay=@examples/essay.txt"],
    "react.rkv": ["--tools", "examples/react_tools.py"],
    "summarise.rkv": ["-a", "doc=@examples/essay.txt"],
    "interview.rkv": [],
    "eval.rkv": [],
    "debate.rkv": [],
}
TWINS = ("solve.py", "judge.py", "react.py", "evaluate.py")


def timed(command: list[str]) -> tuple[float, str]:
    """Seconds of a command, start of the interpreter and loading of the model included, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True)
    return round(time.perf_counter() - start, 1), done.stdout


def run_program(name: str) -> dict[str, object]:
    seconds, printed = timed(["-m", "radixkv", "run", f"examples/{name}", *PROGRAMS[name], "--seed", "3", "--json"])
    return {"program": name, "seconds": seconds, "usage": json.loads(printed)["usage"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures here")
    target = parser.parse_args().json
    figures = [run_program(name) for name in PROGRAMS]
    figures += [{"program": name, "seconds": timed([f"examples/{name}"])[0]} for name in TWINS]
    for figure in figures:
        print(f"{figure['program']:16} {figure['seconds']:6} s  {figure.get('usage', '')}")
    if target:
        target.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
