"""Model files, weights and the decoder.

What needs torch is imported on first use, so that the command line and the tokenizer can find a
model's files without it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from radixkv.models.catalog import KnownModel, is_present, known_models, pull
from radixkv.models.config import Biases, ModelConfig
from radixkv.models.families import supported_architectures
from radixkv.models.files import ModelFiles
from radixkv.models.gguf_file import gguf_metadata
from radixkv.models.locate import locate_model
from radixkv.models.read_config import read_config
from radixkv.models.rope import Rope

if TYPE_CHECKING:
    from radixkv.models.compute_type import auto_dtype, resolve_dtype
    from radixkv.models.decoder import Decoder
    from radixkv.models.loading import LoadedModel, load_model
    from radixkv.models.native import with_native_decoder

_NEED_TORCH = {
    "Decoder": "decoder",
    "LoadedModel": "loading",
    "auto_dtype": "compute_type",
    "load_model": "loading",
    "with_native_decoder": "native",
    "resolve_dtype": "compute_type",
}

__all__ = [
    "Biases",
    "Decoder",
    "KnownModel",
    "LoadedModel",
    "ModelConfig",
    "ModelFiles",
    "Rope",
    "auto_dtype",
    "gguf_metadata",
    "is_present",
    "known_models",
    "load_model",
    "locate_model",
    "pull",
    "read_config",
    "resolve_dtype",
    "supported_architectures",
    "with_native_decoder",
]


def __getattr__(name: str) -> Any:
    if name not in _NEED_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_NEED_TORCH[name]}"), name)
