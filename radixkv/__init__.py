"""radixkv: prompt programs on a cache that never computes a prefix twice.

`import radixkv` loads neither torch nor a model; the names below are imported when first used.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

from radixkv._version import __version__

# Before torch loads the OpenMP runtime: its threads then sleep soon after a parallel region instead of spinning
# through the time slices of whatever else runs on the machine (docs/decisions/0004).
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "5000")

if TYPE_CHECKING:
    from radixkv.constraint import Choice, JsonSchema, Lark, Regex
    from radixkv.engine import LLM, Engine
    from radixkv.errors import RadixKVError
    from radixkv.request import Completion, SamplingParams

__all__ = [
    "LLM",
    "Choice",
    "Completion",
    "Engine",
    "JsonSchema",
    "Lark",
    "RadixKVError",
    "Regex",
    "SamplingParams",
    "__version__",
]

_HOMES = {
    "LLM": "radixkv.engine",
    "Engine": "radixkv.engine",
    "RadixKVError": "radixkv.errors",
    "Completion": "radixkv.request",
    "SamplingParams": "radixkv.request",
    "Regex": "radixkv.constraint",
    "JsonSchema": "radixkv.constraint",
    "Lark": "radixkv.constraint",
    "Choice": "radixkv.constraint",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'radixkv' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
