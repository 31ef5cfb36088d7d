"""radixkv: prompt programs on a cache that never computes a prefix twice.

`import radixkv` loads neither torch nor a model; the names below are imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from radixkv._version import __version__

if TYPE_CHECKING:
    from radixkv.engine import LLM, Engine
    from radixkv.errors import RadixKVError
    from radixkv.request import Completion, SamplingParams

__all__ = ["LLM", "Completion", "Engine", "RadixKVError", "SamplingParams", "__version__"]

_HOMES = {
    "LLM": "radixkv.engine",
    "Engine": "radixkv.engine",
    "RadixKVError": "radixkv.errors",
    "Completion": "radixkv.request",
    "SamplingParams": "radixkv.request",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'radixkv' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
