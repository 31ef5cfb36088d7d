"""The real default model: weights and text as transformers has them from the same file, and memory while loading."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from decoder_runs import SequenceRun
from radixkv.models import LoadedModel, ModelFiles, load_model
from radixkv.models.layout import parameters

pytestmark = pytest.mark.model

PROMPTS = (  # ids of SmolLM2's tokenizer
    (504, 3575, 282, 4649, 314),
    (1, 4093, 198, 1780, 314, 216, 34, 1232, 216, 34, 47, 2, 198, 1, 520, 9531, 198),
    (6403, 9166, 253, 655, 28, 665, 436, 253),
    (1604, 14020, 28, 15106, 284, 5655, 359, 260, 1135, 3574),
    tuple(range(1000, 1040)),
)
MEMORY_PROBE = """
import json, sys
import torch
import gguf, safetensors, radixkv.models.loading, radixkv.models.converted, radixkv.models.gguf_source
from pathlib import Path
from radixkv.models import ModelFiles, load_model

def peak():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))

before = peak()
model = load_model(ModelFiles("model", Path(sys.argv[1]), sys.argv[2]), sys.argv[3])
total = sum(float(parameter.sum(dtype=torch.float32)) for parameter in model.decoder.parameters())
print(json.dumps({"grown": peak() - before, "weights": model.weights_bytes}))
"""


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Steps this small gain little from more, and lose much where other work runs beside the tests."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def ours(smollm2_files: ModelFiles) -> LoadedModel:
    return load_model(smollm2_files, "float32")


@pytest.fixture(scope="module")
def theirs(smollm2_files: ModelFiles) -> LlamaForCausalLM:
    """transformers' model with transformers' own reading of the GGUF."""
    path = str(smollm2_files.path)
    settings = load_gguf_checkpoint(path)["config"]
    with torch.device("meta"):
        model = LlamaForCausalLM(LlamaConfig(**settings, attn_implementation="eager"))
    tensors = load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)["tensors"]
    model.load_state_dict(tensors, assign=True, strict=False)
    model.tie_weights()
    model.model.rotary_emb = type(model.model.rotary_emb)(model.config)  # its constants are in no file
    return model.eval()


def test_weights_equal_transformers_reading(ours: LoadedModel, theirs: LlamaForCausalLM) -> None:
    state = theirs.state_dict()
    for parameter in parameters(ours.config):
        expected = torch.cat([state[piece.name] for piece in parameter.pieces])
        assert torch.equal(ours.decoder.get_parameter(parameter.name), expected), parameter.name


@pytest.mark.parametrize("number", range(len(PROMPTS)))
def test_the_greedy_text_equals_that_of_transformers(number: int, ours: LoadedModel, theirs: LlamaForCausalLM) -> None:
    prompt = PROMPTS[number]
    text = SequenceRun(ours).greedy(prompt, 32)
    with torch.inference_mode():
        logits = theirs(torch.tensor([[*prompt, *text[:-1]]])).logits[0, len(prompt) - 1 :]  # (32, vocab_size)
    assert logits.argmax(dim=-1).tolist() == text


def test_the_config_is_that_of_the_file(ours: LoadedModel) -> None:
    config = ours.config
    assert (config.num_layers, config.num_heads, config.num_kv_heads, config.head_dim) == (30, 9, 3, 64)
    assert (config.vocab_size, config.hidden_size, config.intermediate_size) == (49152, 576, 1536)
    assert (config.eos_token_ids, config.bos_token_id, config.max_context) == ((2,), 1, 8192)
    assert config.tied
    assert ours.weights_bytes == 134_515_008 * 4


def test_memory_while_loading_stays_near_the_weights(
    smollm2_files: ModelFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cold (read, convert, map) and warm (map), over the level after imports."""
    monkeypatch.setenv("RADIXKV_CACHE", str(tmp_path))
    for state in ("cold", "warm"):
        used = _memory(smollm2_files.path, "gguf", "bfloat16")
        print(f"{state}: grown by {used['grown'] / 1e6:.0f} MB for {used['weights'] / 1e6:.0f} MB of weights")
        assert used["grown"] < 1.3 * used["weights"] + 200e6


def test_memory_while_loading_a_folder_stays_near_the_weights(ours: LoadedModel, tmp_path: Path) -> None:
    """The same weights as a safetensors folder in fp32, loaded in bf16."""
    _write_folder(ours, tmp_path)
    used = _memory(tmp_path, "safetensors", "bfloat16")
    print(f"folder: grown by {used['grown'] / 1e6:.0f} MB for {used['weights'] / 1e6:.0f} MB of weights")
    assert used["grown"] < 1.3 * used["weights"] + 200e6


def _memory(path: Path, kind: str, dtype: str) -> dict[str, int]:
    command = [sys.executable, "-c", MEMORY_PROBE, str(path), kind, dtype]
    result: dict[str, int] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result


def _write_folder(model: LoadedModel, folder: Path) -> None:
    from safetensors.torch import save_file

    weights: dict[str, torch.Tensor] = {}
    for parameter in parameters(model.config):
        pieces = model.decoder.get_parameter(parameter.name).split([piece.shape[0] for piece in parameter.pieces])
        weights |= {piece.name: rows.clone() for piece, rows in zip(parameter.pieces, pieces, strict=True)}
    save_file(weights, folder / "model.safetensors")
    config = model.config
    settings = {
        "architectures": [config.architecture],
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "max_position_embeddings": config.max_context,
        "rope_theta": config.rope.theta,
        "tie_word_embeddings": config.tied,
    }
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
