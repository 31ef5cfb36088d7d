"""Weights of a Hugging Face safetensors folder."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError, safe_open
from torch import Tensor

from radixkv.errors import BadModelFile, UnsupportedModel
from radixkv.models.folder import weight_files

_FLOATS: Final = ("F64", "F32", "F16", "BF16")


class SafetensorsSource:
    """The tensors of one file or of several shards.

    A file is mapped anew for each tensor, so that the pages of those already read leave memory.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file_of: dict[str, Path] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        for path in weight_files(folder):
            self._read_header(path)

    @property
    def file(self) -> str:
        """The folder."""
        return str(self._folder)

    def names(self) -> Collection[str]:
        """Every tensor of every file."""
        return self._file_of.keys()

    def stored_name(self, name: str) -> str:
        """The name itself: this is Hugging Face's own format."""
        return name

    def shape(self, stored: str) -> tuple[int, ...]:
        """Of one tensor."""
        return self._shapes[stored]

    def read_into(self, stored: str, target: Tensor) -> None:
        """Copy one tensor, converted to the target's dtype."""
        with safe_open(self._file_of[stored], framework="pt") as file:
            target.copy_(file.get_tensor(stored))

    def _read_header(self, path: Path) -> None:
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118  not a mapping
                    self._take(path, name, file.get_slice(name))
        except (SafetensorError, OSError) as error:
            found = f"{path.stat().st_size} bytes that do not fit it ({error})"
            raise BadModelFile(
                str(path), "the file", "a safetensors header and all the data it tells of", found
            ) from error

    def _take(self, path: Path, name: str, entry: Any) -> None:
        if name in self._file_of:
            raise BadModelFile(
                str(path), f"tensor {name!r}", "one of that name", f"another in {self._file_of[name].name}"
            )
        if entry.get_dtype() not in _FLOATS:
            raise UnsupportedModel(
                f"{path}: tensor {name!r} has type {entry.get_dtype()}; supported are {', '.join(_FLOATS)}"
            )
        self._file_of[name] = path
        self._shapes[name] = tuple(entry.get_shape())
