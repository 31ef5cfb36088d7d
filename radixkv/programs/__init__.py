"""The engine as a runtime of the prompt language."""

from __future__ import annotations

from radixkv.programs.runtime import EngineRuntime

__all__ = ["EngineRuntime"]
