"""The choice of the next token.

The order of operations, for one row of logits:

    1. logit bias               added first, so penalties see the biased logit (as vLLM does)
    2. repetition penalty       prompt and output; a positive logit is divided, a negative one multiplied
    3. frequency, presence      output only
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

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from radixkv.request import TokenLogprob
from radixkv.runner.cutoffs import cuts_off, thresholds
from radixkv.runner.logprobs import LogprobQuery, answer_queries
from radixkv.runner.noise import gumbel_noise, noise_words
from radixkv.runner.penalties import ban, change_logits, changes_logits
from radixkv.step_plan import SamplingState


@dataclass(frozen=True)
class Sampled:
    """What one row gave: an id, its log-probability if asked for, or the reason why there is none."""

    token_id: int
    logprob: TokenLogprob | None = None
    error: str | None = None


def sample(logits: Tensor, states: Sequence[SamplingState]) -> list[Sampled]:
    """Choose one token for each row of logits (num_rows, vocab_size) fp32, which are changed in place.

    A row that cannot be sampled gets an error and token id 0; the other rows are not touched by it.
    """
    errors = _check_ids(states, logits.shape[1])
    for row, state in enumerate(states):
        if changes_logits(state.params) and row not in errors:
            change_logits(logits[row], state)
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
        return "no token is left to choose from: bias and bans exclude the whole vocabulary"
    return f"the model's logits are not finite (largest: {value})"


def _draw(logits: Tensor, states: Sequence[SamplingState]) -> list[int]:
    """Draw from rows with a temperature, (num_rows, vocab_size), changed in place."""
    temperatures = torch.tensor([state.params.temperature for state in states], device=logits.device)
    logits /= temperatures[:, None]
    cut = [row for row, state in enumerate(states) if cuts_off(state.params)]
    token_ids = [0] * len(states)
    if cut:
        least = thresholds(logits[cut] if len(cut) < len(states) else logits, [states[row].params for row in cut])
        for row, value in zip(cut, least, strict=True):
            token_ids[row] = _draw_among(logits[row], (logits[row] >= value).nonzero().squeeze(-1), states[row])
    for row in set(range(len(states))) - set(cut):
        words = noise_words(states[row].seed, states[row].choice, states[row].position, logits.shape[1])
        token_ids[row] = int((logits[row] + gumbel_noise(words).to(logits.device)).argmax())
    return token_ids


def _draw_among(row: Tensor, kept: Tensor, state: SamplingState) -> int:
    """Draw among the kept ids of a row; noise is computed for them alone."""
    words = noise_words(state.seed, state.choice, state.position, len(row))[kept.cpu().numpy()]
    return int(kept[(row[kept] + gumbel_noise(words).to(row.device)).argmax()])
