"""Run every benchmark and write its figures to benchmarks/results/NAME.json, with machine and versions."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    cpu = next((line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")), "unknown")
    return {"cpu": cpu, "platform": platform.platform(), "python": platform.python_version(), "torch": version("torch")}


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def main() -> int:
    """Run each benchmark script in its own process; non-zero if one failed."""
    failed = []
    for script in sorted(HERE.glob("*.py")):
        if script.name == Path(__file__).name:
            continue
        target = RESULTS / f"{script.stem}.json"
        print(f"== {script.name}", flush=True)
        if subprocess.run([sys.executable, str(script), "--json", str(target)], check=False).returncode:
            failed.append(script.name)
    (RESULTS / "machine.json").write_text(json.dumps(machine(), indent=2) + "\n", encoding="utf-8")
    print("failed: " + ", ".join(failed) if failed else "all benchmarks ran")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
