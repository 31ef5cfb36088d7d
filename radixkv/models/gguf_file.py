"""GGUF files: metadata and the places of the tensors, read once per file and kept in the cache folder.

The `gguf` package's reader takes seconds on a large vocabulary, so what it finds is stored as JSON
under the file's digest; later reads take milliseconds and do not import the package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, Final

import msgspec

from radixkv.errors import BadModelFile, UnsupportedModel
from radixkv.models.cache_folder import cache_folder, file_digest, read_sealed, write_sealed

METADATA_VERSION: Final = 1
_FREQUENCIES: Final = "rope_freqs.weight"


class GGUFTensor(msgspec.Struct, frozen=True):
    """Where a tensor lies: its type's name, its shape with the slowest dimension first, bytes from the file's start."""

    type: str
    shape: tuple[int, ...]
    offset: int
    num_bytes: int


class GGUFContents(msgspec.Struct, frozen=True):
    """Everything in a GGUF but the weights themselves."""

    digest: str
    metadata: dict[str, Any]
    tensors: dict[str, GGUFTensor]
    rope_factors: tuple[float, ...] | None = None


def gguf_metadata(path: Path) -> Mapping[str, object]:
    """The metadata of a GGUF by key: numbers, flags, strings, and lists of them. Raises BadModelFile."""
    return gguf_contents(path).metadata


def gguf_contents(path: Path) -> GGUFContents:
    """All of a GGUF but its weights, from the cache folder where it is there. Raises BadModelFile, UnsupportedModel."""
    try:
        digest = file_digest(path)
    except OSError as error:
        raise BadModelFile(str(path), "the file", "a GGUF", error.strerror or str(error)) from error
    kept = converted_folder(digest) / f"metadata-v{METADATA_VERSION}.json"
    contents = read_sealed(kept, GGUFContents)
    if contents is None:
        contents = _read(path, digest)
        try:
            write_sealed(kept, contents)
        except OSError:  # a cache that cannot be written costs time, nothing else
            return contents
    return contents


def converted_folder(digest: str) -> Path:
    """Where what was made from the file with this digest is kept."""
    return cache_folder() / "converted" / digest


def _read(path: Path, digest: str) -> GGUFContents:
    import gguf  # takes 0.2 s, and is needed once per file

    try:
        reader = _reader_class()(path)
        tensors = {tensor.name: _place(tensor) for tensor in reader.tensors}
        metadata = {key: field.contents() for key, field in reader.fields.items() if not key.startswith("GGUF.")}
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError) as error:
        found = f"{os.path.getsize(path)} bytes that end early or contradict themselves ({error})"
        raise BadModelFile(str(path), "the file's header", "a GGUF of version 2 or 3", found) from error
    if reader.endianess is not gguf.GGUFEndian.LITTLE:
        raise UnsupportedModel(f"{path}: big-endian GGUF files are not supported")
    factors = next((tensor.data for tensor in reader.tensors if tensor.name == _FREQUENCIES), None)
    return GGUFContents(digest, metadata, tensors, None if factors is None else tuple(map(float, factors)))


def _place(tensor: Any) -> GGUFTensor:
    shape = tuple(int(size) for size in reversed(tensor.shape))
    return GGUFTensor(tensor.tensor_type.name, shape, int(tensor.data_offset), int(tensor.n_bytes))


def _reader_class() -> Any:
    """The package's reader, made to name the tensor that is unknown to it or cut off."""
    import gguf

    class Reader(gguf.GGUFReader):
        def __init__(self, path: Path) -> None:
            self._path = path
            super().__init__(path)

        def _build_tensors(self, start_offs: int, fields: list[Any]) -> None:
            for field in fields:
                _check_place(self._path, start_offs, len(self.data), field.parts)
            super()._build_tensors(start_offs, fields)

    return Reader


def _check_place(path: Path, start: int, file_size: int, parts: Any) -> None:
    import gguf

    _, name, _, dims, type_id, offset = parts
    subject = f"tensor {bytes(name).decode()!r}"
    try:
        tensor_type = gguf.GGMLQuantizationType(type_id[0])
    except ValueError:
        raise UnsupportedModel(f"{path}: {subject} has the unknown type number {type_id[0]}") from None
    block_size, type_size = gguf.GGML_QUANT_SIZES[tensor_type]
    end = start + int(offset[0]) + prod(map(int, dims)) // block_size * type_size
    if end > file_size:
        raise BadModelFile(str(path), subject, f"a file of at least {end} bytes", f"{file_size} bytes")
