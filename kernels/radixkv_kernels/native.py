"""The native CPU module, if it was built.

torch is imported first on purpose: the module then shares torch's OpenMP runtime
instead of loading a second one.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import torch  # noqa: F401  the OpenMP runtime must be torch's


def native_module() -> ModuleType | None:
    """The compiled module, or None on an install without a compiler."""
    try:
        return importlib.import_module("radixkv_kernels._cpu")
    except ModuleNotFoundError:
        return None


def required_module() -> ModuleType:
    """The compiled module. Raises RuntimeError on an install without one."""
    module = native_module()
    if module is None:
        raise RuntimeError("the native module was not built: install with a C++ compiler")
    return module


def has_native() -> bool:
    """Whether the compiled module is there."""
    return native_module() is not None
