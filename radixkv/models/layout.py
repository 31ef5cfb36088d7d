"""Which tensors of a checkpoint make up which parameter of the decoder.

Checkpoint names are Hugging Face's. Several tensors of one parameter are its rows, one after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from radixkv.models.config import ModelConfig

EMBEDDING: Final = "model.embed_tokens.weight"
HEAD: Final = "lm_head.weight"


@dataclass(frozen=True)
class Piece:
    """A tensor of the checkpoint and the shape that the config gives it."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Parameter:
    """A parameter of the decoder and the pieces that it is made of, stacked along the first dimension."""

    name: str
    pieces: tuple[Piece, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole parameter."""
        return (sum(piece.shape[0] for piece in self.pieces), *self.pieces[0].shape[1:])


def parameters(config: ModelConfig) -> Iterator[Parameter]:
    """Every parameter of a decoder with this config."""
    hidden = config.hidden_size
    yield Parameter("embedding.weight", (Piece(EMBEDDING, (config.vocab_size, hidden)),))
    for layer in range(config.num_layers):
        yield from _layer(config, f"layers.{layer}.", f"model.layers.{layer}.")
    yield Parameter("norm.weight", (Piece("model.norm.weight", (hidden,)),))
    if not config.tied:
        yield Parameter("head.weight", (Piece(HEAD, (config.vocab_size, hidden)),))


def _layer(config: ModelConfig, ours: str, theirs: str) -> Iterator[Parameter]:
    hidden, inner, head_dim = config.hidden_size, config.intermediate_size, config.head_dim
    queries, keys = config.num_heads * head_dim, config.num_kv_heads * head_dim
    attention, mlp = f"{theirs}self_attn.", f"{theirs}mlp."
    qkv = {"q_proj": queries, "k_proj": keys, "v_proj": keys}
    yield Parameter(f"{ours}attention_norm.weight", (Piece(f"{theirs}input_layernorm.weight", (hidden,)),))
    yield from _linear(f"{ours}attention.qkv", attention, qkv, hidden, config.biases.qkv)
    yield from _linear(f"{ours}attention.output", attention, {"o_proj": hidden}, queries, config.biases.output)
    if config.qk_norm:
        for name in ("q_norm", "k_norm"):
            yield Parameter(f"{ours}attention.{name}.weight", (Piece(f"{attention}{name}.weight", (head_dim,)),))
    yield Parameter(f"{ours}mlp_norm.weight", (Piece(f"{theirs}post_attention_layernorm.weight", (hidden,)),))
    yield from _linear(f"{ours}mlp.gate_up", mlp, {"gate_proj": inner, "up_proj": inner}, hidden, config.biases.mlp)
    yield from _linear(f"{ours}mlp.down", mlp, {"down_proj": hidden}, inner, config.biases.mlp)


def _linear(ours: str, theirs: str, rows: dict[str, int], columns: int, bias: bool) -> Iterator[Parameter]:
    yield Parameter(
        f"{ours}.weight", tuple(Piece(f"{theirs}{name}.weight", (size, columns)) for name, size in rows.items())
    )
    if bias:
        yield Parameter(f"{ours}.bias", tuple(Piece(f"{theirs}{name}.bias", (size,)) for name, size in rows.items()))
