"""What SamplingParams accepts, and that it cannot be changed behind the engine's back."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import pytest

from radixkv.errors import InvalidRequest
from radixkv.request import SamplingParams


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("logit_bias", [5], "a mapping"),
        ("logit_bias", None, "a mapping"),
        ("logit_bias", {1.5: 1.0}, "an integer"),
        ("logit_bias", {1: float("nan")}, "a number"),
        ("stop_token_ids", 5, "a tuple or list of token ids"),
        ("stop_token_ids", "5", "a tuple or list of token ids"),
        ("stop_token_ids", [-1], "an integer"),
        ("stop", 5, "a non-empty string"),
        ("stop", "", "a non-empty string"),
        ("stop", ["a", ""], "a non-empty string"),
        ("stop", ["a", 5], "a non-empty string"),
        ("ignore_eos", "no", "True or False"),
        ("ignore_eos", 1, "True or False"),
        ("include_stop", None, "True or False"),
        ("temperature", True, "a number"),
        ("n", 2.0, "an integer"),
    ],
)
def test_a_wrong_value_is_refused_by_field_value_and_what_is_allowed(field: str, value: Any, allowed: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{field}.*expected {allowed}"):
        SamplingParams(**{field: value})


@pytest.mark.parametrize("stop", ["END", ["END"], ("END",)])
def test_stop_strings_come_alone_or_listed(stop: Any) -> None:
    assert SamplingParams(stop=stop) == SamplingParams(stop=("END",))
    assert SamplingParams(stop=stop).stop == ("END",)


def test_lists_become_tuples_so_that_parameters_can_be_keys() -> None:
    listed: Any = [3, 4]
    params = SamplingParams(stop_token_ids=listed, logit_bias={1: 2.0})
    assert params.stop_token_ids == (3, 4)
    assert hash(params) == hash(SamplingParams(stop_token_ids=(3, 4), logit_bias={1: 2.0}))
    assert params != replace(params, logit_bias={1: 3.0})


def test_the_bias_is_a_copy_that_nobody_can_change() -> None:
    mine = {1: 2.0}
    params = SamplingParams(logit_bias=mine)
    mine[1], mine[-7] = 1e9, 5.0
    assert dict(params.logit_bias) == {1: 2.0}
    view: Any = params.logit_bias
    with pytest.raises(TypeError):
        view[1] = 3.0


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda params: pickle.loads(pickle.dumps(params)), replace]
)
def test_parameters_survive_copying_and_pickling(again: Any) -> None:
    params = SamplingParams(logit_bias={1: 2.0}, stop=("END",), seed=3)
    assert again(params) == params


@pytest.mark.parametrize(
    ("fields", "prompt", "output", "logits"),
    [
        ({}, False, False, False),
        ({"logit_bias": {1: 1.0}}, False, False, True),
        ({"repetition_penalty": 1.1}, True, True, True),
        ({"frequency_penalty": 0.5}, False, True, True),
        ({"presence_penalty": -0.5}, False, True, True),
    ],
)
def test_what_penalties_look_at(fields: dict[str, Any], prompt: bool, output: bool, logits: bool) -> None:
    params = SamplingParams(**fields)
    assert (params.looks_at_prompt, params.looks_at_output, params.changes_logits) == (prompt, output, logits)
