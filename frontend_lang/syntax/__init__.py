"""From source text to a tree: grammar, parser, text interpolation."""

from __future__ import annotations

from frontend_lang.syntax import ast
from frontend_lang.syntax.parser import ParseResult, parse

__all__ = ["ParseResult", "ast", "parse"]
