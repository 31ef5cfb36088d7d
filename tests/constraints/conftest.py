"""Engines on a tiny random model whose tokens are bytes, and a compiler over bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from radixkv.config import engine_config
from radixkv.constraints import ConstraintCompiler, TokenVocabulary
from radixkv.engine import Engine
from radixkv.models import LoadedModel, load_model, locate_model
from radixkv.tokenizer import load_tokenizer

EOS = 256


@pytest.fixture(scope="session")
def tiny_model(tiny_llama: Path) -> LoadedModel:
    return load_model(locate_model(str(tiny_llama)), "float32")


@pytest.fixture
def engine_of(tiny_model: LoadedModel) -> Iterator[Callable[..., Engine]]:
    """Engines with any settings. At the end each is in order, holds nothing, and follows no grammar."""
    engines: list[Engine] = []

    def make(**settings: Any) -> Engine:
        settings = {"dtype": "float32", "num_blocks": 512, "threads": 1} | settings
        config = engine_config(str(tiny_model.files.path), settings)
        engines.append(Engine.from_model(config, tiny_model, load_tokenizer(tiny_model.files)))
        return engines[-1]

    yield make
    for engine in engines:
        engine.check_integrity()
        assert engine.stats().scheduler.running == 0
        assert engine.stats().cache.leases == engine.stats().scheduler.holds
        assert not len(engine._parts.constraints), "a matcher outlived its sequence"
        engine.close_now()


@pytest.fixture(scope="session")
def compiler() -> Iterator[ConstraintCompiler]:
    """Tokens are the 256 bytes, three pairs, and an end of sequence."""
    tokens = [*(bytes([byte]) for byte in range(256)), b"<eos>", b'{"', b'":', b"an"]
    compiler = ConstraintCompiler(TokenVocabulary(tokens, [EOS], [EOS], lambda text: list(text.encode())))
    yield compiler
    compiler.close()
