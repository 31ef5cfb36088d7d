"""The manual's programs and claims."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import frontend_lang
from frontend_lang.builtins import PARAMETERS
from frontend_lang.checker.options import GEN_OPTIONS
from frontend_lang.checking import check_source

MANUAL = (Path(frontend_lang.__file__).parents[1] / "docs" / "language.md").read_text("utf-8")
PROGRAMS = re.findall(r"^```rkv\n(.*?)^```", MANUAL, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("source", PROGRAMS)
def test_every_program_of_the_manual_is_clean(source):
    assert check_source(source).diagnostics == ()


def test_the_manual_has_programs():
    assert len(PROGRAMS) >= 6


def test_the_manual_names_every_builtin_and_every_option():
    missing = [name for name in PARAMETERS if f"`{name}(" not in MANUAL]
    assert missing == []
    assert [name for name in GEN_OPTIONS if f"`{name}" not in MANUAL] == []
