"""What a gen or select leaves behind with the name that it binds, besides the value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GenDetail:
    """Of a gen: `text` as generated, ids, why it ended, and log-probabilities where they were asked for.

    Of a select: the chosen text and the distribution over the options; it has no ids of its own.
    """

    text: str
    token_ids: tuple[int, ...] | None = None
    finish_reason: str | None = None
    logprobs: tuple[float, ...] | None = None
    distribution: Mapping[str, float] | None = None

    @property
    def logprob(self) -> float | None:
        """The natural logarithm of the probability of the text; None if it was not asked for."""
        if self.distribution is not None:
            chosen = self.distribution[self.text]
            return math.log(chosen) if chosen > 0 else -math.inf
        return None if self.logprobs is None else math.fsum(self.logprobs)

    @property
    def probability(self) -> float | None:
        """Of the option that was chosen, or of the text that was generated; None if it was not asked for."""
        if self.distribution is not None:
            return self.distribution[self.text]
        return None if self.logprobs is None else math.exp(math.fsum(self.logprobs))
