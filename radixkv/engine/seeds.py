"""Where seeds come from when a caller gives none."""

from __future__ import annotations

import random


class SeedSource:
    """Draws seeds; from a given seed always the same ones in the same order."""

    def __init__(self, seed: int | None) -> None:
        self._random = random.SystemRandom() if seed is None else random.Random(seed)  # noqa: S311 - no secret

    def draw(self) -> int:
        """A seed in [0, 2**53): every JSON reader keeps such an integer exact."""
        return self._random.getrandbits(53)
