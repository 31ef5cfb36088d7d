"""From a model's files to a decoder that can compute."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from radixkv.models.cache_folder import file_digest
from radixkv.models.compute_type import resolve_dtype
from radixkv.models.config import ModelConfig
from radixkv.models.decoder import Decoder
from radixkv.models.files import ModelFiles
from radixkv.models.folder import weight_files
from radixkv.models.read_config import read_config
from radixkv.models.weights import Progress, build_parameters, check_source
from radixkv_kernels.cpu_decoder import CPUDecoder


@dataclass(frozen=True)
class LoadedModel:
    """A decoder with its weights. `digest` (SHA-256, hex) names the weights, whatever type they compute in."""

    files: ModelFiles
    config: ModelConfig
    decoder: Decoder | CPUDecoder
    digest: str
    dtype: torch.dtype
    weights_bytes: int


def load_model(files: ModelFiles, dtype: str = "auto", *, progress: Progress | None = None) -> LoadedModel:
    """Load a model's weights into a decoder on the CPU.

    `dtype`: float32, bfloat16, float16, or auto (bfloat16 where the CPU has units for it). `progress`
    gets the fraction done, up to 1.0. Memory grows by the weights and a few MB beside them.
    Raises BadModelFile, UnsupportedModel, ConfigurationError.
    """
    compute_type = resolve_dtype(dtype)
    config = read_config(files)
    if files.kind == "gguf":
        digest, state = _gguf_state(files.path, config, compute_type, progress)
    else:
        digest, state = _folder_state(files.path, config, compute_type, progress)
    decoder = _decoder(config, state)
    if progress:
        progress(1.0)
    return LoadedModel(files, config, decoder, digest, compute_type, sum(tensor.nbytes for tensor in state.values()))


def _gguf_state(
    path: Path, config: ModelConfig, dtype: torch.dtype, progress: Progress | None
) -> tuple[str, dict[str, Tensor]]:
    from radixkv.models.converted import converted_parameters
    from radixkv.models.gguf_source import GGUFSource

    digest = file_digest(path)
    source = GGUFSource(path, config)
    check_source(source, config)
    return digest, converted_parameters(source, config, dtype, digest, progress)


def _folder_state(
    folder: Path, config: ModelConfig, dtype: torch.dtype, progress: Progress | None
) -> tuple[str, dict[str, Tensor]]:
    from radixkv.models.safetensors_source import SafetensorsSource

    source = SafetensorsSource(folder)
    check_source(source, config)
    return _folder_digest(folder), dict(build_parameters(source, config, dtype, progress))


def _folder_digest(folder: Path) -> str:
    """Of the config and every weight file, names included."""
    files = (folder / "config.json", *weight_files(folder))
    lines = (f"{file_digest(file)}  {file.name}\n" for file in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _decoder(config: ModelConfig, state: Mapping[str, Tensor]) -> Decoder:
    with torch.device("meta"):
        decoder = Decoder(config)
    decoder.load_state_dict(state, assign=True)
    return decoder.eval()
