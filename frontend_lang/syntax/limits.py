"""Static limits of a program."""

from __future__ import annotations

MAX_SOURCE_BYTES = 256 * 1024
MAX_NESTING = 64  # blocks and expressions together
MAX_ERRORS = 20  # reported in one pass
MAX_DIGITS = 18  # of a number: what fits into 64 bits
