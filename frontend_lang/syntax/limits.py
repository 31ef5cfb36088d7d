"""Static limits of a program; the host may only lower what a run may do."""

from __future__ import annotations

MAX_SOURCE_BYTES = 256 * 1024
MAX_NESTING = 64  # blocks and expressions together
MAX_ERRORS = 20  # reported in one pass
MAX_DIGITS = 18  # of a number: what fits into 64 bits
MAX_GEN_TOKENS = 4096
MAX_LIVE_BRANCHES = 64
MAX_BRANCHES = 4096  # of a whole run
MAX_ROUNDS = 1000  # of a loop
