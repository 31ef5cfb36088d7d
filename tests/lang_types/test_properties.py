"""Types, their constraints and their values agree, whatever the type."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from frontend_lang import ProgramError
from frontend_lang.grammars import Grammar
from frontend_lang.runtime import Choice, JsonSchema, Regex
from frontend_lang.types.schema_values import schema_misfit
from frontend_lang.types.schemas import json_schema
from frontend_lang.values import json_text
from typed_values import ANY_VALUES, TYPES, Typed, one_type, walked_text


@settings(max_examples=150, deadline=None)
@given(st.data(), TYPES)
def test_a_value_of_a_type_fits_and_is_what_its_text_is_parsed_to(data: st.DataObject, typed: Typed) -> None:
    types, declared = one_type(typed.source)
    value = data.draw(typed.values)
    assert types.fit(value, declared, "x") == value
    generated = types.gen_type(declared)
    raw = generated.constraint is None or (isinstance(generated.constraint, (Choice, Regex)) and isinstance(value, str))
    assert generated.parse(value if raw and isinstance(value, str) else json_text(value)) == value


@settings(max_examples=150, deadline=None)
@given(st.data(), TYPES)
def test_the_grammar_of_a_type_has_the_texts_of_its_values(data: st.DataObject, typed: Typed) -> None:
    types, declared = one_type(typed.source)
    value = data.draw(typed.values)
    constraint = types.gen_type(declared).constraint
    if isinstance(constraint, JsonSchema):
        assert schema_misfit(value, constraint.schema) is None
    elif constraint is not None:
        assert Grammar.of(constraint).matches(value if isinstance(value, str) else json_text(value))


@settings(max_examples=300, deadline=None)
@given(st.data(), TYPES)
def test_fitting_and_the_grammar_agree_on_any_value(data: st.DataObject, typed: Typed) -> None:
    types, declared = one_type(typed.source)
    value = data.draw(st.one_of(ANY_VALUES, typed.values.map(lambda inner: {"k1": inner}), typed.values))
    try:
        types.fit(value, declared, "x")
        code = ""
    except ProgramError as error:
        code = error.code
    assert code == ("E0402" if schema_misfit(value, json_schema(declared, types.names)) else "")


@settings(max_examples=200, deadline=None)
@given(TYPES, st.integers(0, 2**32))
def test_what_a_constraint_lets_through_is_a_value_of_the_type(typed: Typed, seed: int) -> None:
    types, declared = one_type(typed.source)
    generated = types.gen_type(declared)
    assume(generated.constraint is not None)
    assert generated.constraint is not None
    text = walked_text(Grammar.of(generated.constraint), seed)
    assume(text is not None)
    try:
        value, fault = generated.parse(text or ""), ""
    except ProgramError as error:
        value, fault = None, error.message
    assert "beyond the range of a float" in fault or types.fit(value, declared, "x") == value
