"""Errors cross processes: a worker's error reaches its parent with its facts and its text."""

from __future__ import annotations

import pickle

import pytest

from radixkv.errors import BadModelFile, InvalidRequest, OutOfBlocks, RadixKVError, RequestTooLarge

ERRORS = [
    InvalidRequest("top_p", 2, "a number from 0 to 1"),
    RequestTooLarge("prompt", 900, 512, "max_context", "shorten it"),
    BadModelFile("model.gguf", "tensor x", "2 rows", "3 rows"),
    OutOfBlocks(4, 1, 2),
    RadixKVError("plain"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling(error: RadixKVError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
