"""A model's tokenizer from its files."""

from __future__ import annotations

from radixkv.models.files import ModelFiles
from radixkv.models.gguf_file import gguf_metadata
from radixkv.tokenizer.folder_vocabulary import folder_vocabulary
from radixkv.tokenizer.gguf_vocabulary import gguf_vocabulary
from radixkv.tokenizer.tokenizer import Tokenizer


def load_tokenizer(files: ModelFiles) -> Tokenizer:
    """The tokenizer of a model: from tokenizer.json of a folder, or rebuilt from the metadata of a GGUF file.

    Raises UnsupportedModel for a vocabulary that we do not have and BadModelFile for files that are broken.
    """
    if files.kind == "gguf":
        return Tokenizer(gguf_vocabulary(str(files.path), gguf_metadata(files.path)))
    return Tokenizer(folder_vocabulary(files.name, files.path))
