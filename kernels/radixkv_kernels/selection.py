"""Which attention backend serves a device, a KV format and a model shape, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import torch

from radixkv_kernels.cpu_attention import CPUAttention, block_bytes
from radixkv_kernels.native import has_native
from radixkv_kernels.protocols import KVLayout, PagedAttention
from radixkv_kernels.reference import ReferenceAttention

KV_FORMATS: Final[Mapping[str, torch.dtype]] = {  # name -> what is stored; the one table of these names
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}
BACKENDS: Final = ("cpu", "flashinfer", "triton", "reference")  # best first


@dataclass(frozen=True)
class Wanted:
    """What a backend must serve. `backend` names the only one that will do; None: the best that can."""

    device: str
    kv_format: str
    num_heads: int
    num_kv_heads: int
    head_dim: int
    backend: str | None = None


@dataclass(frozen=True)
class Choice:
    """The backend that was picked, and for every other one why it was not."""

    backend: str
    reasons: Mapping[str, str]
    num_heads: int

    def make(self, layout: KVLayout, device: torch.device | str) -> PagedAttention:
        """The backend with fresh storage of this layout."""
        return _MAKERS[self.backend](layout, device, self.num_heads)

    def bytes_per_block(self, layout: KVLayout) -> int:
        """What a block of this layout takes in the backend's storage, all layers."""
        return block_bytes(layout) if self.backend == "cpu" else layout.bytes_per_block


class UnsupportedCombination(Exception):
    """No backend serves what is wanted; says why each was refused and what would work."""

    def __init__(self, wanted: Wanted, reasons: Mapping[str, str]) -> None:
        refusals = "; ".join(f"{backend}: {reason}" for backend, reason in reasons.items())
        super().__init__(
            f"no attention backend for KV format {wanted.kv_format!r}, head size {wanted.head_dim}, "
            f"{wanted.num_heads} heads on {wanted.num_kv_heads} KV heads, device {wanted.device!r} ({refusals}). "
            f"What works: KV format {', '.join(KV_FORMATS)} with backend {' or '.join(_MAKERS)}, any head size, "
            "heads a multiple of KV heads"
        )
        self.wanted = wanted
        self.reasons = dict(reasons)


def kv_format_of(dtype: torch.dtype) -> str:
    """The name of the format that stores this type as it is. Raises KeyError where there is none."""
    return {stored: name for name, stored in KV_FORMATS.items()}[dtype]


def choose_backend(wanted: Wanted) -> Choice:
    """The best backend for `wanted`; raises UnsupportedCombination if there is none."""
    reasons: dict[str, str] = {}
    picked: str | None = None
    for backend in BACKENDS:
        reason = _refusal(backend, wanted)
        if reason is None and picked is None:
            picked = backend
        else:
            reasons[backend] = reason or f"{picked} comes first"
    if wanted.backend is not None and wanted.backend not in BACKENDS:
        reasons[wanted.backend] = f"unknown backend, there are {', '.join(BACKENDS)}"
    if picked is None:
        raise UnsupportedCombination(wanted, reasons)
    return Choice(picked, reasons, wanted.num_heads)


def _refusal(backend: str, wanted: Wanted) -> str | None:
    """Why a backend cannot serve, or None."""
    if wanted.backend not in (None, backend):
        return f"backend {wanted.backend} was asked for"
    if backend not in _MAKERS:
        return "not in this version"
    if wanted.kv_format not in KV_FORMATS:
        return f"KV format {wanted.kv_format!r} not in this version"
    if wanted.head_dim < 1 or wanted.num_kv_heads < 1 or wanted.num_heads % wanted.num_kv_heads:
        return f"{wanted.num_heads} heads are no multiple of {wanted.num_kv_heads} KV heads"
    return _device_refusal(wanted.device) or (_cpu_refusal(wanted) if backend == "cpu" else None)


def _cpu_refusal(wanted: Wanted) -> str | None:
    if torch.device(wanted.device).type != "cpu":
        return f"device {wanted.device!r} is no CPU"
    if not has_native():
        return "the native module was not built: install with a C++ compiler"
    return f"head size {wanted.head_dim} is odd" if wanted.head_dim % 2 else None


def _device_refusal(device: str) -> str | None:
    try:
        kind = torch.device(device).type
    except RuntimeError:
        return f"unknown device {device!r}"
    if kind == "cpu" or (kind == "cuda" and torch.cuda.is_available()):
        return None
    return f"device {device!r} is not here"


def _reference(layout: KVLayout, device: torch.device | str, _: int) -> PagedAttention:
    return ReferenceAttention(layout, device)


def _cpu(layout: KVLayout, _: torch.device | str, num_heads: int) -> PagedAttention:
    return CPUAttention(layout, num_heads)


_MAKERS: Final[Mapping[str, Callable[[KVLayout, torch.device | str, int], PagedAttention]]] = {
    "cpu": _cpu,
    "reference": _reference,
}
