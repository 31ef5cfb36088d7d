"""The grammar itself."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources

from lark import Lark

from frontend_lang.syntax.parser import grammar


def test_strict_mode_finds_no_conflict_and_no_collision_of_terminals():
    text = resources.files("frontend_lang.syntax").joinpath("grammar.lark").read_text("utf-8")
    Lark(text, parser="lalr", strict=True, start=["start", "expr"], propagate_positions=True)  # needs interegular


def test_the_grammar_is_compiled_once():
    assert grammar() is grammar()


def test_importing_the_language_loads_neither_lark_nor_an_engine():
    code = "import frontend_lang, sys; print([m for m in ('lark', 'torch', 'radixkv') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
