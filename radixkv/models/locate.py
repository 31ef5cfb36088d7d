"""From what a user calls a model to its files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from radixkv.errors import BadModelFile, ConfigurationError, ModelError
from radixkv.models.catalog import is_present, known_model, known_models, pull
from radixkv.models.files import ModelFiles
from radixkv.models.folder import weight_files
from radixkv.models.hub import is_hub_name, locate_on_hub


def locate_model(
    name_or_path: str, *, download: bool = True, progress: Callable[[str], None] | None = None
) -> ModelFiles:
    """The files of a model: a known name, a `.gguf` file, a safetensors folder, or a hub name, in this order.

    With `download` false nothing is fetched. `progress` gets lines of text while something is.
    Raises ConfigurationError for a name that means nothing, BadModelFile for a path that is no model,
    ModelError when a model cannot be fetched.
    """
    if known_model(name_or_path):
        return _known(name_or_path, download, progress)
    path = Path(name_or_path).expanduser()
    if path.exists():
        return _on_disk(path)
    if is_hub_name(name_or_path):
        return locate_on_hub(name_or_path, download=download, progress=progress)
    known = ", ".join(model.name for model in known_models())
    raise ConfigurationError(
        f"model: got {name_or_path!r}, expected a .gguf file or model folder that exists, a known name ({known}), "
        "or a hub name such as owner/name"
    )


def _known(name: str, download: bool, progress: Callable[[str], None] | None) -> ModelFiles:
    if not download and not is_present(name):
        raise ModelError(f"{name}: not on this machine; run `radixkv models pull {name}`")
    return pull(name, progress)


def _on_disk(path: Path) -> ModelFiles:
    path = path.resolve()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise BadModelFile(str(path), "config.json", "a file", "none")
        weight_files(path)
        return ModelFiles(path.name, path, "safetensors")
    if path.suffix != ".gguf":
        raise BadModelFile(
            str(path), "the model", "a .gguf file or a safetensors folder", f"a file {path.suffix or 'without suffix'}"
        )
    return ModelFiles(path.stem, path, "gguf")
