"""Log-probabilities of given tokens and of the likeliest ones beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from radixkv.request import TokenLogprob

TopEntries = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class LogprobQuery:
    """Ask for a token's log-probability in a row of logits, with the `top` likeliest tokens of that row."""

    row: int
    token_id: int
    top: int


def answer_queries(logits: Tensor, queries: Sequence[LogprobQuery]) -> list[TokenLogprob]:
    """One TokenLogprob per query from logits (num_rows, vocab_size) fp32; NaN where a row holds no distribution."""
    norms = logits.logsumexp(-1)  # (num_rows,)
    rows = torch.tensor([query.row for query in queries], device=logits.device)
    token_ids = torch.tensor([query.token_id for query in queries], device=logits.device)
    values = (logits[rows, token_ids] - norms[rows]).tolist()
    tops = _top_entries(logits, norms, queries)
    return [
        TokenLogprob(query.token_id, value, tops[query.row][: query.top] if query.top else ())
        for query, value in zip(queries, values, strict=True)
    ]


def answer_in_parts(
    queries: Sequence[LogprobQuery], logits_of: Callable[[Sequence[int]], Tensor], rows_at_once: int
) -> list[TokenLogprob]:
    """One TokenLogprob per query, with the logits of at most `rows_at_once` rows in memory at a time.

    `logits_of` gives the logits of some rows, (num_rows, vocab_size) fp32; each row is asked for once,
    however many queries it has.
    """
    asked_of: dict[int, list[int]] = defaultdict(list)  # row -> indices of its queries
    for i, query in enumerate(queries):
        asked_of[query.row].append(i)
    rows = list(asked_of)
    answers: dict[int, TokenLogprob] = {}
    for first in range(0, len(rows), rows_at_once):
        part = rows[first : first + rows_at_once]
        indices = [(i, at) for at, row in enumerate(part) for i in asked_of[row]]
        local = [replace(queries[i], row=at) for i, at in indices]
        found = answer_queries(logits_of(part), local)
        answers.update((i, answer) for (i, _), answer in zip(indices, found, strict=True))
    return [answers[i] for i in range(len(queries))]


def _top_entries(logits: Tensor, norms: Tensor, queries: Sequence[LogprobQuery]) -> dict[int, TopEntries]:
    """The likeliest ids of each row that somebody asks about, best first, of equal ones the lowest id first."""
    rows = sorted({query.row for query in queries if query.top})
    if not rows:
        return {}
    count = min(max(query.top for query in queries), logits.shape[1])
    asked = logits if len(rows) == len(logits) else logits[rows]
    found = asked.topk(min(count + 1, logits.shape[1]))  # one more tells whether the last place is shared
    shared = (found.values[:, -1] == found.values[:, count - 1]).tolist()
    ids, values = found.indices.tolist(), (found.values - norms[rows, None]).tolist()
    entries = {}
    for i, row in enumerate(rows):
        pairs = list(zip(ids[i], values[i], strict=True))
        if shared[i] and len(pairs) > count:
            pairs = _all_at_least(logits[row], found.values[i, count - 1], norms[row])
        pairs.sort(key=lambda pair: (-pair[1], pair[0]))
        entries[row] = tuple(pair for pair in pairs[:count] if pair[1] != float("-inf"))
    return entries


def _all_at_least(row: Tensor, least: Tensor, norm: Tensor) -> list[tuple[int, float]]:
    ids = (row >= least).nonzero().squeeze(-1)
    return list(zip(ids.tolist(), (row[ids] - norm).tolist(), strict=True))
