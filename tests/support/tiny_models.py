"""Tiny random models in the Hugging Face folder format, small enough to make anew in every test.

The tokenizer is byte-level: ids 0..255 are the bytes themselves. `vocab="bytes"` has nothing else but
the special tokens; `vocab="merges"` adds 40 merges, 300 entries in all. Rows of the head that are no
printable ASCII are scaled down, so that greedy text is readable and rarely ends by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from torch import Tensor

Family = Literal["llama", "mistral", "qwen2", "qwen3"]
Vocab = Literal["bytes", "merges"]

BOS: Final = "<|bos|>"
EOS: Final = "<|eos|>"
IM_START: Final = "<|im_start|>"
IM_END: Final = "<|im_end|>"
SPECIALS: Final = (BOS, EOS, IM_START, IM_END)
FAMILIES: Final[tuple[Family, ...]] = ("llama", "mistral", "qwen2", "qwen3")
CHAT_TEMPLATE: Final = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_ARCHITECTURES: Final = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}
_MERGES: Final = (
    "t h,th e,Ġ th,Ġth e,i n,e r,a n,o n,r e,Ġ a,e s,o r,e n,a t,i s,i t,n d,Ġ s,Ġ w,in g,an d,Ġ o,o u,a l,"
    "e d,Ġ c,Ġ f,Ġ b,a r,s t,Ġ p,Ġ m,l e,Ġ h,Ġ d,i c,Ġ in,l l,Ġ n,Ġo f"
)


def make_tiny_model(
    folder: Path,
    *,
    family: Family = "llama",
    seed: int = 0,
    vocab: Vocab = "bytes",
    head_rows: int | None = None,
    tied: bool = False,
    layers: int = 2,
    hidden: int = 64,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 16,
    max_context: int = 2048,
    dtype: torch.dtype = torch.float32,
    shards: int = 1,
    chat_template: str | None = CHAT_TEMPLATE,
    config: Mapping[str, Any] | None = None,
) -> Path:
    """Write a whole model folder and return it; same arguments, same bytes.

    `head_rows`: rows of the embedding and the head (default: the vocabulary's size; more are padding
    rows, which score higher than any real token, R011). `config`: entries that override config.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = tiny_tokenizer(vocab)
    vocab_size = tokenizer.get_vocab_size()
    special_ids = {text: tokenizer.token_to_id(text) for text in SPECIALS}
    settings: dict[str, Any] = {
        "architectures": [_ARCHITECTURES[family]],
        "model_type": family,
        "vocab_size": head_rows or vocab_size,
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": max_context,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": tied,
        "bos_token_id": special_ids[BOS],
        "eos_token_id": special_ids[EOS],
        "torch_dtype": str(dtype).removeprefix("torch."),
        **({"sliding_window": None} if family == "mistral" else {}),
        **(config or {}),
    }
    _write_json(folder / "config.json", settings)
    _write_json(
        folder / "generation_config.json",
        {"bos_token_id": special_ids[BOS], "eos_token_id": [special_ids[EOS], special_ids[IM_END]]},
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    _write_json(folder / "tokenizer_config.json", _tokenizer_config(max_context, chat_template))
    weights = {name: tensor.to(dtype) for name, tensor in _random_weights(family, settings, vocab_size, seed).items()}
    _save(folder, weights, shards)
    return folder


def tiny_tokenizer(vocab: Vocab = "bytes") -> Tokenizer:
    """The byte-level tokenizer: byte b has id b, then the merges, then the special tokens."""
    letters = _byte_letters()
    merges = [tuple(pair.split()) for pair in _MERGES.split(",")] if vocab == "merges" else []
    entries = {letter: byte for byte, letter in enumerate(letters)}
    for left, right in merges:
        entries[left + right] = len(entries)
    tokenizer = Tokenizer(BPE(vocab=entries, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIALS])
    return tokenizer


def _byte_letters() -> list[str]:
    """GPT-2's printable letter for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) if byte in printable else chr(256 + others.index(byte)) for byte in range(256)]


def _tokenizer_config(max_context: int, chat_template: str | None) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": False,
        "bos_token": BOS,
        "eos_token": EOS,
        "clean_up_tokenization_spaces": False,
        "model_max_length": max_context,
    }
    return settings | ({} if chat_template is None else {"chat_template": chat_template})


def _random_weights(family: Family, settings: Mapping[str, Any], vocab_size: int, seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int, scale: float) -> Tensor:
        return torch.randn(*shape, generator=generator) * scale

    hidden, rows = settings["hidden_size"], settings["vocab_size"]
    shapes = _layer_shapes(family, settings)
    weights: dict[str, Tensor] = {}
    for layer in range(settings["num_hidden_layers"]):
        for name, shape in shapes.items():
            scale = 2.0 / shape[-1] ** 0.5 if len(shape) == 2 else 0.3
            weights[f"model.layers.{layer}.{name}"] = normal(*shape, scale=scale) + (1.0 if "norm" in name else 0.0)
    weights["model.norm.weight"] = 1 + normal(hidden, scale=0.1)
    loudness = _row_loudness(rows, vocab_size)
    weights["model.embed_tokens.weight"] = normal(rows, hidden, scale=0.5)
    if settings["tie_word_embeddings"]:
        weights["model.embed_tokens.weight"] *= loudness
    else:
        weights["lm_head.weight"] = normal(rows, hidden, scale=3.0 / hidden**0.5) * loudness
    return weights


def _layer_shapes(family: Family, settings: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    hidden, inner, head_dim = settings["hidden_size"], settings["intermediate_size"], settings["head_dim"]
    queries, keys = settings["num_attention_heads"] * head_dim, settings["num_key_value_heads"] * head_dim
    shapes: dict[str, tuple[int, ...]] = {
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
        "self_attn.q_proj.weight": (queries, hidden),
        "self_attn.k_proj.weight": (keys, hidden),
        "self_attn.v_proj.weight": (keys, hidden),
        "self_attn.o_proj.weight": (hidden, queries),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
    }
    attention_bias = family == "qwen2" or settings.get("attention_bias", False)
    if attention_bias:
        shapes |= {f"self_attn.{name}_proj.bias": (shapes[f"self_attn.{name}_proj.weight"][0],) for name in "qkv"}
    if attention_bias and family != "qwen2":
        shapes["self_attn.o_proj.bias"] = (hidden,)
    if settings.get("mlp_bias", False):
        shapes |= {"mlp.gate_proj.bias": (inner,), "mlp.up_proj.bias": (inner,), "mlp.down_proj.bias": (hidden,)}
    if family == "qwen3":
        shapes |= {"self_attn.q_norm.weight": (head_dim,), "self_attn.k_norm.weight": (head_dim,)}
    return shapes


def _row_loudness(rows: int, vocab_size: int) -> Tensor:
    """(rows, 1): 1 for printable ASCII and merges, 4 for padding rows, little for the rest."""
    loudness = torch.full((rows, 1), 0.1)
    loudness[32:127] = 1.0
    loudness[256 : vocab_size - len(SPECIALS)] = 1.0
    loudness[vocab_size:] = 4.0
    return loudness


def _save(folder: Path, weights: Mapping[str, Tensor], shards: int) -> None:
    if shards == 1:
        save_file(dict(weights), folder / "model.safetensors", metadata={"format": "pt"})
        return
    names = sorted(weights)
    weight_map: dict[str, str] = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        mine = names[shard::shards]
        save_file({name: weights[name].contiguous() for name in mine}, folder / file, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(mine, file)
    total = sum(tensor.nbytes for tensor in weights.values())
    _write_json(folder / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": weight_map})


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
