"""The Python blocks of the manual, run one after the other."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import frontend_lang

MANUAL = Path(frontend_lang.__file__).parents[1] / "docs" / "python-api.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", MANUAL.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_every_block_of_the_manual_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("manual")
    monkeypatch.setitem(sys.modules, "manual", module)  # dataclasses look their module up
    for block in BLOCKS:
        exec(compile(block, str(MANUAL), "exec"), module.__dict__)
    assert len(BLOCKS) >= 5
