"""One table of codes: complete, and the same as in the manual."""

from __future__ import annotations

import re
from pathlib import Path

import frontend_lang
from frontend_lang.codes import CODES

ROOT = Path(frontend_lang.__file__).parent
MANUAL = ROOT.parent / "docs" / "language-reference.md"


def test_every_code_that_is_used_is_in_the_table():
    used = {
        code
        for path in ROOT.rglob("*.py")
        if path.name != "codes.py"
        for code in re.findall(r'"([EW]0\d{3})"', path.read_text("utf-8"))
    }
    assert used <= CODES.keys()
    assert len(used) > 60


def test_every_code_of_the_parser_and_the_checker_is_used():
    text = "".join(path.read_text("utf-8") for path in ROOT.rglob("*.py") if path.name != "codes.py")
    assert [code for code in CODES if code < "E06" and f'"{code}"' not in text] == []


def test_the_manual_shows_the_table_as_it_is():
    manual = MANUAL.read_text("utf-8")
    for code, info in CODES.items():
        assert f"| {code} | {info.title} | {info.explanation} |" in manual
    assert len(re.findall(r"^\| [EW]0\d{3} \|", manual, re.MULTILINE)) == len(CODES)
