"""One layout for every program: `format_source`."""

from __future__ import annotations

from frontend_lang.formatting.formatter import format_source

__all__ = ["format_source"]
