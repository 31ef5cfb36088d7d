"""The families that share the decoder's shape, by the name of their architecture.

A family says only what sets it apart. To add one, describe it here; nothing is registered at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from radixkv.errors import UnsupportedModel
from radixkv.models.config import Biases
from radixkv.models.fields import Fields

Windows: TypeAlias = tuple[int | None, ...]


@dataclass(frozen=True)
class Family:
    """What a family does its own way.

    `biases` and `windows` read the settings of config.json; `windows` is told the number of layers.
    `gguf_name` is the family's name in GGUF files, None for one that goes under another's name there;
    `gguf_interleaved` says that those files pair neighbouring rows of q and k for RoPE.
    """

    architecture: str
    biases: Callable[[Fields], Biases]
    windows: Callable[[Fields, int], Windows]
    qk_norm: bool = False
    gguf_name: str | None = None
    gguf_interleaved: bool = False


def family_of(architecture: str, file: str) -> Family:
    """The family of an architecture such as `LlamaForCausalLM`. Raises UnsupportedModel."""
    for family in FAMILIES:
        if family.architecture == architecture:
            return family
    raise UnsupportedModel(
        f"{file}: architecture {architecture!r} is not supported; supported are {', '.join(supported_architectures())}"
    )


def supported_architectures() -> tuple[str, ...]:
    """The names, as config.json spells them."""
    return tuple(family.architecture for family in FAMILIES)


def gguf_family(name: str, file: str) -> Family:
    """The family of a GGUF's `general.architecture`. Raises UnsupportedModel."""
    for family in FAMILIES:
        if family.gguf_name == name:
            return family
    names = ", ".join(family.gguf_name for family in FAMILIES if family.gguf_name)
    raise UnsupportedModel(f"{file}: GGUF architecture {name!r} is not supported; supported are {names}")


def _llama_biases(fields: Fields) -> Biases:
    attention = fields.flag("attention_bias", False)
    return Biases(qkv=attention, output=attention, mlp=fields.flag("mlp_bias", False))


def _qwen3_biases(fields: Fields) -> Biases:
    attention = fields.flag("attention_bias", False)
    return Biases(qkv=attention, output=attention)


def _no_window(fields: Fields, num_layers: int) -> Windows:
    _refuse_mixed_layers(fields)
    if "sliding_window" in fields:
        window = fields.get("sliding_window")
        raise UnsupportedModel(f"{fields.file}: sliding_window {window!r} is not defined for this architecture")
    return (None,) * num_layers


def _mistral_windows(fields: Fields, num_layers: int) -> Windows:
    """One window for all layers: null means none, an absent field 4,096 (the family's default)."""
    _refuse_mixed_layers(fields)
    if "sliding_window" in fields.values and "sliding_window" not in fields:
        return (None,) * num_layers
    return (fields.count("sliding_window", 4096),) * num_layers


def _qwen_windows(fields: Fields, num_layers: int) -> Windows:
    """Layers from `max_window_layers` on have the window, unless `layer_types` says which."""
    if not fields.flag("use_sliding_window", False) or fields.values.get("sliding_window", 4096) is None:
        if "sliding_attention" in (fields.get("layer_types") or ()):
            raise fields.wrong("layer_types", "full attention alone, since use_sliding_window or sliding_window is off")
        return (None,) * num_layers
    window = fields.count("sliding_window", 4096)
    if "layer_types" in fields:
        return tuple(window if kind == "sliding_attention" else None for kind in _layer_types(fields, num_layers))
    first = fields.get("max_window_layers")
    first = 28 if first is None else first
    if isinstance(first, bool) or not isinstance(first, int) or first < 0:
        raise fields.wrong("max_window_layers", "a number of layers")
    return tuple(window if layer >= first else None for layer in range(num_layers))


def _layer_types(fields: Fields, num_layers: int) -> list[str]:
    types = fields.get("layer_types")
    if not isinstance(types, list) or len(types) != num_layers:
        raise fields.wrong("layer_types", f"a list of {num_layers} names")
    for kind in types:
        if kind not in ("full_attention", "sliding_attention"):
            raise UnsupportedModel(f"{fields.file}: layer type {kind!r} is not supported")
    return types


def _refuse_mixed_layers(fields: Fields) -> None:
    types = fields.get("layer_types") or ()
    if len(set(types)) > 1:
        raise UnsupportedModel(f"{fields.file}: layer_types {sorted(set(types))} are not defined for this architecture")


FAMILIES: Final = (
    Family(
        "LlamaForCausalLM",
        biases=_llama_biases,
        windows=_no_window,
        gguf_name="llama",
        gguf_interleaved=True,
    ),
    Family("MistralForCausalLM", biases=lambda _: Biases(), windows=_mistral_windows),
    Family("Qwen2ForCausalLM", biases=lambda _: Biases(qkv=True), windows=_qwen_windows, gguf_name="qwen2"),
    Family("Qwen3ForCausalLM", biases=_qwen3_biases, windows=_qwen_windows, qk_norm=True, gguf_name="qwen3"),
)
