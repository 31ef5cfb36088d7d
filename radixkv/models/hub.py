"""Models of the Hugging Face hub, for those who have installed `huggingface_hub`."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from radixkv.errors import ConfigurationError, ModelError
from radixkv.models.files import ModelFiles
from radixkv.models.folder import is_complete_folder

_NAME: Final = re.compile(r"[\w.-]+/[\w.-]+")
_PATTERNS: Final = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.jinja"]


def is_hub_name(name: str) -> bool:
    """Whether a name has the form `owner/name`."""
    return _NAME.fullmatch(name) is not None


def locate_on_hub(name: str, *, download: bool, progress: Callable[[str], None] | None) -> ModelFiles:
    """A hub model, from the hub's local cache if it is whole there, else fetched.

    Raises ConfigurationError without `huggingface_hub`, ModelError when it cannot be had.
    """
    if importlib.util.find_spec("huggingface_hub") is None:
        raise ConfigurationError(
            f"model: {name!r} is no path here; to take it from the Hugging Face hub, run: pip install 'radixkv[hub]'"
        )
    folder = _snapshot(name, offline=True)
    if folder is None and download:
        if progress:
            progress(f"fetching {name} from the Hugging Face hub")
        folder = _snapshot(name, offline=False)
    if folder is None:
        raise ModelError(f"{name}: not in the hub's cache on this machine, and fetching it was not asked for")
    return ModelFiles(name, folder, "safetensors")


def _snapshot(name: str, *, offline: bool) -> Path | None:
    """The folder of a whole snapshot; None if it is not whole in the local cache. Raises ModelError when online."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(name, allow_patterns=_PATTERNS, local_files_only=offline))
    except (LocalEntryNotFoundError, HfHubHTTPError, HFValidationError, OSError) as error:
        if offline:
            return None
        reason = str(error).strip().splitlines()[0]
        raise ModelError(f"{name}: cannot fetch it from the Hugging Face hub: {reason}; give a path instead") from error
    if is_complete_folder(folder):
        return folder
    if offline:
        return None
    raise ModelError(f"{name}: the hub has no config.json with safetensors weights under this name; found in {folder}")
