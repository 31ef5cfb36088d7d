"""What a model's files say about its tokens, whichever format they are in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import tokenizers


@dataclass(frozen=True)
class AddedToken:
    """A token that is recognised by its spelling, before any merge.

    `special`: left out of decoded text (end of turn, BOS); others, such as `<think>`, are shown.
    `lstrip` / `rstrip`: swallows whitespace before / after. `single_word`: not inside a word.
    """

    token_id: int
    text: str
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False


@dataclass(frozen=True)
class PlainEncoders:
    """Encoders of plain text by what comes before it.

    They differ only in vocabularies that put a space before the first word: at the start of a prompt, some
    also after an added token, never where text goes on.
    """

    at_start: tokenizers.Tokenizer
    after_token: tokenizers.Tokenizer
    going_on: tokenizers.Tokenizer


@dataclass(frozen=True)
class Vocabulary:
    """Everything that a Tokenizer is made of.

    `plain` encodes text in which no added token is known. `token_bytes[id]` are the bytes a token stands for,
    so its length is the number of ids. `strips_first_space`: one space at the very start of decoded text
    belongs to the tokenizer, not to the text.
    """

    name: str
    plain: PlainEncoders
    token_bytes: tuple[bytes, ...]
    added: tuple[AddedToken, ...]
    bos_id: int | None
    adds_bos: bool
    strips_first_space: bool = False
    chat_template: str | None = None
    special_texts: Mapping[str, str] = field(default_factory=dict)  # variables of the template, such as bos_token


def byte_symbols() -> dict[str, int]:
    """The printable character that stands for each byte in a byte-level vocabulary (GPT-2's `bytes_to_unicode`)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


_SYMBOL_TO_LATIN1: Final = {ord(symbol): byte for symbol, byte in byte_symbols().items()}


def byte_level_bytes(token: str) -> bytes:
    """Bytes of a token spelled in byte symbols; a token with any other character stands for its own text."""
    if any(ord(char) not in _SYMBOL_TO_LATIN1 for char in token):
        return token.encode()
    return token.translate(_SYMBOL_TO_LATIN1).encode("latin-1")


def surviving_merges(merges: Iterable[tuple[str, str]], entries: Mapping[str, int]) -> list[tuple[str, str]]:
    """The merges whose parts and result are all entries, so that none leads to a token that is no entry."""
    return [(left, right) for left, right in merges if left in entries and right in entries and left + right in entries]
