"""What a decoder looks like, whatever format its file has."""

from __future__ import annotations

from dataclasses import dataclass

from radixkv.models.rope import Rope


@dataclass(frozen=True)
class Biases:
    """Which linear layers add a bias."""

    qkv: bool = False
    output: bool = False
    mlp: bool = False


@dataclass(frozen=True)
class ModelConfig:
    """Shape and constants of a decoder.

    `vocab_size` counts the rows of the embedding and the head, which may be more than the tokenizer
    has entries. `windows` has one entry per layer: the tokens that it sees, itself included, or None
    for all. `eos_token_ids` is what generation_config.json or the GGUF says, and nothing else.
    """

    architecture: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    norm_eps: float
    rope: Rope
    windows: tuple[int | None, ...]
    biases: Biases
    qk_norm: bool
    tied: bool
    max_context: int
    eos_token_ids: tuple[int, ...] = ()
    bos_token_id: int | None = None
