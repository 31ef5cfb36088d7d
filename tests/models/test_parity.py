"""Tiny random checkpoints of every family give the logits that transformers gives, prefill and decode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from decoder_runs import SequenceRun
from radixkv.models import load_model, locate_model
from tiny_models import make_tiny_model

PROMPT = list(b"The quick brown fox jumps over the lazy dog, twice.")
DECODED = list(b" And again!")
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}
CASES: dict[str, dict[str, Any]] = {
    "llama 2": {},
    "llama 2, as many kv heads": {"kv_heads": 4},
    "llama, one kv head": {"kv_heads": 1},
    "llama, tied (SmolLM2)": {"tied": True},
    "llama, biases": {"config": {"attention_bias": True, "mlp_bias": True}},
    "llama, linear": {"config": {"rope_scaling": {"type": "linear", "factor": 2.5}}},
    "llama 3.1": {"config": {"rope_scaling": LLAMA3, "rope_theta": 500000.0}},
    "llama 3.1, rope_parameters": {"config": {"rope_theta": None, "rope_parameters": LLAMA3 | {"rope_theta": 5e5}}},
    "llama, yarn": {"config": {"rope_scaling": YARN}},
    "llama, yarn, all its options": {
        "config": {
            "rope_scaling": YARN
            | {"beta_fast": 16, "beta_slow": 2, "mscale": 1.2, "mscale_all_dim": 0.7, "truncate": False}
        }
    },
    "llama, yarn, attention factor": {"config": {"rope_parameters": YARN | {"attention_factor": 0.7}}},
    "llama, padding rows (R011)": {"head_rows": 320},
    "mistral": {"family": "mistral"},
    "mistral, window": {"family": "mistral", "config": {"sliding_window": 16}},
    "mistral, own head size": {"family": "mistral", "head_dim": 32},
    "qwen 2": {"family": "qwen2"},
    "qwen 2.5, tied": {"family": "qwen2", "tied": True, "config": {"rope_theta": 1000000.0}},
    "qwen 2, window off": {"family": "qwen2", "config": {"use_sliding_window": False, "sliding_window": 8}},
    "qwen 2, upper layers windowed": {
        "family": "qwen2",
        "layers": 3,
        "config": {"use_sliding_window": True, "sliding_window": 12, "max_window_layers": 1},
    },
    "qwen 2, layer types": {
        "family": "qwen2",
        "config": {
            "use_sliding_window": True,
            "sliding_window": 12,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    },
    "qwen 3": {"family": "qwen3", "head_dim": 32},
    "qwen 3, biases, yarn": {"family": "qwen3", "config": {"attention_bias": True, "rope_scaling": YARN}},
}


@pytest.mark.parametrize("case", CASES)
def test_logits_equal_those_of_transformers(case: str, tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model", seed=3, **CASES[case])
    model = load_model(locate_model(str(folder)), "float32")
    run = SequenceRun(model)
    ours = torch.cat([run.feed(PROMPT[:20]), run.feed(PROMPT[20:]), *(run.feed([token]) for token in DECODED)])
    theirs = _transformers_logits(folder, PROMPT + DECODED)
    assert (ours - theirs).abs().max() <= 1e-4
    assert theirs.std() > 0.5  # a comparison of something


@pytest.mark.parametrize("case", ["mistral, window", "qwen 2, upper layers windowed", "llama, yarn", "llama 3.1"])
def test_the_variant_matters(case: str, tmp_path: Path) -> None:
    """Were the window or the scaling ignored on both sides, the parity above would prove nothing."""
    variant = make_tiny_model(tmp_path / "variant", seed=3, **CASES[case])
    plain = make_tiny_model(tmp_path / "plain", seed=3, **{**CASES[case], "config": None})
    logits = [SequenceRun(load_model(locate_model(str(it)), "float32")).feed(PROMPT)[-1] for it in (variant, plain)]
    assert (logits[0] - logits[1]).abs().max() > 1e-2


def test_shards_give_the_same_model_as_one_file(tmp_path: Path) -> None:
    one = load_model(locate_model(str(make_tiny_model(tmp_path / "one"))), "float32")
    many = load_model(locate_model(str(make_tiny_model(tmp_path / "many", shards=3))), "float32")
    assert all(torch.equal(a, b) for a, b in zip(one.decoder.parameters(), many.decoder.parameters(), strict=True))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_stays_close(dtype: str, tmp_path: Path) -> None:
    files = locate_model(str(make_tiny_model(tmp_path / "model")))
    model = load_model(files, dtype)
    assert {parameter.dtype for parameter in model.decoder.parameters()} == {getattr(torch, dtype)}
    exact = SequenceRun(load_model(files, "float32")).feed(PROMPT)
    rounded = SequenceRun(model).feed(PROMPT)
    assert rounded.dtype == torch.float32
    assert (exact - rounded).abs().mean() < 0.05 * exact.std()


def _transformers_logits(folder: Path, token_ids: list[int]) -> torch.Tensor:
    reference = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    with torch.inference_mode():
        return reference(torch.tensor([token_ids])).logits[0]
