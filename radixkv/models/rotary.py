"""Rotary position embedding, computed: frequencies once per model, cosines and sines once per step."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from radixkv.models.rope import FrequencyFactors, LinearScaling, Llama3Scaling, Rope, YarnScaling


class Rotation(NamedTuple):
    """Cosines and sines of a step, fp32, one row per token, the same for every head."""

    cos: Tensor  # (num_tokens, 1, head_dim / 2)
    sin: Tensor  # (num_tokens, 1, head_dim / 2)


def rotation(positions: Tensor, frequencies: Tensor, attention_factor: float) -> Rotation:
    """The rotation of tokens at `positions` (num_tokens,) by `frequencies` (head_dim / 2,)."""
    angles = positions[:, None, None].float() * frequencies  # (num_tokens, 1, head_dim / 2)
    return Rotation(angles.cos() * attention_factor, angles.sin() * attention_factor)


def rotate(heads: Tensor, by: Rotation) -> Tensor:
    """Rotate (num_tokens, heads, head_dim), the first half of a head paired with the second (arXiv 2104.09864)."""
    first, second = heads.float().chunk(2, dim=-1)  # (num_tokens, heads, head_dim / 2) each
    rotated = torch.cat((first * by.cos - second * by.sin, second * by.cos + first * by.sin), dim=-1)
    return rotated.to(heads.dtype)


def inverse_frequencies(rope: Rope, head_dim: int) -> Tensor:
    """Radians per position of each pair, (head_dim / 2,) fp32, scaling applied."""
    base = 1.0 / rope.theta ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    match rope.scaling:
        case None:
            return base
        case LinearScaling(factor):
            return base / factor
        case Llama3Scaling():
            return _llama3(base, rope.scaling)
        case YarnScaling():
            return _yarn(base, rope.scaling, rope.theta)
        case FrequencyFactors(factors):
            return base / torch.tensor(factors, dtype=torch.float32)


def attention_factor(rope: Rope) -> float:
    """What cosines and sines are multiplied by; 1 but for YaRN."""
    return rope.scaling.attention_factor if isinstance(rope.scaling, YarnScaling) else 1.0


def _llama3(base: Tensor, scaling: Llama3Scaling) -> Tensor:
    turns = scaling.original_context * base / (2 * math.pi)  # turns of each pair in the original context
    smooth = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)
    smooth = smooth.clamp(0, 1)
    return (1 - smooth) * base / scaling.factor + smooth * base


def _yarn(base: Tensor, scaling: YarnScaling, theta: float) -> Tensor:
    head_dim = 2 * len(base)

    def pair_that_turns(times: float) -> float:
        return head_dim * math.log(scaling.original_context / (times * 2 * math.pi)) / (2 * math.log(theta))

    low, high = pair_that_turns(scaling.beta_fast), pair_that_turns(scaling.beta_slow)
    if scaling.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head_dim - 1)
    width = high - low or 0.001
    ramp = ((torch.arange(len(base), dtype=torch.float32) - low) / width).clamp(0, 1)
    return base / scaling.factor * ramp + base * (1 - ramp)
