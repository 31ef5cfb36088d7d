"""A model's config, read without its weights."""

from __future__ import annotations

import math
from typing import Any, Final

from radixkv.errors import UnsupportedModel
from radixkv.models.config import ModelConfig
from radixkv.models.families import family_of
from radixkv.models.fields import Fields, read_json_object
from radixkv.models.files import ModelFiles
from radixkv.models.gguf_config import gguf_settings
from radixkv.models.rope import FrequencyFactors, LinearScaling, Llama3Scaling, Rope, RopeScaling, YarnScaling

_ROPE_FIELDS: Final = {  # what each kind of scaling may say; anything else is refused
    "default": frozenset[str](),
    "linear": frozenset({"factor"}),
    "llama3": frozenset({"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}),
    "yarn": frozenset(
        {
            "factor",
            "original_max_position_embeddings",
            "attention_factor",
            "beta_fast",
            "beta_slow",
            "mscale",
            "mscale_all_dim",
            "truncate",
        }
    ),
    "factors": frozenset({"factors"}),  # GGUF alone
}
_ROPE_COMMON: Final = frozenset({"type", "rope_type", "rope_theta", "partial_rotary_factor", "finetuned"})


def read_config(files: ModelFiles) -> ModelConfig:
    """The config of a model on this machine. Raises BadModelFile and UnsupportedModel."""
    if files.kind == "gguf":
        return config_from_settings(str(files.path), gguf_settings(files.path))
    settings = read_json_object(files.path / "config.json")
    generation = files.path / "generation_config.json"
    eos = Fields(str(generation), read_json_object(generation)).ids("eos_token_id") if generation.exists() else ()
    return config_from_settings(str(files.path / "config.json"), settings | {"eos_token_id": list(eos)})


def config_from_settings(file: str, settings: dict[str, Any]) -> ModelConfig:
    """The config that `settings`, in the words of Hugging Face's config.json, describe; `file` is for errors.

    Raises BadModelFile for values that are missing or impossible, UnsupportedModel for what we do not do.
    """
    fields = Fields(file, settings)
    family = family_of(_architecture(fields), file)
    _refuse_unknown_features(fields)
    num_layers, num_heads = fields.count("num_hidden_layers"), fields.count("num_attention_heads")
    num_kv_heads = fields.count("num_key_value_heads", num_heads)
    if num_heads % num_kv_heads:
        raise fields.wrong("num_key_value_heads", f"a divisor of num_attention_heads ({num_heads})")
    return ModelConfig(
        architecture=family.architecture,
        vocab_size=fields.count("vocab_size"),
        hidden_size=fields.count("hidden_size"),
        intermediate_size=fields.count("intermediate_size"),
        num_layers=num_layers,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=_head_dim(fields, num_heads),
        norm_eps=fields.number("rms_norm_eps", 1e-6),
        rope=_rope(fields),
        windows=family.windows(fields, num_layers),
        biases=family.biases(fields),
        qk_norm=family.qk_norm,
        tied=fields.flag("tie_word_embeddings", False),
        max_context=fields.count("max_position_embeddings"),
        eos_token_ids=fields.ids("eos_token_id"),
        bos_token_id=next(iter(fields.ids("bos_token_id")), None),
    )


def _architecture(fields: Fields) -> str:
    names = fields.get("architectures")
    if not isinstance(names, list) or len(names) != 1 or not isinstance(names[0], str):
        raise fields.wrong("architectures", "a list of one name")
    return names[0]


def _refuse_unknown_features(fields: Fields) -> None:
    activation = fields.text("hidden_act", "silu")
    if activation not in ("silu", "swish"):
        raise UnsupportedModel(f"{fields.file}: activation {activation!r} is not supported; only silu is")
    if "quantization_config" in fields:
        method = fields.group("quantization_config").get("quant_method")
        raise UnsupportedModel(
            f"{fields.file}: weights quantised by {method!r} are not supported; "
            "use the model's unquantised weights, or a GGUF"
        )


def _head_dim(fields: Fields, num_heads: int) -> int:
    hidden_size = fields.count("hidden_size")
    if "head_dim" not in fields and hidden_size % num_heads:
        raise fields.wrong("hidden_size", f"a multiple of num_attention_heads ({num_heads}), for want of a head_dim")
    head_dim = fields.count("head_dim", hidden_size // num_heads)
    if head_dim % 2:
        raise fields.wrong("head_dim", "an even number")
    return head_dim


def _rope(fields: Fields) -> Rope:
    """RoPE from `rope_scaling` beside `rope_theta`, or from the newer `rope_parameters` that has both."""
    name = "rope_scaling" if "rope_scaling" in fields else "rope_parameters"
    rope = fields.group(name)
    kind = rope.text("rope_type", rope.text("type", "default"))
    if kind not in _ROPE_FIELDS:
        raise UnsupportedModel(
            f"{fields.file}: rope scaling {kind!r} is not supported; supported are linear, llama3, yarn"
        )
    unknown = sorted(rope.values.keys() - _ROPE_FIELDS[kind] - _ROPE_COMMON)
    if unknown:
        raise UnsupportedModel(f"{fields.file}: {name} of type {kind!r} has {unknown[0]!r}, which is not supported")
    for place in (fields, rope):
        if place.number("partial_rotary_factor", 1.0) != 1.0:
            raise UnsupportedModel(
                f"{fields.file}: partial_rotary_factor is not supported; the whole head must be rotated"
            )
    theta = rope.number("rope_theta", fields.number("rope_theta", 10000.0))
    return Rope(theta, _scaling(kind, rope, fields))


def _scaling(kind: str, rope: Fields, fields: Fields) -> RopeScaling | None:
    match kind:
        case "linear":
            return LinearScaling(rope.number("factor"))
        case "llama3":
            return _llama3(rope, _original_context(rope, fields))
        case "yarn":
            return _yarn(rope, _original_context(rope, fields), fields)
        case "factors":
            return FrequencyFactors(tuple(rope.values["factors"]))
        case _:
            return None


def _original_context(rope: Fields, fields: Fields) -> int:
    if "original_max_position_embeddings" in fields:
        return fields.count("original_max_position_embeddings")
    return rope.count("original_max_position_embeddings", fields.count("max_position_embeddings"))


def _llama3(rope: Fields, original_context: int) -> Llama3Scaling:
    low, high = rope.number("low_freq_factor"), rope.number("high_freq_factor")
    if high <= low:
        raise rope.wrong("high_freq_factor", f"more than low_freq_factor ({low})")
    return Llama3Scaling(rope.number("factor"), low, high, original_context)


def _yarn(rope: Fields, original_context: int, fields: Fields) -> YarnScaling:
    factor = rope.number("factor", fields.count("max_position_embeddings") / original_context)
    if "mscale" in rope and "mscale_all_dim" in rope:
        inferred = _yarn_mscale(factor, rope.number("mscale")) / _yarn_mscale(factor, rope.number("mscale_all_dim"))
    else:
        inferred = _yarn_mscale(factor, 1.0)
    return YarnScaling(
        factor=factor,
        original_context=original_context,
        attention_factor=rope.number("attention_factor", inferred),
        beta_fast=rope.number("beta_fast", 32.0),
        beta_slow=rope.number("beta_slow", 1.0),
        truncate=rope.flag("truncate", True),
    )


def _yarn_mscale(factor: float, mscale: float) -> float:
    """How much hotter attention is for a context stretched by `factor` (YaRN paper, equation 22)."""
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0
