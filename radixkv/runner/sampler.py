"""The choice of the next token.

The order of operations, for one row of logits:

    1. logit bias               added first, so penalties see the biased logit (as vLLM does)
    2. repetition penalty       prompt and output; a positive logit is divided, a negative one multiplied
    3. frequency, presence      output only
       constraint               what it does not allow becomes impossible
       log-probabilities        are taken here: of the distribution that the request's own settings define,
                                before anything is cut off, so they are finite and do not depend on temperature
    4. banned ids               end-of-sequence and stop ids before `min_tokens`
       temperature 0            the largest logit now, of equal ones the lowest id
    5. temperature
    6. top-k, top-p, min-p      top-p counts what top-k left as one
    7. Gumbel noise             the largest sum: an exact draw from what is left (see `noise`)

Ids beyond the tokenizer never get here: the runner drops those rows of the head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import torch
from torch import Tensor

from radixkv.request import TokenLogprob
from radixkv.runner.cutoffs import cuts_off, thresholds
from radixkv.runner.logprobs import LogprobQuery, answer_queries
from radixkv.runner.noise import Words, gumbel_noise, noise_words
from radixkv.runner.penalties import ban, change_logits
from radixkv.step_plan import SamplingState


@dataclass(frozen=True)
class Sampled:
    """What one row gave: an id, its log-probability if asked for, or the reason why there is none."""

    token_id: int
    logprob: TokenLogprob | None = None
    error: str | None = None


NO_CONSTRAINTS: Final[Mapping[int, Tensor]] = MappingProxyType({})


def sample(
    logits: Tensor, states: Sequence[SamplingState], allowed: Mapping[int, Tensor] = NO_CONSTRAINTS
) -> list[Sampled]:
    """Choose one token for each row of logits (num_rows, vocab_size) fp32, which are changed in place.

    `allowed`: of a row under a constraint, the tokens that it may choose, (vocab_size,) bool.
    A row that cannot be sampled gets an error and token id 0; the other rows are not touched by it.
    """
    errors = _check_ids(states, logits.shape[1])
    for row, state in enumerate(states):
        if state.params.changes_logits and row not in errors:
            change_logits(logits[row], state)
    for row, tokens in allowed.items():
        logits[row].masked_fill_(~tokens, float("-inf"))
    asking = [row for row, state in enumerate(states) if state.params.logprobs is not None]
    distributions = logits[asking]  # a copy, before bans and cuts
    for row, state in enumerate(states):
        if state.banned_ids and row not in errors:
            ban(logits[row], state.banned_ids)
    token_ids = _choose(logits, states, errors)
    queries = [LogprobQuery(i, token_ids[row], states[row].params.logprobs or 0) for i, row in enumerate(asking)]
    logprobs = dict(zip(asking, answer_queries(distributions, queries), strict=True)) if asking else {}
    return [
        Sampled(0, error=errors[row]) if row in errors else Sampled(token_id, logprobs.get(row))
        for row, token_id in enumerate(token_ids)
    ]


def _check_ids(states: Sequence[SamplingState], vocab_size: int) -> dict[int, str]:
    """Rows whose bias names a token that does not exist, before anything is indexed with it."""
    errors = {}
    for row, state in enumerate(states):
        ids = (*state.params.logit_bias, *state.banned_ids)
        if ids and max(ids) >= vocab_size:
            errors[row] = f"token id {max(ids)} is not in the vocabulary of {vocab_size} tokens"
    return errors


def _choose(logits: Tensor, states: Sequence[SamplingState], errors: dict[int, str]) -> list[int]:
    """The chosen id of each row; adds to `errors` the rows that hold no finite maximum."""
    best = logits.max(-1)  # of equal logits the first
    for row, value in enumerate(best.values.isfinite().tolist()):
        if not value:
            errors.setdefault(row, _no_maximum(best.values[row].item()))
    token_ids: list[int] = best.indices.tolist()
    drawn = [row for row, state in enumerate(states) if not state.params.greedy and row not in errors]
    if drawn:
        for row, token_id in zip(drawn, _draw(logits[drawn], [states[row] for row in drawn]), strict=True):
            token_ids[row] = token_id
    return token_ids


def _no_maximum(value: float) -> str:
    if value == float("-inf"):
        return "no token is left to choose from: bias, bans and constraint together exclude the whole vocabulary"
    return f"the model's logits are not finite (largest: {value})"


def _draw(logits: Tensor, states: Sequence[SamplingState]) -> list[int]:
    """Draw from rows with a temperature, (num_rows, vocab_size), changed in place."""
    logits /= torch.tensor([state.params.temperature for state in states], device=logits.device)[:, None]
    token_ids = [0] * len(states)
    cut = [row for row, state in enumerate(states) if cuts_off(state.params)]
    whole = [row for row, state in enumerate(states) if not cuts_off(state.params)]
    for rows, draw in ((cut, _draw_from_cut), (whole, _draw_from_whole)):
        if rows:
            chosen = draw(logits[rows] if len(rows) < len(states) else logits, [states[row] for row in rows])
            for row, token_id in zip(rows, chosen, strict=True):
                token_ids[row] = token_id
    return token_ids


def _draw_from_whole(logits: Tensor, states: Sequence[SamplingState]) -> list[int]:
    """Draw from rows in which every token may come."""
    noise = gumbel_noise(np.stack([_words(state, logits.shape[1]) for state in states]))
    token_ids: list[int] = (logits + noise.to(logits.device)).argmax(-1).tolist()
    return token_ids


def _draw_from_cut(logits: Tensor, states: Sequence[SamplingState]) -> list[int]:
    """Draw from rows with cuts; Gumbel variables are made for the kept tokens alone."""
    kept = logits >= thresholds(logits, [state.params for state in states])
    rows, ids = kept.nonzero(as_tuple=True)  # (num_kept,) each, row by row
    borders = kept.sum(-1).cumsum(0)[:-1].tolist()
    ids_by_row = np.split(ids.cpu().numpy(), borders)
    words = [_words(state, logits.shape[1])[row_ids] for state, row_ids in zip(states, ids_by_row, strict=True)]
    scores = logits[rows, ids].cpu() + gumbel_noise(np.concatenate(words))
    scores_by_row = np.split(scores.numpy(), borders)
    return [int(row_ids[row.argmax()]) for row_ids, row in zip(ids_by_row, scores_by_row, strict=True)]


def _words(state: SamplingState, vocab_size: int) -> Words:
    return noise_words(state.seed, state.choice, state.position, vocab_size)
