"""GGUF files: every tensor type, llama.cpp's row order, metadata in config's words, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from gguf import GGUFWriter
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from decoder_runs import SequenceRun
from radixkv.errors import BadModelFile, UnsupportedModel
from radixkv.models import LoadedModel, ModelConfig, gguf_metadata, load_model, locate_model, read_config
from radixkv.models.layout import parameters
from radixkv.models.rope import FrequencyFactors, LinearScaling, YarnScaling
from tiny_gguf import HEADS, HIDDEN, KV_HEADS, write_tiny_gguf

TYPES = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K")
PROMPT = list(b"blocks and slots")


@pytest.mark.parametrize("tensor_type", TYPES)
def test_every_type_loads_as_the_gguf_package_dequantises_it(tensor_type: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    expected = write_tiny_gguf(path, tensor_type=tensor_type)
    weights = _by_hugging_face_name(_load(path))
    assert torch.equal(weights["model.embed_tokens.weight"], torch.from_numpy(expected["token_embd.weight"]))
    assert torch.equal(weights["lm_head.weight"], torch.from_numpy(expected["output.weight"]))
    layer = "model.layers.0."
    for ours, theirs in {"self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output"}.items():
        assert torch.equal(weights[f"{layer}{ours}.weight"], torch.from_numpy(expected[f"blk.0.{theirs}.weight"]))
    for ours, theirs, heads in (("q_proj", "attn_q", HEADS), ("k_proj", "attn_k", KV_HEADS)):
        stored = _permuted_as_llama_cpp_does(weights[f"{layer}self_attn.{ours}.weight"], heads)
        assert torch.equal(stored, torch.from_numpy(expected[f"blk.0.{theirs}.weight"]))
    assert _logits(path).isfinite().all()


def test_weights_and_logits_equal_transformers_reading_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_tiny_gguf(path, tensor_type="Q8_0", layers=2)
    reference = _transformers_model(path)
    model = _load(path)
    theirs = reference.state_dict()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in _by_hugging_face_name(model).items())
    with torch.inference_mode():
        assert (SequenceRun(model).feed(PROMPT) - reference(torch.tensor([PROMPT])).logits[0]).abs().max() <= 1e-4


@pytest.mark.parametrize("architecture", ["qwen2", "qwen3"])
def test_qwen_rows_are_not_reordered(architecture: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    expected = write_tiny_gguf(path, architecture=architecture)
    weights = _by_hugging_face_name(_load(path))
    query = weights["model.layers.0.self_attn.q_proj.weight"]
    assert torch.equal(query, torch.from_numpy(expected["blk.0.attn_q.weight"]))


def test_biases_of_a_llama_are_reordered_with_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    rows = {"q": HIDDEN, "k": HIDDEN // HEADS * KV_HEADS, "v": HIDDEN // HEADS * KV_HEADS, "output": HIDDEN}
    extra = {f"blk.0.attn_{part}.bias": np.arange(size, dtype=np.float32) for part, size in rows.items()}
    write_tiny_gguf(path, extra=extra)
    weights = _by_hugging_face_name(_load(path))
    stored = _permuted_as_llama_cpp_does(weights["model.layers.0.self_attn.q_proj.bias"], HEADS)
    assert torch.equal(stored, torch.arange(HIDDEN, dtype=torch.float32))
    assert torch.equal(weights["model.layers.0.self_attn.v_proj.bias"], torch.arange(rows["v"], dtype=torch.float32))


def test_a_file_without_head_is_tied(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "model.gguf", tied=True)
    model = _load(tmp_path / "model.gguf")
    assert model.config.tied
    assert model.decoder.head is None


def test_end_tokens_are_all_that_the_file_names(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "model.gguf")
    config = _config(tmp_path / "model.gguf")
    assert config.eos_token_ids == (257, 259)
    assert config.bos_token_id == 256


def test_metadata_has_the_tokenizer(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "model.gguf")
    metadata = gguf_metadata(tmp_path / "model.gguf")
    tokens = metadata["tokenizer.ggml.tokens"]
    assert isinstance(tokens, list)
    assert tokens[65] == "A"
    assert metadata["tokenizer.ggml.model"] == "gpt2"
    assert gguf_metadata(tmp_path / "model.gguf") == metadata  # from the cache folder now


def test_rope_scaling_comes_from_the_metadata(tmp_path: Path) -> None:
    def scaled(kind: gguf.RopeScalingType) -> ModelConfig:
        path = tmp_path / f"{kind.value}.gguf"
        write_tiny_gguf(
            path,
            metadata={
                "type": lambda writer: writer.add_rope_scaling_type(kind),
                "factor": lambda writer: writer.add_rope_scaling_factor(4.0),
                **({} if kind.value != "yarn" else {"original": lambda w: w.add_rope_scaling_orig_ctx_len(128)}),
            },
        )
        return _config(path)

    assert scaled(gguf.RopeScalingType.LINEAR).rope.scaling == LinearScaling(4.0)
    assert scaled(gguf.RopeScalingType.NONE).rope.scaling is None
    assert scaled(gguf.RopeScalingType.YARN).rope.scaling == YarnScaling(4.0, 128, 0.1 * math.log(4.0) + 1.0)
    with pytest.raises(UnsupportedModel, match="rope scaling 'longrope'"):
        scaled(gguf.RopeScalingType.LONGROPE)


def test_rope_factors_divide_the_frequencies(tmp_path: Path) -> None:
    factors = np.linspace(1, 8, HIDDEN // HEADS // 2, dtype=np.float32)
    write_tiny_gguf(tmp_path / "scaled.gguf", extra={"rope_freqs.weight": factors})
    write_tiny_gguf(tmp_path / "plain.gguf")
    scaled, plain = _load(tmp_path / "scaled.gguf"), _load(tmp_path / "plain.gguf")
    assert scaled.config.rope.scaling == FrequencyFactors(tuple(map(float, factors)))
    assert torch.allclose(scaled.decoder.frequencies * torch.from_numpy(factors), plain.decoder.frequencies)


def test_a_windowed_llama_is_a_mistral(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_tiny_gguf(path, metadata={"window": lambda writer: writer.add_sliding_window(64)})
    assert _config(path).architecture == "MistralForCausalLM"
    assert _config(path).windows == (64,)


@pytest.mark.parametrize(
    ("add", "named"),
    [
        (lambda writer: writer.add_expert_count(8), "llama.expert_count = 8"),
        (lambda writer: writer.add_attn_logit_softcapping(30.0), "llama.attn_logit_softcapping = 30"),
        (lambda writer: writer.add_float32("llama.rope.scaling.attn_factor", 1.5), "llama.rope.scaling.attn_factor"),
    ],
)
def test_settings_that_are_not_known_are_refused_by_name(add: object, named: str, tmp_path: Path) -> None:
    assert callable(add)
    write_tiny_gguf(tmp_path / "model.gguf", metadata={"unknown": add})
    with pytest.raises(UnsupportedModel, match=named):
        _config(tmp_path / "model.gguf")


def test_an_unknown_architecture_is_refused_by_name(tmp_path: Path) -> None:
    writer = GGUFWriter(tmp_path / "model.gguf", "mamba")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(UnsupportedModel, match="'mamba' is not supported; supported are llama, qwen2, qwen3"):
        _config(tmp_path / "model.gguf")


def test_a_type_that_is_not_supported_is_refused_with_its_tensor(tmp_path: Path) -> None:
    name, data = "blk.0.ffn_up.weight", np.zeros((256, 98), dtype=np.uint8)
    path = tmp_path / "model.gguf"
    write_tiny_gguf(path, leave_out=name, raw={name: (data, gguf.GGMLQuantizationType.IQ3_XXS)})
    with pytest.raises(UnsupportedModel, match=r"model.gguf: tensor 'blk.0.ffn_up.weight' has type IQ3_XXS"):
        _load(path)


def test_a_type_from_the_future_is_refused_with_its_tensor(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_tiny_gguf(path)
    data = bytearray(path.read_bytes())
    name = b"blk.0.ffn_up.weight"
    place = data.index(name) + len(name) + 4 + 2 * 8  # after the name: number of dimensions, two dimensions
    data[place : place + 4] = (999).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(UnsupportedModel, match=r"tensor 'blk.0.ffn_up.weight' has the unknown type number 999"):
        _load(path)


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "model.gguf", leave_out="blk.0.ffn_up.weight")
    with pytest.raises(BadModelFile) as error:
        _load(tmp_path / "model.gguf")
    assert error.value.file.endswith("model.gguf")
    assert error.value.subject == "tensor 'blk.0.ffn_up.weight'"
    assert (error.value.expected, error.value.found) == ("one of shape (256, 256)", "no such tensor")


def test_a_tensor_of_the_wrong_shape_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_tiny_gguf(path, leave_out="output_norm.weight", extra={"output_norm.weight": np.ones(128, dtype=np.float32)})
    with pytest.raises(BadModelFile, match=r"'output_norm.weight': expected shape \(256,\), found shape \(128,\)"):
        _load(path)


def test_a_tensor_that_nobody_asked_for_is_named(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "model.gguf", extra={"blk.0.attn_sinks.weight": np.ones(8, dtype=np.float32)})
    with pytest.raises(BadModelFile, match=r"tensor 'blk.0.attn_sinks.weight': expected no such tensor"):
        _load(tmp_path / "model.gguf")


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    whole = tmp_path / "whole.gguf"
    write_tiny_gguf(whole)
    data = whole.read_bytes()
    header = data.index(b"blk.0.ffn_down.weight") + 64
    for length in (0, 3, 4, 8, 23, 24, 100, 1000, header // 2, header, len(data) // 2, len(data) - 1):
        path = tmp_path / f"cut-{length}.gguf"
        path.write_bytes(data[:length])
        with pytest.raises(BadModelFile, match=f"cut-{length}.gguf"):
            _load(path)


def test_a_cut_tensor_is_named_with_the_sizes(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_tiny_gguf(path)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size - 4])
    with pytest.raises(
        BadModelFile, match=rf"tensor '\S+': expected a file of at least {size} bytes, found {size - 4}"
    ):
        _load(path)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"PK\x03\x04 no gguf", b"GGUF\x09\x00\x00\x00" + bytes(16)])
def test_a_file_that_is_no_gguf_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(content)
    with pytest.raises(BadModelFile, match="expected a GGUF"):
        _load(tmp_path / "model.gguf")


def _config(path: Path) -> ModelConfig:
    return read_config(locate_model(str(path)))


def _load(path: Path) -> LoadedModel:
    return load_model(locate_model(str(path)), "float32")


def _logits(path: Path) -> torch.Tensor:
    return SequenceRun(_load(path)).feed(PROMPT)


def _by_hugging_face_name(model: LoadedModel) -> dict[str, torch.Tensor]:
    """The checkpoint's tensors, cut out of the decoder's parameters again."""
    weights: dict[str, torch.Tensor] = {}
    for parameter in parameters(model.config):
        pieces = model.decoder.get_parameter(parameter.name).split([piece.shape[0] for piece in parameter.pieces])
        weights |= {piece.name: rows for piece, rows in zip(parameter.pieces, pieces, strict=True)}
    return weights


def _permuted_as_llama_cpp_does(rows: torch.Tensor, heads: int) -> torch.Tensor:
    """`LlamaModel.permute` of llama.cpp's convert_hf_to_gguf.py."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def _transformers_model(path: Path) -> LlamaForCausalLM:
    settings = load_gguf_checkpoint(str(path))["config"]
    model = LlamaForCausalLM(LlamaConfig(**settings, attn_implementation="eager"))
    model.load_state_dict(load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=model)["tensors"])
    return model.eval()
