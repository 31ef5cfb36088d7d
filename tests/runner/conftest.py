from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from radixkv.models import Decoder, load_model, locate_model
from radixkv.runner import Runner
from radixkv_kernels.protocols import KVLayout
from radixkv_kernels.reference import ReferenceAttention
from tiny_models import make_tiny_model

BLOCK_SIZE = 4
VOCAB_SIZE = 300  # the tokenizer's; the head has 320 rows

MakeRunner = Callable[[], Runner]


@pytest.fixture(scope="session")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    """A tiny fp32 decoder whose last 20 head rows are louder than all the others."""
    folder: Path = make_tiny_model(tmp_path_factory.mktemp("tiny"), head_rows=320)
    return load_model(locate_model(str(folder)), "float32").decoder


@pytest.fixture
def make_runner(decoder: Decoder) -> MakeRunner:
    """A runner with its own storage, all NaN."""

    def make() -> Runner:
        config = decoder.config
        layout = KVLayout(config.num_layers, 64, BLOCK_SIZE, config.num_kv_heads, config.head_dim, torch.float32)
        attention = ReferenceAttention(layout)
        attention.storage.blocks.fill_(float("nan"))
        return Runner(decoder, attention, vocab_size=VOCAB_SIZE)

    return make


@pytest.fixture
def runner(make_runner: MakeRunner) -> Runner:
    return make_runner()
