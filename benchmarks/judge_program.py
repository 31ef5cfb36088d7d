"""examples/judge.rkv on the default model: tokens computed for 1, 3 and 12 judges, time, and peak memory.

Each count of judges runs in a process of its own through `radixkv run --json`; the budgets are asserted by
tests/cli/test_judge_budget.py, here they are measured. Peak memory is the largest resident set of that process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ASPECTS = [
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
]
KV_MEMORY = 256 << 20
ALLOWANCE = 600 << 20  # what a run may use beside weights and pool


# The peak of the process image alone: what wait4 reports includes the parent's, from before the exec.
MEASURED = """
import sys
from radixkv.cli.main import main
try:
    main()
finally:
    status = open("/proc/self/status").read()
    print(next(line for line in status.splitlines() if line.startswith("VmHWM")), file=sys.stderr)
"""


def run_judge(judges: int) -> dict[str, object]:
    """One run from the shell: its JSON result and the process's peak resident set."""
    command = [
        sys.executable, "-c", MEASURED, "run", "examples/judge.rkv",
        "-a", "essay=@examples/essay.txt", "-a", f"dims={json.dumps(ASPECTS[:judges])}",
        "--seed", "7", "--kv-memory", str(KV_MEMORY), "--json",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    return {
        "judges": judges,
        "usage": result["usage"],
        "timing": result["timing"],
        "peak_resident_mib": round(int(done.stderr.splitlines()[-1].split()[1]) / 1024, 1),
    }


def memory_limit_mib() -> float:
    """Weights in the compute type, the pool, and the allowance."""
    from radixkv.models import load_model, locate_model

    return (load_model(locate_model("smollm2")).weights_bytes + KV_MEMORY + ALLOWANCE) / (1 << 20)


def main() -> None:
    """Measure, print, and write with `--json FILE`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    report = {"memory_limit_mib": round(memory_limit_mib(), 1), "runs": [run_judge(count) for count in (1, 3, 12)]}
    print(json.dumps(report, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
