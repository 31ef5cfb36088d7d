"""The engine: async requests and contexts, the thread that computes them, and a sync face."""

from __future__ import annotations

from radixkv.engine.completions import CompletionDelta
from radixkv.engine.core import EngineStats
from radixkv.engine.engine import Engine
from radixkv.engine.llm import LLM
from radixkv.engine.sizing import PoolPlan
from radixkv.engine.startup import EngineParts, fit_parts, load_parts
from radixkv.engine.verbs import Fork, Generation, Norm, Part, RoleClose, RoleOpen, Scores, Text

__all__ = [
    "LLM",
    "CompletionDelta",
    "Engine",
    "EngineParts",
    "EngineStats",
    "Fork",
    "Generation",
    "Norm",
    "Part",
    "PoolPlan",
    "RoleClose",
    "RoleOpen",
    "Scores",
    "Text",
    "fit_parts",
    "load_parts",
]
