"""The decoder of the Llama shape, driven by its config: one module for every family that shares it."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  the name everybody knows
from torch import Tensor, nn

from radixkv.models.config import ModelConfig
from radixkv.models.rotary import Rotation, attention_factor, inverse_frequencies, rotate, rotation
from radixkv_kernels.protocols import AttentionSpec, PagedAttention


class Linear(nn.Module):
    """A linear layer made without initial weights: torch's own would draw random ones only to lose them."""

    def __init__(self, in_features: int, out_features: int, *, bias: bool) -> None:
        super().__init__()
        self.weight = _weights(out_features, in_features)
        self.bias = _weights(out_features) if bias else None

    def forward(self, rows: Tensor) -> Tensor:
        """(num_rows, in_features) -> (num_rows, out_features)."""
        return F.linear(rows, self.weight, self.bias)


class Embedding(nn.Module):
    """Token id -> row, made without initial weights."""

    def __init__(self, num_rows: int, size: int) -> None:
        super().__init__()
        self.weight = _weights(num_rows, size)

    def forward(self, token_ids: Tensor) -> Tensor:
        """(num_tokens,) -> (num_tokens, size)."""
        return F.embedding(token_ids, self.weight)


class RMSNorm(nn.Module):
    """Root mean square norm (arXiv 1910.07467) over the last dimension, computed in fp32."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = _weights(size)
        self._shape = (size,)
        self._eps = eps

    def forward(self, rows: Tensor) -> Tensor:
        """(..., size) -> the same shape and dtype."""
        return F.rms_norm(rows, self._shape, self.weight, self._eps)


class Attention(nn.Module):
    """Self-attention of one layer: one matrix for q, k and v, keys and values kept by the backend."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        queries, keys = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
        self.qkv = Linear(config.hidden_size, queries + 2 * keys, bias=config.biases.qkv)
        self.output = Linear(queries, config.hidden_size, bias=config.biases.output)
        self.q_norm = RMSNorm(config.head_dim, config.norm_eps) if config.qk_norm else None
        self.k_norm = RMSNorm(config.head_dim, config.norm_eps) if config.qk_norm else None
        self.spec = AttentionSpec(config.num_heads, scale=config.head_dim**-0.5, window=config.windows[layer])
        self._layer = layer
        self._num_heads = config.num_heads
        self._rotated_heads = config.num_heads + config.num_kv_heads
        self._head_dim = config.head_dim

    def forward(self, rows: Tensor, by: Rotation, attention: PagedAttention) -> Tensor:
        """(num_tokens, hidden_size) -> the same; stores the step's keys and values."""
        heads: Tensor = self.qkv(rows)  # (num_tokens, (num_heads + 2 * num_kv_heads) * head_dim)
        heads = heads.view(len(rows), -1, self._head_dim)
        rotated = rotate(self._normed(heads[:, : self._rotated_heads]), by)
        attention.write_kv(self._layer, rotated[:, self._num_heads :], heads[:, self._rotated_heads :])
        attended = attention.run(self._layer, rotated[:, : self._num_heads], self.spec)
        projected: Tensor = self.output(attended.reshape(len(rows), -1))
        return projected

    def _normed(self, heads: Tensor) -> Tensor:
        """(num_tokens, num_heads + num_kv_heads, head_dim) -> the same, normed where the family does."""
        if self.q_norm is None or self.k_norm is None:
            return heads
        query, key = heads[:, : self._num_heads], heads[:, self._num_heads :]
        return torch.cat((self.q_norm(query), self.k_norm(key)), dim=1)


class MLP(nn.Module):
    """Gated feed-forward layer with SiLU (arXiv 2002.05202): one matrix for gate and up."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate_up = Linear(config.hidden_size, 2 * config.intermediate_size, bias=config.biases.mlp)
        self.down = Linear(config.intermediate_size, config.hidden_size, bias=config.biases.mlp)

    def forward(self, rows: Tensor) -> Tensor:
        """(num_tokens, hidden_size) -> the same."""
        gate, up = self.gate_up(rows).chunk(2, dim=-1)  # (num_tokens, intermediate_size) each
        projected: Tensor = self.down(F.silu(gate) * up)
        return projected


class DecoderLayer(nn.Module):
    """Attention and MLP, each after a norm and beside a residual."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.attention = Attention(config, layer)
        self.mlp_norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.mlp = MLP(config)

    def forward(self, rows: Tensor, by: Rotation, attention: PagedAttention) -> Tensor:
        """(num_tokens, hidden_size) -> the same."""
        rows = rows + self.attention(self.attention_norm(rows), by, attention)
        projected: Tensor = self.mlp(self.mlp_norm(rows))
        return rows + projected


class Decoder(nn.Module):
    """Token ids and positions in, hidden states out; logits apart, since few rows need them.

    Made with uninitialised weights; `radixkv.models.load_model` fills them. Inference only.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(DecoderLayer(config, layer) for layer in range(config.num_layers))
        self.norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.head = None if config.tied else Linear(config.hidden_size, config.vocab_size, bias=False)
        self.frequencies: Tensor  # (head_dim / 2,) fp32
        with torch.device("cpu"):  # real even where the weights are made on the meta device
            self.register_buffer("frequencies", inverse_frequencies(config.rope, config.head_dim), persistent=False)
        self._attention_factor = attention_factor(config.rope)

    def forward(self, token_ids: Tensor, positions: Tensor, attention: PagedAttention) -> Tensor:
        """Compute one step, already planned in `attention`.

        token_ids and positions: (num_tokens,) ints, the tokens of all sequences one after another.
        Returns (num_tokens, hidden_size) in the weights' dtype, normed. The KV of every token is stored.
        """
        rows = self.embedding(token_ids)  # (num_tokens, hidden_size)
        by = rotation(positions, self.frequencies, self._attention_factor)
        for layer in self.layers:
            rows = layer(rows, by, attention)
        normed: Tensor = self.norm(rows)
        return normed

    def logits(self, hidden: Tensor) -> Tensor:
        """(num_rows, hidden_size) -> (num_rows, vocab_size) fp32."""
        weight = self.embedding.weight if self.head is None else self.head.weight
        return F.linear(hidden, weight).float()


def _weights(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(*shape), requires_grad=False)
