"""Reading config.json: what each family says, and what is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from radixkv.errors import BadModelFile, UnsupportedModel
from radixkv.models import Biases, ModelConfig, locate_model, read_config
from radixkv.models.rope import YarnScaling
from tiny_models import make_tiny_model


def test_a_config_is_read_without_weights(tiny_llama: Path) -> None:
    config = read_config(locate_model(str(tiny_llama)))
    assert (config.architecture, config.vocab_size, config.num_layers) == ("LlamaForCausalLM", 260, 2)
    assert (config.num_heads, config.num_kv_heads, config.head_dim) == (4, 2, 16)
    assert config.windows == (None, None)
    assert config.biases == Biases()


def test_r011_rows_of_the_head_may_be_more_than_the_tokenizer_has(padded_llama: Path) -> None:
    assert read_config(locate_model(str(padded_llama))).vocab_size == 320


def test_end_tokens_come_from_generation_config_and_nothing_else(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model")
    assert _read(folder).eos_token_ids == (257, 259)
    (folder / "generation_config.json").write_text('{"eos_token_id": 258}', encoding="utf-8")
    assert _read(folder).eos_token_ids == (258,)
    (folder / "generation_config.json").unlink()
    assert _read(folder).eos_token_ids == ()  # config.json has one, which does not count


def test_a_mistral_without_window_field_has_the_family_default(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model", family="mistral")
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert _read(folder).windows == (None, None)
    del settings["sliding_window"]
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    assert _read(folder).windows == (4096, 4096)


def test_the_original_context_of_yarn_defaults_to_the_context(tmp_path: Path) -> None:
    rope = {"rope_type": "yarn", "factor": 2.0}
    config = _read(make_tiny_model(tmp_path / "model", config={"rope_scaling": rope}))
    assert isinstance(config.rope.scaling, YarnScaling)
    assert config.rope.scaling.original_context == 2048


@pytest.mark.parametrize(
    ("family", "settings", "named"),
    [
        ("llama", {"architectures": ["GPT2LMHeadModel"]}, "architecture 'GPT2LMHeadModel' is not supported; supported"),
        ("llama", {"hidden_act": "gelu"}, "activation 'gelu'"),
        ("llama", {"quantization_config": {"quant_method": "awq"}}, "quantised by 'awq'"),
        ("llama", {"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "rope scaling 'dynamic'"),
        ("llama", {"rope_scaling": {"rope_type": "longrope", "factor": 2.0}}, "rope scaling 'longrope'"),
        ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0, "offset": 3}}, "has 'offset'"),
        ("llama", {"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}, "has 'full_attention'"),
        ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ("llama", {"sliding_window": 128}, "sliding_window 128"),
        ("llama", {"layer_types": ["sliding_attention", "full_attention"]}, "layer_types"),
        ("mistral", {"layer_types": ["sliding_attention", "full_attention"]}, "layer_types"),
        (
            "qwen2",
            {"use_sliding_window": True, "layer_types": ["chunked_attention", "full_attention"]},
            "layer type 'chunked_attention'",
        ),
    ],
)
def test_what_we_do_not_do_is_refused_by_name(
    family: Any, settings: dict[str, Any], named: str, tmp_path: Path
) -> None:
    folder = make_tiny_model(tmp_path / "model", family=family, config=settings)
    with pytest.raises(UnsupportedModel, match=named) as error:
        _read(folder)
    assert "config.json" in str(error.value)


@pytest.mark.parametrize(
    ("settings", "field", "found"),
    [
        ({"hidden_size": None}, "hidden_size", "nothing"),
        ({"hidden_size": "64"}, "hidden_size", "'64'"),
        ({"num_hidden_layers": 0}, "num_hidden_layers", "0"),
        ({"num_key_value_heads": 3}, "num_key_value_heads", "3"),
        ({"num_attention_heads": 7, "num_key_value_heads": None, "head_dim": None}, "hidden_size", "64"),
        ({"head_dim": 15}, "head_dim", "15"),
        ({"rms_norm_eps": -1}, "rms_norm_eps", "-1"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings", "'yes'"),
        ({"architectures": []}, "architectures", "[]"),
        ({"rope_scaling": {"type": "linear"}}, "factor", "nothing"),
        ({"rope_scaling": {"type": "linear", "factor": 0}}, "factor", "0"),
        ({"rope_scaling": "yarn"}, "rope_scaling", "'yarn'"),
        (
            {"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1}},
            "high_freq_factor",
            "1",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_field(
    settings: dict[str, Any], field: str, found: str, tiny_llama: Path, tmp_path: Path
) -> None:
    whole = json.loads((tiny_llama / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps(whole | settings), encoding="utf-8")
    (tmp_path / "model.safetensors").symlink_to(tiny_llama / "model.safetensors")
    with pytest.raises(BadModelFile) as error:
        _read(tmp_path)
    assert error.value.file == str(tmp_path / "config.json")
    assert error.value.subject == f"field {field!r}"
    assert error.value.found == found


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": "\\ud8"}'])
@pytest.mark.parametrize("name", ["config.json", "generation_config.json"])
def test_unreadable_json_is_named(name: str, text: str, tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model")
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(BadModelFile, match=f"{name}: the file: expected a JSON object"):
        _read(folder)


def _read(folder: Path) -> ModelConfig:
    return read_config(locate_model(str(folder)))
