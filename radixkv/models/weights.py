"""The decoder's parameters from a checkpoint, one tensor at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from math import prod
from typing import Protocol, TypeAlias

import torch
from torch import Tensor

from radixkv.errors import BadModelFile
from radixkv.models.config import ModelConfig
from radixkv.models.layout import HEAD, Parameter, parameters

Progress: TypeAlias = Callable[[float], None]


class WeightSource(Protocol):
    """A checkpoint. It has its own names for tensors; `stored_name` gives them for Hugging Face's."""

    @property
    def file(self) -> str:
        """What errors name."""
        ...

    def names(self) -> Collection[str]:
        """Every tensor there is."""
        ...

    def stored_name(self, name: str) -> str:
        """The checkpoint's own name of a tensor."""
        ...

    def shape(self, stored: str) -> tuple[int, ...]:
        """Of one tensor."""
        ...

    def read_into(self, stored: str, target: Tensor) -> None:
        """Fill `target`, of the tensor's shape, converting to its dtype."""
        ...


def check_source(source: WeightSource, config: ModelConfig) -> None:
    """Raise BadModelFile unless the checkpoint has exactly the tensors that the config asks for, in their shapes."""
    names = set(source.names())
    for parameter in parameters(config):
        for piece in parameter.pieces:
            stored = source.stored_name(piece.name)
            _check_piece(source, stored, piece.shape, names)
            names.discard(stored)
    for name in sorted(names):
        if not _may_be_ignored(name, config):
            raise BadModelFile(source.file, f"tensor {name!r}", f"no such tensor in {config.architecture}", "one")


def build_parameters(
    source: WeightSource, config: ModelConfig, dtype: torch.dtype, progress: Progress | None = None
) -> Iterator[tuple[str, Tensor]]:
    """Names and tensors of the decoder's parameters. Beside them, one chunk of one tensor is in memory at a time."""
    wanted = list(parameters(config))
    total, done = sum(prod(parameter.shape) for parameter in wanted), 0
    for parameter in wanted:
        yield parameter.name, _build(source, parameter, dtype)
        done += prod(parameter.shape)
        if progress:
            progress(done / total)


def _build(source: WeightSource, parameter: Parameter, dtype: torch.dtype) -> Tensor:
    target = torch.empty(parameter.shape, dtype=dtype)
    first = 0
    for piece in parameter.pieces:
        rows = target[first : first + piece.shape[0]]
        source.read_into(source.stored_name(piece.name), rows)
        first += piece.shape[0]
    return target


def _check_piece(source: WeightSource, stored: str, shape: tuple[int, ...], names: Collection[str]) -> None:
    if stored not in names:
        raise BadModelFile(source.file, f"tensor {stored!r}", f"one of shape {shape}", "no such tensor")
    if source.shape(stored) != shape:
        raise BadModelFile(source.file, f"tensor {stored!r}", f"shape {shape}", f"shape {source.shape(stored)}")


def _may_be_ignored(name: str, config: ModelConfig) -> bool:
    """A head that is tied and stored none the less, and the constants that old checkpoints carry."""
    return (config.tied and name == HEAD) or name.endswith(".rotary_emb.inv_freq")
