"""From a step plan to tokens: tensors, the forward, log-probabilities and sampling; and which kernels do it."""

from __future__ import annotations

from radixkv.runner.attention import AttentionChoice, AttentionShape, choose_attention
from radixkv.runner.runner import Runner
from radixkv_kernels.native import has_native

__all__ = ["AttentionChoice", "AttentionShape", "Runner", "choose_attention", "has_native"]
