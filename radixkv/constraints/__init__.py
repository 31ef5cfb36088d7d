"""Constraints compiled and followed: which tokens may come next, and which must."""

from __future__ import annotations

from radixkv.constraints.compiler import CompiledConstraint, ConstraintCompiler
from radixkv.constraints.native import TokenVocabulary
from radixkv.constraints.table import ConstraintTable

__all__ = ["CompiledConstraint", "ConstraintCompiler", "ConstraintTable", "TokenVocabulary"]
