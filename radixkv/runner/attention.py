"""The attention backend and its KV storage for a model: chosen before the pool is sized, made afterwards.

The engine and its doors come to the kernels through here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import torch

from radixkv.config import Device
from radixkv.errors import ConfigurationError
from radixkv.models import ModelConfig
from radixkv_kernels.protocols import KVLayout, PagedAttention
from radixkv_kernels.selection import KV_FORMATS, Choice, UnsupportedCombination, Wanted, choose_backend, kv_format_of

_DEVICES: Final[Mapping[Device, str]] = {"auto": "cpu", "cpu": "cpu", "cuda": "cuda"}


@dataclass(frozen=True)
class AttentionShape:
    """What attention needs to know of a model."""

    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int

    @classmethod
    def of(cls, model: ModelConfig) -> AttentionShape:
        """That of a model."""
        return cls(model.num_layers, model.num_heads, model.num_kv_heads, model.head_dim)


@dataclass(frozen=True)
class AttentionChoice:
    """The backend that serves a model, for every other one why it does not, and what a block costs."""

    kv_format: str
    device: str
    one_block: KVLayout
    choice: Choice

    @property
    def backend(self) -> str:
        """Its name."""
        return self.choice.backend

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why each other backend was passed over."""
        return self.choice.reasons

    @property
    def bytes_per_block(self) -> int:
        """Bytes of KV of one block over all layers."""
        return self.choice.bytes_per_block(self.one_block)

    def build(self, num_blocks: int) -> PagedAttention:
        """The backend with fresh storage of that many blocks."""
        return self.choice.make(replace(self.one_block, num_blocks=num_blocks), self.device)


def choose_attention(
    shape: AttentionShape, dtype: torch.dtype, block_size: int, *, kv_format: str = "auto", device: Device = "auto"
) -> AttentionChoice:
    """The backend for a model that computes in `dtype`.

    `kv_format`: `auto` keeps KV in the compute type. Raises ConfigurationError, which names what would work.
    """
    chosen_format = kv_format_of(dtype) if kv_format == "auto" else kv_format
    chosen_device = _DEVICES[device]
    wanted = Wanted(chosen_device, chosen_format, shape.num_heads, shape.num_kv_heads, shape.head_dim)
    try:
        choice = choose_backend(wanted)
    except UnsupportedCombination as error:
        raise ConfigurationError(f"kv_format, device: {error}") from error
    stored = KV_FORMATS[chosen_format]
    one_block = KVLayout(shape.num_layers, 1, block_size, shape.num_kv_heads, shape.head_dim, stored)
    return AttentionChoice(chosen_format, chosen_device, one_block, choice)
