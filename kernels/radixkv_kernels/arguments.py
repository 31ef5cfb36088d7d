"""Checks that every backend makes of what a layer is called with."""

from __future__ import annotations

from math import isfinite
from typing import TypeVar

import torch
from torch import Tensor

from radixkv_kernels.protocols import AttentionSpec, KVLayout
from radixkv_kernels.storage import STORAGE_DTYPES

Plan = TypeVar("Plan")


def check_layer(layer: int, layout: KVLayout, plan: Plan | None) -> Plan:
    """The step's plan. Raises ValueError if there is none, or for a layer that is not there."""
    if plan is None:
        raise ValueError("plan: expected a valid plan before write_kv and run, found none")
    if not 0 <= layer < layout.num_layers:
        raise ValueError(f"layer: expected 0 to {layout.num_layers - 1}, got {layer}")
    return plan


def check_tensor(name: str, tensor: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    """Raise ValueError unless the tensor has this shape, is a float type and lies on the device."""
    if tensor.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {tuple(tensor.shape)}")
    if tensor.dtype not in STORAGE_DTYPES:
        raise ValueError(f"{name}: expected fp32, bf16 or fp16, got {tensor.dtype}")
    if tensor.device != device:
        raise ValueError(f"{name}: expected on {device}, got {tensor.device}")


def check_spec(spec: AttentionSpec, layout: KVLayout) -> None:
    """Raise ValueError naming the field that no layer can have."""
    if spec.num_heads < 1 or spec.num_heads % layout.num_kv_heads:
        raise ValueError(f"spec.num_heads: expected a multiple of {layout.num_kv_heads}, got {spec.num_heads}")
    if spec.window is not None and spec.window < 1:
        raise ValueError(f"spec.window: expected at least 1 or None, got {spec.window}")
    if spec.soft_cap is not None and not spec.soft_cap > 0:
        raise ValueError(f"spec.soft_cap: expected above 0 or None, got {spec.soft_cap}")
    if not isfinite(spec.scale):
        raise ValueError(f"spec.scale: expected a finite number, got {spec.scale}")
