"""The engine as a runtime of the prompt language."""

from __future__ import annotations

from radixkv.programs.local import local_runtime
from radixkv.programs.runtime import EngineRuntime

__all__ = ["EngineRuntime", "local_runtime"]
