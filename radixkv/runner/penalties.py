"""Changes of logits that a request asks for: bias, penalties, bans. Rows that ask for nothing cost nothing.

Every function works on one row of logits, (vocab_size,) fp32, in place, and costs as much as the ids it looks at.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from radixkv.runner.step_tensors import ids_array
from radixkv.step_plan import SamplingState


def change_logits(row: Tensor, state: SamplingState) -> None:
    """Apply bias, then repetition, then frequency and presence penalties."""
    params = state.params
    if params.logit_bias:
        ids = torch.tensor(list(params.logit_bias), device=row.device)
        row[ids] += torch.tensor(list(params.logit_bias.values()), dtype=row.dtype, device=row.device)
    if params.looks_at_prompt:
        _penalise_repetition(row, state)
    if params.counts_output and len(state.output_ids):
        _penalise_output(row, state)


def ban(row: Tensor, banned_ids: tuple[int, ...]) -> None:
    """Make these ids impossible."""
    row[torch.tensor(banned_ids, device=row.device)] = float("-inf")


def _penalise_repetition(row: Tensor, state: SamplingState) -> None:
    """Divide a positive logit and multiply a negative one (CTRL, arXiv 1909.05858, section 4.1)."""
    seen = np.concatenate([ids_array(state.prompt_ids), ids_array(state.output_ids)])
    ids = torch.from_numpy(seen).to(row.device, torch.int64)  # an id met twice is written twice, with the same value
    logits, penalty = row[ids], state.params.repetition_penalty
    row[ids] = torch.where(logits > 0, logits / penalty, logits * penalty)


def _penalise_output(row: Tensor, state: SamplingState) -> None:
    """Lower each generated id by frequency_penalty per occurrence and presence_penalty once."""
    generated, counts = np.unique(ids_array(state.output_ids), return_counts=True)
    lowered = counts * state.params.frequency_penalty + state.params.presence_penalty
    row[torch.from_numpy(generated).to(row.device)] -= torch.from_numpy(lowered).to(row.device, row.dtype)
