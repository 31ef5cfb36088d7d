"""The language judges texts with the automaton that the engine generates them with; neither may import the other."""

from __future__ import annotations

import pytest

import frontend_lang.grammars as language
from radixkv.constraints import grammar as engine
from radixkv.constraints import native

LIMITS = ("initial_lexer_fuel", "step_lexer_fuel", "step_max_items", "max_lexer_states", "max_grammar_size")


def test_json_is_spelled_alike_but_for_escapes_of_control_characters() -> None:
    assert {**language.JSON_OPTIONS, "json_allowed_escapes": '"\\bfnrt'} == engine.JSON_OPTIONS


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_the_same(name: str) -> None:
    assert getattr(language.LIMITS, name) == getattr(native.LIMITS, name)
