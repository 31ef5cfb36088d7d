"""Fixtures that every area shares: model folders, made or found once per session."""

from __future__ import annotations

from pathlib import Path

import pytest

from radixkv.models import ModelFiles, locate_model
from tiny_models import make_tiny_model


@pytest.fixture(scope="session")
def smollm2_files() -> ModelFiles:
    """The real default model, fetched on first use. Tests that ask for it carry the marker `model`."""
    return locate_model("smollm2")


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny random Llama: bytes and four special tokens, 260 rows."""
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "llama")


@pytest.fixture(scope="session")
def padded_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny random Llama whose head has 320 rows, for a tokenizer of 300 entries (R011)."""
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "padded", vocab="merges", head_rows=320)
