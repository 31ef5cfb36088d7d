"""The manual: every program in it does what it says, and nothing is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

import frontend_lang
from frontend_lang.builtins import PARAMETERS
from frontend_lang.checker.options import GEN_OPTIONS, MAP_OPTIONS, SELECT_OPTIONS, TEST_OPTIONS, TOOL_OPTIONS
from frontend_lang.formatting import format_source
from manual_programs import ManualProgram, assert_as_told, manual_programs

ROOT = Path(frontend_lang.__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "docs" / "language.md", ROOT / "docs" / "language-reference.md"]
PROGRAMS = [program for document in DOCUMENTS for program in manual_programs(document)]
REFERENCE = DOCUMENTS[-1].read_text("utf-8")


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_program_does_what_the_document_says(program: ManualProgram) -> None:
    assert_as_told(program)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_program_is_laid_out_as_fmt_does(program: ManualProgram) -> None:
    assert format_source(program.source) == program.source


def test_the_documents_have_programs() -> None:
    assert len(PROGRAMS) >= 20


def test_the_reference_names_every_builtin_and_every_option() -> None:
    assert [name for name in PARAMETERS if f"`{name}(" not in REFERENCE] == []
    options = {*GEN_OPTIONS, *SELECT_OPTIONS, *MAP_OPTIONS, *TOOL_OPTIONS, *TEST_OPTIONS}
    assert [name for name in sorted(options) if f"`{name}" not in REFERENCE] == []
