"""A tiny random model in float32, engines on it, and a way to script what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from forced_decoder import ForcedDecoder
from radixkv.config import engine_config
from radixkv.engine import Engine
from radixkv.models import LoadedModel, load_model, locate_model
from radixkv.tokenizer import Tokenizer, load_tokenizer

EngineMaker = Callable[..., Engine]


@pytest.fixture(scope="session")
def tiny(tiny_llama: Path) -> LoadedModel:
    return load_model(locate_model(str(tiny_llama)), "float32")


@pytest.fixture(scope="session")
def padded(padded_llama: Path) -> LoadedModel:
    """A head of 320 rows for a tokenizer of 300 entries, with merges."""
    return load_model(locate_model(str(padded_llama)), "float32")


@pytest.fixture(scope="session")
def tokenizer(tiny: LoadedModel) -> Tokenizer:
    return load_tokenizer(tiny.files)


@pytest.fixture
def make_engine(tiny: LoadedModel, tokenizer: Tokenizer) -> Iterator[EngineMaker]:
    """Engines with any settings; every one is closed, and must be in order, at the end."""
    engines: list[Engine] = []

    def make(model: LoadedModel = tiny, **settings: Any) -> Engine:
        settings = {"dtype": "float32", "num_blocks": 256, "threads": 1} | settings
        own_tokenizer = tokenizer if model.files == tiny.files else load_tokenizer(model.files)
        engine = Engine.from_model(engine_config(str(model.files.path), settings), model, own_tokenizer)
        engines.append(engine)
        return engine

    yield make
    for engine in engines:
        engine.close_now()


@dataclass
class Forced:
    """An engine whose tokens are scripted. `say` scripts the answer to a prompt, piece by piece or as ids."""

    engine: Engine
    decoder: ForcedDecoder
    tokenizer: Tokenizer
    eos: int

    def say(self, prompt: str, text: str, *, end: bool = False) -> None:
        self.decoder.force(self.tokenizer.encode(prompt), [*self.tokenizer.encode(text), *([self.eos] if end else [])])


@pytest.fixture
def forced(tiny: LoadedModel, tokenizer: Tokenizer, make_engine: EngineMaker) -> Forced:
    decoder = ForcedDecoder(tiny.decoder)
    engine = make_engine(replace(tiny, decoder=decoder))
    return Forced(engine, decoder, tokenizer, tiny.config.eos_token_ids[0])
