"""Rotary position embedding: its description, without any tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class LinearScaling:
    """Position interpolation: all frequencies divided by `factor` (arXiv 2306.15595)."""

    factor: float


@dataclass(frozen=True)
class Llama3Scaling:
    """Llama 3.1: low frequencies divided by `factor`, high ones kept, a smooth ramp between."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_context: int


@dataclass(frozen=True)
class YarnScaling:
    """YaRN (arXiv 2309.00071). cos and sin are multiplied by `attention_factor`."""

    factor: float
    original_context: int
    attention_factor: float
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True


@dataclass(frozen=True)
class FrequencyFactors:
    """One divisor per frequency, as GGUF files of Llama 3.1 carry them in `rope_freqs.weight`."""

    factors: tuple[float, ...]


RopeScaling: TypeAlias = LinearScaling | Llama3Scaling | YarnScaling | FrequencyFactors


@dataclass(frozen=True)
class Rope:
    """Base wavelength and scaling; the whole head is rotated, its first half paired with the second."""

    theta: float
    scaling: RopeScaling | None = None
