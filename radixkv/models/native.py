"""The native twin of a loaded decoder, where this machine and the model's shape allow one."""

from __future__ import annotations

from dataclasses import replace

from radixkv.models.config import ModelConfig
from radixkv.models.decoder import Decoder
from radixkv.models.loading import LoadedModel
from radixkv.models.rotary import attention_factor
from radixkv_kernels.cpu_decoder import CPUDecoder, DecoderSizes, unsupported


def with_native_decoder(model: LoadedModel) -> LoadedModel:
    """The model with a decoder that computes the same in native code, from a packed copy of the weights.

    Unchanged where this machine or the model's shape allows none. Of the weights in torch nothing is kept.
    """
    sizes = _sizes(model.config)
    if not isinstance(model.decoder, Decoder) or unsupported(sizes) is not None:
        return model
    native = CPUDecoder(sizes, model.decoder.state_dict(), model.decoder.frequencies)
    return replace(model, decoder=native)


def _sizes(config: ModelConfig) -> DecoderSizes:
    return DecoderSizes(
        num_layers=config.num_layers,
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        vocab_size=config.vocab_size,
        tied=config.tied,
        qk_norm=config.qk_norm,
        qkv_bias=config.biases.qkv,
        output_bias=config.biases.output,
        mlp_bias=config.biases.mlp,
        norm_eps=config.norm_eps,
        attention_factor=attention_factor(config.rope),
        windows=config.windows,
    )
