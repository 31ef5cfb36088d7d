"""The files of a Hugging Face safetensors folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from radixkv.errors import BadModelFile
from radixkv.models.fields import Fields, read_json_object

_SINGLE: Final = "model.safetensors"
_INDEX: Final = "model.safetensors.index.json"


def weight_files(folder: Path) -> tuple[Path, ...]:
    """The folder's weight files: one, or the shards that its index names. Raises BadModelFile if any is absent."""
    if (folder / _INDEX).is_file():
        return _shards(folder)
    if (folder / _SINGLE).is_file():
        return (folder / _SINGLE,)
    raise BadModelFile(str(folder), "the weights", f"{_SINGLE} or {_INDEX}", "neither")


def is_complete_folder(folder: Path) -> bool:
    """Whether config and all weight files are there."""
    try:
        return (folder / "config.json").is_file() and bool(weight_files(folder))
    except BadModelFile:
        return False


def _shards(folder: Path) -> tuple[Path, ...]:
    index = folder / _INDEX
    weight_map = Fields(str(index), read_json_object(index)).group("weight_map").values
    names = sorted({str(name) for name in weight_map.values()})
    if not names:
        raise BadModelFile(str(index), "field 'weight_map'", "the shard of each tensor", "nothing")
    for name in names:
        if Path(name).name != name or not (folder / name).is_file():
            raise BadModelFile(str(index), f"shard {name!r}", "a file in the same folder", "none")
    return tuple(folder / name for name in names)
