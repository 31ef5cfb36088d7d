from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from radixkv.models import ModelFiles
from radixkv.tokenizer import Tokenizer, load_tokenizer
from tokenizer_files import byte_level_tokenizer, write_tokenizer

MakeTokenizer = Callable[..., Tokenizer]


@pytest.fixture
def make_tokenizer(tmp_path: Path) -> MakeTokenizer:
    """Writes a folder for a tokenizer of the tokenizers library and loads it."""

    def make(library_tokenizer: Any = None, **config: Any) -> Tokenizer:
        folder = write_tokenizer(tmp_path / "model", library_tokenizer or byte_level_tokenizer(), **config)
        return load_tokenizer(ModelFiles("tiny", folder, "safetensors"))

    return make


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A byte-level tokenizer in which every text can be written."""
    folder = write_tokenizer(tmp_path_factory.mktemp("tiny"), byte_level_tokenizer())
    return load_tokenizer(ModelFiles("tiny", folder, "safetensors"))


@pytest.fixture(scope="session")
def smollm2(smollm2_files: ModelFiles) -> Tokenizer:
    return load_tokenizer(smollm2_files)
