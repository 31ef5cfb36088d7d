"""From source text to a tree: grammar, parser, text interpolation."""

from __future__ import annotations

from frontend_lang.syntax import ast

__all__ = ["ast"]
