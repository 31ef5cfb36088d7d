"""Top-k, top-p and min-p as one threshold per row: each keeps the likeliest tokens, so the strictest one decides.

Tokens as likely as the last one kept are kept too, so a cut never depends on the order of equal tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from radixkv.request import SamplingParams

_FIRST_CANDIDATES: Final = 256  # enough for most nuclei, and far quicker to find than a sorted vocabulary
_MORE_CANDIDATES: Final = 4096


def cuts_off(params: SamplingParams) -> bool:
    """Whether some tokens are left out of the draw."""
    return params.top_k > 0 or params.top_p < 1.0 or params.min_p > 0.0


def thresholds(logits: Tensor, params: Sequence[SamplingParams]) -> Tensor:
    """The least logit that each row keeps, (num_rows, 1).

    logits: (num_rows, vocab_size) fp32, temperature already applied. Top-p counts the mass left by top-k
    as one, min-p compares with the likeliest token.
    """
    least = torch.full((len(params), 1), float("-inf"), device=logits.device)
    asking = [row for row, each in enumerate(params) if each.top_k > 0]
    if asking:
        least[asking] = _top_k(logits[asking], [params[row].top_k for row in asking])
    asking = [row for row, each in enumerate(params) if each.top_p < 1.0]
    if asking:
        least[asking] = _top_p(logits[asking], least[asking], [params[row].top_p for row in asking])
    asking = [row for row, each in enumerate(params) if each.min_p > 0.0]
    if asking:
        shares = torch.tensor([params[row].min_p for row in asking], device=logits.device)[:, None]
        best = logits[asking].amax(-1, keepdim=True)
        least[asking] = torch.maximum(least[asking], best + shares.log())
    return least


def _top_k(logits: Tensor, counts: list[int]) -> Tensor:
    """The counts[i]-th largest logit of each row, (num_rows, 1)."""
    most = min(max(counts), logits.shape[1])
    places = torch.tensor(counts, device=logits.device).clamp_(max=most)[:, None] - 1
    return logits.topk(most).values.gather(1, places)


def _top_p(logits: Tensor, least: Tensor, masses: list[float]) -> Tensor:
    """The smallest logit of the smallest set of likeliest tokens whose mass reaches masses[i], (num_rows, 1).

    `least` (num_rows, 1) is what top-k keeps. Few candidates are tried first, the whole vocabulary last.
    """
    vocab_size = logits.shape[1]
    kept = logits.masked_fill(logits < least, float("-inf"))
    norms = kept.logsumexp(-1, keepdim=True)
    mass = torch.tensor(masses, dtype=torch.float64, device=logits.device)[:, None]
    result = torch.empty_like(least)
    open_rows = torch.arange(len(masses), device=logits.device)
    for count in (_FIRST_CANDIDATES, _MORE_CANDIDATES, vocab_size):
        rows = kept if len(open_rows) == len(masses) else kept[open_rows]
        candidates = rows.topk(min(count, vocab_size)).values  # (num_open, count), descending
        sums = (candidates - norms[open_rows]).double().exp().cumsum(-1)
        last = (sums < mass[open_rows]).sum(-1, keepdim=True)  # place of the token that reaches the mass
        reached = last[:, 0] < candidates.shape[1]
        last.clamp_(max=candidates.shape[1] - 1)
        result[open_rows] = candidates.gather(1, last)
        if count >= vocab_size or bool(reached.all()):
            break
        open_rows = open_rows[~reached]
    return result
