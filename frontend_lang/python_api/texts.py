"""Builtins of the language that Python bodies have no other word for."""

from __future__ import annotations

from typing import Any

from frontend_lang.builtin_functions import texts
from frontend_lang.python_api.plain import plain_value


def fence(x: Any) -> str:
    """The text of x between tags that it cannot close: for text that you do not trust. Waits for a promise."""
    return str(texts.fence(plain_value(x)))
