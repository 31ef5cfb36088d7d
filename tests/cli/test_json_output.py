"""JSON on stdout is JSON."""

from __future__ import annotations

import json
import math

import pytest

from radixkv.cli.terminal import print_json


def test_numbers_that_json_lacks_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"logprobs": [{"logprob": -math.inf, "top": ((1, math.nan), (2, -0.5))}]})
    assert json.loads(capsys.readouterr().out) == {"logprobs": [{"logprob": None, "top": [[1, None], [2, -0.5]]}]}
