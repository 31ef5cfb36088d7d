"""Where a model's files are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class ModelFiles:
    """A model on this machine. `path` is a `.gguf` file, or a folder in the Hugging Face format."""

    name: str
    path: Path
    kind: Literal["gguf", "safetensors"]
