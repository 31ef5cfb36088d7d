"""The model without engine, cache, blocks or batch: the oracle of exactness and of scores."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from radixkv.models import LoadedModel
from radixkv_kernels.protocols import AttentionSpec


class WholeSequenceAttention:
    """Causal attention over the one sequence that is given whole."""

    def __init__(self) -> None:
        self._kv: dict[int, tuple[Tensor, Tensor]] = {}

    def write_kv(self, layer: int, key: Tensor, value: Tensor) -> None:
        self._kv[layer] = key, value

    def run(self, layer: int, query: Tensor, spec: AttentionSpec) -> Tensor:
        assert spec.window is None
        assert spec.soft_cap is None
        key, value = (part.transpose(0, 1) for part in self._kv[layer])
        out = functional.scaled_dot_product_attention(
            query.transpose(0, 1)[None], key[None], value[None], is_causal=True, scale=spec.scale, enable_gqa=True
        )
        return out[0].transpose(0, 1)


@torch.inference_mode()
def whole_logits(model: LoadedModel, ids: Sequence[int], vocab_size: int) -> Tensor:
    """(len(ids), vocab_size): logits of every position."""
    hidden = model.decoder.forward(torch.tensor(ids), torch.arange(len(ids)), WholeSequenceAttention())
    return model.decoder.logits(hidden)[:, :vocab_size].double()


def whole_logprobs(model: LoadedModel, ids: Sequence[int], vocab_size: int) -> Tensor:
    """(len(ids), vocab_size): log-probabilities of every position."""
    return torch.log_softmax(whole_logits(model, ids, vocab_size), dim=1)


def continuation_logprobs(
    model: LoadedModel, context: Sequence[int], ids: Sequence[int], vocab_size: int
) -> list[float]:
    """Log-probability of each of `ids`, given the context and those before."""
    rows = whole_logprobs(model, [*context, *ids], vocab_size)
    return [float(rows[len(context) - 1 + place, token_id]) for place, token_id in enumerate(ids)]


def gap_of_top_two(model: LoadedModel, ids: Sequence[int], vocab_size: int) -> float:
    """How much the likeliest next token leads."""
    first, second = torch.topk(whole_logits(model, ids, vocab_size)[-1], 2).values.tolist()
    return float(first - second)
