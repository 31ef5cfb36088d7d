"""Running a decoder on one sequence with the reference attention, without scheduler or cache."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from radixkv.models import LoadedModel
from radixkv_kernels.protocols import AttentionBatch, KVLayout
from radixkv_kernels.reference import ReferenceAttention

BLOCK_SIZE = 16


class SequenceRun:
    """One sequence on blocks of its own; `feed` computes the next tokens after those fed before."""

    def __init__(self, model: LoadedModel, capacity: int = 256) -> None:
        config = model.config
        self._decoder = model.decoder
        self._blocks = -(-capacity // BLOCK_SIZE)
        layout = KVLayout(
            config.num_layers, self._blocks, BLOCK_SIZE, config.num_kv_heads, config.head_dim, model.dtype
        )
        self._attention = ReferenceAttention(layout)
        self.length = 0

    @torch.inference_mode()
    def feed(self, token_ids: Sequence[int]) -> Tensor:
        """Logits after each of the tokens, (num_tokens, vocab_size) fp32."""
        start, self.length = self.length, self.length + len(token_ids)
        used = -(-self.length // BLOCK_SIZE)
        self._attention.plan(
            AttentionBatch(
                query_pointers=_ints([0, len(token_ids)]),
                table_pointers=_ints([0, used]),
                table_ids=_ints(list(reversed(range(self._blocks)))[:used]),
                kv_lengths=_ints([self.length]),
            )
        )
        positions = torch.arange(start, self.length)
        return self._decoder.logits(self._decoder(torch.tensor(token_ids), positions, self._attention))

    def greedy(self, prompt: Sequence[int], count: int) -> list[int]:
        """The next `count` tokens, each the likeliest after those before."""
        tokens = [int(self.feed(prompt)[-1].argmax())]
        while len(tokens) < count:
            tokens.append(int(self.feed(tokens[-1:])[-1].argmax()))
        return tokens


def _ints(values: list[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.int32)
