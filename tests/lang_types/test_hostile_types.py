"""A constraint made to take time or memory is refused, or compiled within 2 s and 256 MB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostile_grammars import NAMES

SUPPORT = Path(__file__).parent.parent / "support"


@pytest.mark.processes
@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_constraint_or_text_stays_within_time_and_memory(name: str) -> None:
    command = [sys.executable, "-m", "hostile_grammars", name]
    path = os.pathsep.join([str(SUPPORT), *sys.path])
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=30, env={**os.environ, "PYTHONPATH": path}, check=True
    )
    found = json.loads(done.stdout)
    assert found["outcome"].split(",")[0] in ("done", "E0504", "E0505", "E0506", "E0507"), found
    assert found["slowest_s"] < 2, found
    assert found["peak_growth_bytes"] < 256 << 20, found
