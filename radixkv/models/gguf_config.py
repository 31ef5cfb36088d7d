"""GGUF metadata in the words of Hugging Face's config.json, so that both formats are checked by one reader.

Keys as in the GGUF specification (ggml, docs/gguf.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from radixkv.errors import BadModelFile, UnsupportedModel
from radixkv.models.families import gguf_family
from radixkv.models.fields import Fields
from radixkv.models.gguf_file import GGUFContents, gguf_contents

_SIZES: Final = {
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "max_position_embeddings": "context_length",
}
_OTHERS: Final = {
    "vocab_size",
    "rope.dimension_count",
    "rope.freq_base",
    "attention.value_length",
    "attention.sliding_window",
}
_SCALING: Final = {
    "rope.scaling.type": "rope_type",
    "rope.scaling.factor": "factor",
    "rope.scaling.original_context_length": "original_max_position_embeddings",
    "rope.scaling.finetuned": "finetuned",
    "rope.scaling.yarn_beta_fast": "beta_fast",
    "rope.scaling.yarn_beta_slow": "beta_slow",
}
_KNOWN: Final = {*_SIZES.values(), *_OTHERS, *_SCALING}
_END_KEYS: Final = ("eos_token_id", "eot_token_id", "eom_token_id")


def gguf_settings(path: Path) -> dict[str, Any]:
    """The settings of a GGUF as config.json would spell them. Raises BadModelFile, UnsupportedModel."""
    contents = gguf_contents(path)
    fields = Fields(str(path), contents.metadata)
    name = fields.text("general.architecture")
    family = gguf_family(name, fields.file)
    own = _own_fields(fields, name)
    settings = {ours: own.get(theirs) for ours, theirs in _SIZES.items()}
    settings |= {
        "architectures": [family.architecture],
        "vocab_size": _vocab_size(contents, fields.file),
        "tie_word_embeddings": "output.weight" not in contents.tensors,
        "attention_bias": "blk.0.attn_q.bias" in contents.tensors,
        "mlp_bias": "blk.0.ffn_down.bias" in contents.tensors,
        "rope_parameters": _rope(own, contents),
        "bos_token_id": contents.metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": [token for key in _END_KEYS for token in fields.ids(f"tokenizer.ggml.{key}")],
    }
    _check_rotation(own)
    return settings | _window(own, name)


def _own_fields(fields: Fields, name: str) -> Fields:
    """The architecture's own keys without their prefix; one that we do not know is refused, never ignored."""
    prefix = f"{name}."
    own = {key.removeprefix(prefix): value for key, value in fields.values.items() if key.startswith(prefix)}
    for key, value in own.items():
        if key not in _KNOWN and value not in (0, 0.0, False, None):
            raise UnsupportedModel(f"{fields.file}: {prefix}{key} = {value!r} is not supported")
    return Fields(fields.file, own)


def _vocab_size(contents: GGUFContents, file: str) -> int:
    embedding = contents.tensors.get("token_embd.weight")
    if embedding is None:
        raise BadModelFile(file, "tensor 'token_embd.weight'", "a matrix of token embeddings", "nothing")
    return embedding.shape[0]


def _rope(own: Fields, contents: GGUFContents) -> dict[str, Any]:
    rope: dict[str, Any] = {ours: own.get(theirs) for theirs, ours in _SCALING.items() if theirs in own}
    if rope.get("rope_type", "none") == "none":
        rope = {"rope_type": "default"}
    if contents.rope_factors is not None:
        if rope["rope_type"] != "default":
            raise UnsupportedModel(
                f"{own.file}: rope_freqs.weight beside rope scaling {rope['rope_type']!r} is not supported"
            )
        rope = {"rope_type": "factors", "factors": contents.rope_factors}
    return rope | {"rope_theta": own.number("rope.freq_base", 10000.0)}


def _check_rotation(own: Fields) -> None:
    head_dim = own.count("attention.key_length", own.count("embedding_length") // own.count("attention.head_count"))
    for key, what in (("rope.dimension_count", "rotated part"), ("attention.value_length", "value size")):
        if own.count(key, head_dim) != head_dim:
            raise UnsupportedModel(
                f"{own.file}: a {what} ({key} = {own.get(key)}) other than the head's {head_dim} is not supported"
            )


def _window(own: Fields, name: str) -> dict[str, Any]:
    """A windowed file of architecture `llama` is a Mistral: both have the same tensors."""
    if "attention.sliding_window" not in own or own.get("attention.sliding_window") == 0:
        return {}
    if name != "llama":
        raise UnsupportedModel(
            f"{own.file}: {name}.attention.sliding_window is not supported, since it does not say which layers have it"
        )
    return {"architectures": ["MistralForCausalLM"], "sliding_window": own.count("attention.sliding_window")}
