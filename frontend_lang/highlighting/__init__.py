"""Highlighting of programs by Pygments, which finds the lexer under the name `rkv` where the package is installed."""

from __future__ import annotations

from frontend_lang.highlighting.lexer import RkvLexer

__all__ = ["RkvLexer"]
