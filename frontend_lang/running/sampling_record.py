"""How a gen sampled, as `gen.start` records it and a replay compares it."""

from __future__ import annotations

import hashlib

from frontend_lang.runtime import Constraint, GenParams


def sampling_record(params: GenParams, constraint: Constraint | None) -> dict[str, object]:
    """The options of a gen by their names in a program, and a digest of what constrains its text (None: nothing)."""
    digest = None if constraint is None else hashlib.sha256(repr(constraint).encode()).hexdigest()[:16]
    return {
        "max": params.max_tokens,
        "temp": params.temperature,
        "top_p": params.top_p,
        "top_k": params.top_k,
        "min_p": params.min_p,
        "stop": list(params.stop),
        "logprobs": params.logprobs,
        "timeout": params.timeout_s,
        "model": params.model,
        "constraint": digest,
    }
