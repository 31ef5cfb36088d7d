"""Safetensors folders that cannot be used: every error names file, tensor, expected and found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from radixkv.errors import BadModelFile, UnsupportedModel
from radixkv.models import LoadedModel, load_model, locate_model
from tiny_models import make_tiny_model

UP = "model.layers.1.mlp.up_proj.weight"


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    error = _refused(tmp_path, lambda weights: weights.pop(UP))
    assert error.file == str(tmp_path / "model")
    assert (error.subject, error.expected, error.found) == (
        f"tensor {UP!r}",
        "one of shape (128, 64)",
        "no such tensor",
    )


def test_a_wrong_shape_is_named(tmp_path: Path) -> None:
    error = _refused(tmp_path, lambda weights: weights.update({UP: torch.zeros(128, 32)}))
    assert (error.subject, error.expected, error.found) == (f"tensor {UP!r}", "shape (128, 64)", "shape (128, 32)")


def test_a_tensor_that_the_family_does_not_have_is_named(tmp_path: Path) -> None:
    name = "model.layers.0.self_attn.q_proj.bias"
    error = _refused(tmp_path, lambda weights: weights.update({name: torch.zeros(64)}))
    assert (error.subject, error.expected) == (f"tensor {name!r}", "no such tensor in LlamaForCausalLM")


def test_a_type_that_is_no_float_is_refused(tmp_path: Path) -> None:
    folder = _with_weights(tmp_path, lambda weights: weights.update({UP: torch.zeros(128, 64, dtype=torch.int8)}))
    with pytest.raises(UnsupportedModel, match=rf"tensor '{UP}' has type I8; supported are F64, F32, F16, BF16"):
        _load(folder)


def test_constants_of_old_checkpoints_are_let_pass(tmp_path: Path) -> None:
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    assert _load(_with_weights(tmp_path, lambda weights: weights.update({name: torch.zeros(8)}))).weights_bytes > 0


def test_a_tied_head_that_is_stored_as_well_is_let_pass(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model", tied=True)
    _change(folder, lambda weights: weights.update({"lm_head.weight": weights["model.embed_tokens.weight"].clone()}))
    assert _load(folder).decoder.head is None


@pytest.mark.parametrize("kept", [0, 4, 8, 100, 0.3, 0.9, -1])
def test_a_truncated_file_is_refused(kept: float, tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model")
    path = folder / "model.safetensors"
    data = path.read_bytes()
    length = int(kept * len(data)) if isinstance(kept, float) else kept % len(data)
    path.write_bytes(data[:length])
    with pytest.raises(BadModelFile, match=f"model.safetensors: the file: expected .*, found {length} bytes"):
        _load(folder)


def test_an_index_that_names_an_absent_shard_is_refused(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model", shards=2)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(BadModelFile, match=r"index.json: shard 'model-00002-of-00002.safetensors': expected a file"):
        _load(folder)


def test_an_index_that_points_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model", shards=2)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {UP: "../other.safetensors"}}), encoding="utf-8")
    with pytest.raises(BadModelFile, match=r"shard '../other.safetensors'"):
        _load(folder)


def test_an_index_without_map_is_refused(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model", shards=2)
    (folder / "model.safetensors.index.json").write_text("{}", encoding="utf-8")
    with pytest.raises(BadModelFile, match=r"field 'weight_map'"):
        _load(folder)


def test_two_shards_with_one_tensor_are_refused(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model", shards=2)
    first = load_file(folder / "model-00001-of-00002.safetensors")
    second = load_file(folder / "model-00002-of-00002.safetensors")
    name = next(iter(first))
    save_file(second | {name: first[name]}, folder / "model-00002-of-00002.safetensors")
    with pytest.raises(BadModelFile, match="expected one of that name, found another"):
        _load(folder)


def test_progress_rises_to_one(tiny_llama: Path) -> None:
    seen: list[float] = []
    load_model(locate_model(str(tiny_llama)), "float32", progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) > 5


def test_the_digest_names_weights_and_config(tmp_path: Path) -> None:
    one, same = make_tiny_model(tmp_path / "one"), make_tiny_model(tmp_path / "same")
    other_weights = make_tiny_model(tmp_path / "weights", seed=1)
    other_rope = make_tiny_model(tmp_path / "rope", config={"rope_theta": 5000.0})
    digests = [_load(folder).digest for folder in (one, same, other_weights, other_rope)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_weights_bytes_are_those_of_the_parameters(tiny_llama: Path) -> None:
    model = load_model(locate_model(str(tiny_llama)), "bfloat16")
    assert model.weights_bytes == sum(parameter.nbytes for parameter in model.decoder.parameters())
    assert not any(parameter.requires_grad for parameter in model.decoder.parameters())


def _with_weights(tmp_path: Path, change: Callable[[dict[str, Tensor]], object]) -> Path:
    folder = make_tiny_model(tmp_path / "model")
    _change(folder, change)
    return folder


def _change(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    weights = {name: tensor.clone() for name, tensor in load_file(folder / "model.safetensors").items()}
    change(weights)
    save_file(weights, folder / "model.safetensors")


def _refused(tmp_path: Path, change: Callable[[dict[str, Tensor]], object]) -> BadModelFile:
    with pytest.raises(BadModelFile) as error:
        _load(_with_weights(tmp_path, change))
    return error.value


def _load(folder: Path) -> LoadedModel:
    return load_model(locate_model(str(folder)), "float32")
