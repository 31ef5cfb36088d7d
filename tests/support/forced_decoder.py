"""A real decoder whose next tokens are scripted: the engine, the cache and the sampler stay what they are."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from radixkv_kernels.protocols import PagedAttention

BIAS = 1e4  # added to the scripted token's logit


class ForcedDecoder(nn.Module):
    """Adds a huge bias to the scripted token after a (position, token) pair.

    Rows reach `logits` without their position, so two more columns carry position and token id there.
    """

    def __init__(self, decoder: nn.Module) -> None:
        super().__init__()
        self._decoder = decoder
        self._script: dict[tuple[int, int], int] = {}
        self.fail_at: tuple[int, int] | None = None  # a step with this (position, token id) raises
        self.nan_at: tuple[int, int] | None = None  # logits after this (position, token id) are no numbers
        self.steps: list[int] = []  # number of tokens of each forward

    def force(self, prompt: Sequence[int], output: Sequence[int]) -> None:
        """Script what follows a prompt. Prompts that run at once and differ in output must differ in length or end."""
        whole = [*prompt, *output]
        for place in range(len(prompt) - 1, len(whole) - 1):
            self._script[place, whole[place]] = whole[place + 1]

    def clear(self) -> None:
        """Forget all scripts."""
        self._script.clear()
        self.fail_at = self.nan_at = None
        self.steps.clear()

    def forward(self, token_ids: Tensor, positions: Tensor, attention: PagedAttention) -> Tensor:
        self.steps.append(len(token_ids))
        if self.fail_at is not None and self.fail_at in zip(positions.tolist(), token_ids.tolist(), strict=True):
            raise RuntimeError("scripted failure of the forward")
        hidden = self._decoder.forward(token_ids, positions, attention)
        return torch.cat([hidden, torch.stack([positions, token_ids], dim=1).to(hidden.dtype)], dim=1)

    def logits(self, hidden: Tensor) -> Tensor:
        logits = self._decoder.logits(hidden[:, :-2])
        for row, (position, token_id) in enumerate(hidden[:, -2:].int().tolist()):
            if (position, token_id) == self.nan_at:
                logits[row] = torch.nan
            forced = self._script.get((position, token_id))
            if forced is not None:
                logits[row, forced] += BIAS
        return logits
