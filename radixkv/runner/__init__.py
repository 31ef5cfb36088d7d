"""From a step plan to tokens: tensors, the forward, log-probabilities and sampling."""

from __future__ import annotations

from radixkv.runner.runner import Runner

__all__ = ["Runner"]
