"""The decoder's parameters, kept in the cache folder as one safetensors file that is mapped, not read.

The file is written tensor by tensor (safetensors' own writer wants them all in memory). Its header
carries a checksum of the data, so that a damaged file is noticed and made again.
"""

from __future__ import annotations

import json
import logging
import zlib
from math import prod
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from radixkv.models.cache_folder import atomic_file
from radixkv.models.config import ModelConfig
from radixkv.models.gguf_file import converted_folder
from radixkv.models.layout import parameters
from radixkv.models.weights import Progress, WeightSource, build_parameters

FORMAT_VERSION: Final = 1
_DTYPE_NAMES: Final = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16"}
_ALIGNMENT: Final = 64  # bytes: a cache line, so that mapped tensors start well
_CHUNK: Final = 1 << 22
_LOG: Final = logging.getLogger(__name__)


def converted_parameters(
    source: WeightSource, config: ModelConfig, dtype: torch.dtype, digest: str, progress: Progress | None
) -> dict[str, Tensor]:
    """The parameters of the file with this digest: mapped from the copy in the cache folder, which is made if need be.

    Where the cache folder cannot be written the parameters are built in memory.
    """
    path = converted_folder(digest) / f"{str(dtype).removeprefix('torch.')}-v{FORMAT_VERSION}.safetensors"
    mapped = _map(path, config)
    if mapped is not None:
        return mapped
    try:
        _write(path, source, config, dtype, progress)
    except OSError as error:
        _LOG.warning("cannot keep the converted weights in %s (%s): every start will convert them anew", path, error)
        return dict(build_parameters(source, config, dtype, progress))
    return _map(path, config) or dict(build_parameters(source, config, dtype, progress))


def _write(
    path: Path, source: WeightSource, config: ModelConfig, dtype: torch.dtype, progress: Progress | None
) -> None:
    with atomic_file(path) as file:
        checksum = 0
        file.write(_header(config, dtype, checksum))
        for _, tensor in build_parameters(source, config, dtype, progress):
            data = tensor.view(-1).view(torch.uint8).numpy().data
            checksum = zlib.crc32(data, checksum)
            file.write(data)
        file.seek(0)
        file.write(_header(config, dtype, checksum))


def _header(config: ModelConfig, dtype: torch.dtype, checksum: int) -> bytes:
    """The file's start, as the safetensors format lays it down; as long for every checksum."""
    entries: dict[str, Any] = {"__metadata__": {"checksum": f"{checksum:08x}"}}
    offset = 0
    for parameter in parameters(config):
        end = offset + prod(parameter.shape) * dtype.itemsize
        entries[parameter.name] = {
            "dtype": _DTYPE_NAMES[dtype],
            "shape": parameter.shape,
            "data_offsets": (offset, end),
        }
        offset = end
    text = json.dumps(entries).encode()
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def _map(path: Path, config: ModelConfig) -> dict[str, Tensor] | None:
    """The parameters, as views of the mapped file; None if it is missing, damaged, or not for this config."""
    try:
        with safe_open(path, framework="pt") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118  no mapping
            if shapes != {parameter.name: parameter.shape for parameter in parameters(config)}:
                return None
            if (file.metadata() or {}).get("checksum") != f"{_data_checksum(path):08x}":
                return None
            return {name: file.get_tensor(name) for name in shapes}
    except (SafetensorError, OSError):
        return None


def _data_checksum(path: Path) -> int:
    """CRC-32 of everything behind the header."""
    checksum = 0
    with path.open("rb") as file:
        file.seek(8 + int.from_bytes(file.read(8), "little"))
        while chunk := file.read(_CHUNK):
            checksum = zlib.crc32(chunk, checksum)
    return checksum
