"""A vocabulary rebuilt from GGUF metadata (ggml/docs/gguf.md, section "Tokenizer")."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, TypeVar

import tokenizers
from tokenizers.models import BPE

from radixkv.errors import BadModelFile, UnsupportedModel
from radixkv.tokenizer.pre_tokenizers import PreTokenizerKind, pre_tokenizer_kind
from radixkv.tokenizer.vocabulary import (
    AddedToken,
    PlainEncoders,
    Vocabulary,
    byte_level_bytes,
    surviving_merges,
)

_MODELS: Final = {
    "llama": "SentencePiece BPE",
    "t5": "SentencePiece Unigram",
    "bert": "WordPiece",
    "rwkv": "RWKV",
    "plamo2": "PLaMo-2",
}
_NAMED_IDS: Final = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "unk_token": "unknown_token_id",
    "sep_token": "seperator_token_id",  # spelled so in the format
    "pad_token": "padding_token_id",
    "cls_token": "cls_token_id",
    "mask_token": "mask_token_id",
}
_PADDING: Final = re.compile(r"\[PAD\d+\]")  # what converters name the rows that only fill up the head
T = TypeVar("T")


class TokenType(IntEnum):
    """`tokenizer.ggml.token_type`."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


def gguf_vocabulary(name: str, metadata: Mapping[str, Any]) -> Vocabulary:
    """Build from `tokenizer.*` keys.

    Raises UnsupportedModel (a vocabulary that is not byte-level BPE, an unknown pre-tokenizer) and
    BadModelFile (keys that are missing or contradict each other).
    """
    _check_model(name, _required(name, metadata, "tokenizer.ggml.model", str))
    kind = pre_tokenizer_kind(name, str(metadata.get("tokenizer.ggml.pre") or "default"))
    tokens, types = _tokens(name, metadata)
    entries = {token: i for i, token in enumerate(tokens) if types[i] in (TokenType.NORMAL, TokenType.BYTE)}
    plain = _plain_tokenizer(entries, _merges(name, metadata), kind)
    added = tuple(
        AddedToken(i, tokens[i], special=types[i] != TokenType.USER_DEFINED)
        for i in range(len(tokens))
        if types[i] in (TokenType.CONTROL, TokenType.USER_DEFINED, TokenType.UNKNOWN) and tokens[i]
    )
    special_texts = _special_texts(name, metadata, tokens)
    bos_id = metadata.get("tokenizer.ggml.bos_token_id")
    adds_bos = metadata.get("tokenizer.ggml.add_bos_token", kind.adds_bos)
    template = metadata.get("tokenizer.chat_template")
    return Vocabulary(
        name=name,
        plain=PlainEncoders(plain, plain, plain),
        token_bytes=_token_bytes(tokens, types),
        added=added,
        bos_id=None if bos_id is None else int(bos_id),
        adds_bos=bool(adds_bos) and bos_id is not None,
        chat_template=None if template is None else str(template),
        special_texts=special_texts,
    )


def _check_model(name: str, model: str) -> None:
    if model == "gpt2":
        return
    described = f" ({_MODELS[model]})" if model in _MODELS else ""
    raise UnsupportedModel(
        f"{name}: vocabulary {model!r}{described} (tokenizer.ggml.model) is not supported; supported: 'gpt2' "
        "(byte-level BPE). A Hugging Face folder of the same model, with its tokenizer.json, may work"
    )


def _tokens(name: str, metadata: Mapping[str, Any]) -> tuple[list[str], Sequence[int]]:
    """Texts and types by id, without the rows at the end that only pad the head."""
    tokens = list(_required(name, metadata, "tokenizer.ggml.tokens", list))
    types = list(metadata.get("tokenizer.ggml.token_type") or [TokenType.NORMAL] * len(tokens))
    if len(types) != len(tokens):
        raise BadModelFile(name, "tokenizer.ggml.token_type", f"{len(tokens)} entries", f"{len(types)}")
    while tokens and types[-1] in (TokenType.UNUSED, TokenType.USER_DEFINED) and _PADDING.fullmatch(tokens[-1]):
        tokens.pop()
        types.pop()
    return tokens, types


def _merges(name: str, metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    lines: Sequence[str] = _required(name, metadata, "tokenizer.ggml.merges", list)
    borders = [line.find(" ", 1) for line in lines]
    if -1 in borders:
        at = borders.index(-1)
        raise BadModelFile(name, f"tokenizer.ggml.merges[{at}]", "two tokens with a space between", repr(lines[at]))
    return [(line[:border], line[border + 1 :]) for line, border in zip(lines, borders, strict=True)]


def _plain_tokenizer(
    entries: dict[str, int], merges: list[tuple[str, str]], kind: PreTokenizerKind
) -> tokenizers.Tokenizer:
    model = BPE(vocab=entries, merges=surviving_merges(merges, entries), ignore_merges=kind.ignore_merges)
    plain = tokenizers.Tokenizer(model)
    plain.pre_tokenizer = kind.build()
    return plain


def _token_bytes(tokens: Sequence[str], types: Sequence[int]) -> tuple[bytes, ...]:
    spelled = (TokenType.NORMAL, TokenType.BYTE)
    return tuple(
        byte_level_bytes(token) if kind in spelled else token.encode()
        for token, kind in zip(tokens, types, strict=True)
    )


def _special_texts(name: str, metadata: Mapping[str, Any], tokens: Sequence[str]) -> dict[str, str]:
    texts = {}
    for variable, key in _NAMED_IDS.items():
        token_id = metadata.get(f"tokenizer.ggml.{key}")
        if token_id is None:
            continue
        if not 0 <= token_id < len(tokens):
            raise BadModelFile(name, f"tokenizer.ggml.{key}", f"an id below {len(tokens)}", str(token_id))
        texts[variable] = tokens[token_id]
    return texts


def _required(name: str, metadata: Mapping[str, Any], key: str, kind: type[T]) -> T:
    value = metadata.get(key)
    if not isinstance(value, kind):
        found = "nothing" if value is None else type(value).__name__
        raise BadModelFile(name, key, f"a value of kind {kind.__name__}", found)
    return value
