"""Attention over a part of the keys, and the merge of parts, all in fp32.

Softmax attention over a split set of keys is exact if each part also gives the logarithm of
its sum of exponentials: the parts are then averaged with weights exp(lse - lse of all).
Source: Milakov and Gimelshein 2018 (online softmax); Dao et al. 2022 (FlashAttention), section 3.1;
the use on a shared prefix is that of Juravsky et al. 2024 (Hydragen).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

MAX_SCORES = 1 << 22  # elements of one score matrix: 16 MiB, so memory does not grow with tokens * context


@dataclass(frozen=True)
class ScoreRule:
    """How a score becomes the input of the softmax: times scale, then capped."""

    scale: float
    soft_cap: float | None


def partial_attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, rule: ScoreRule
) -> tuple[Tensor, Tensor]:
    """Attend with an explicit score matrix.

    query (batch, heads, num_queries, head_dim), key and value (batch, heads, num_keys, head_dim), bias
    broadcastable to (batch, heads, num_queries, num_keys), 0 where a key is seen and -inf where not.
    Gives the output (batch, heads, num_queries, head_dim) and its log-sum-exp (batch, heads, num_queries),
    fp32 both. A query that sees no key gets output 0 and log-sum-exp -inf.
    """
    key, value = key.float(), value.float()
    num_queries = query.shape[2]
    at_once = max(1, MAX_SCORES // (query.shape[0] * query.shape[1] * key.shape[2]))
    parts = []
    for first in range(0, num_queries, at_once):
        rows = slice(first, first + at_once)
        part_bias = bias if bias is None or bias.shape[2] == 1 else bias[:, :, rows]
        parts.append(_attend(query[:, :, rows].float(), key, value, part_bias, rule))
    if len(parts) == 1:
        return parts[0]
    return torch.cat([out for out, _ in parts], 2), torch.cat([lse for _, lse in parts], 2)


def _attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, rule: ScoreRule) -> tuple[Tensor, Tensor]:
    scores = torch.matmul(query, key.transpose(2, 3)).mul_(rule.scale)  # (batch, heads, num_queries, num_keys)
    if rule.soft_cap is not None:
        scores.div_(rule.soft_cap).tanh_().mul_(rule.soft_cap)
    if bias is not None:
        scores.add_(bias)
    lse = scores.logsumexp(-1)
    nothing_seen = lse == float("-inf")
    weights = scores.sub_(lse.masked_fill(nothing_seen, 0.0)[..., None]).exp_()
    return torch.matmul(weights, value), lse


class MergedParts:
    """The running merge of parts: output (num_tokens, num_heads, head_dim) and log-sum-exp, fp32."""

    def __init__(self, shape: torch.Size, device: torch.device) -> None:
        self.output = torch.zeros(shape, device=device)
        self.lse = torch.full(shape[:2], float("-inf"), device=device)

    def add(self, tokens: Tensor | slice, output: Tensor, lse: Tensor) -> None:
        """Merge one part for some tokens; a token's first part must have seen at least one key."""
        before = self.lse[tokens]
        after = torch.logaddexp(before, lse)
        kept, added = (before - after).exp_()[..., None], (lse - after).exp_()[..., None]
        self.output[tokens] = self.output[tokens] * kept + output * added
        self.lse[tokens] = after
