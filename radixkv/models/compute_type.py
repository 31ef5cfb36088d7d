"""The type that a model computes in."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch

from radixkv.errors import ConfigurationError

_DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_BF16_FLAGS: Final = frozenset({"avx512_bf16", "amx_bf16", "bf16"})  # x86 twice, Arm


def resolve_dtype(name: str) -> torch.dtype:
    """The compute type of a name, `auto` by what this CPU has. Raises ConfigurationError."""
    if name == "auto":
        return auto_dtype()
    if name not in _DTYPES:
        raise ConfigurationError(f"dtype: got {name!r}, expected auto, {', '.join(_DTYPES)}")
    return _DTYPES[name]


def auto_dtype() -> torch.dtype:
    """bfloat16 where the CPU has units for it, else float32."""
    return torch.bfloat16 if has_bfloat16_units() else torch.float32


def has_bfloat16_units(cpu_info: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether this CPU multiplies bfloat16 in hardware, by the flags Linux shows; elsewhere: no."""
    try:
        lines = cpu_info.read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    flags = next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return not _BF16_FLAGS.isdisjoint(flags.split())
