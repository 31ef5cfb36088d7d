"""Tokenizer files for tests: byte-level (GPT-2's kind) and Metaspace with byte tokens (Llama 2's kind)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE

from chat_templates import SPECIALS
from radixkv.tokenizer.vocabulary import byte_symbols

_MERGES: Final = (
    "t h,th e,Ġ the,i n,e r,a n,r e,Ġ a,u s,us er,o n,i s,a s,as s,ass is,assis t,t an,assist an,"
    "c h,i m,s t,Ċ Ċ,Ġ Ġ,th in,thin k,e s,< |,| >"
)
MERGES: Final = tuple((left, right) for left, _, right in (pair.partition(" ") for pair in _MERGES.split(",")))


def byte_level_tokenizer(
    added: Sequence[AddedToken] = (), *, add_bos: bool = False, ignore_merges: bool = False
) -> Tokenizer:
    """A byte-level BPE tokenizer: byte b has id b in the order of byte symbols, then merges, then added tokens."""
    entries = byte_symbols()
    usable = []
    for left, right in MERGES:
        if left in entries and right in entries:
            entries.setdefault(left + right, len(entries))
            usable.append((left, right))
    tokenizer = Tokenizer(BPE(vocab=entries, merges=usable, ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([*(AddedToken(text, special=True, normalized=False) for text in SPECIALS), *added])
    if add_bos:
        bos = ("<|bos|>", tokenizer.token_to_id("<|bos|>"))
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<|bos|> $A", pair="<|bos|> $A $B", special_tokens=[bos]
        )
    return tokenizer


def metaspace_tokenizer(*, legacy: bool, prepend: str = "first") -> Tokenizer:
    """A BPE tokenizer with `▁` for a space and <0x00>..<0xFF> for what has no token, ids as in Llama 2.

    `legacy`: spaces are made by normalizers and undone by replacements; otherwise Metaspace does both.
    """
    entries = {"<unk>": 0, "<s>": 1, "</s>": 2} | {f"<0x{byte:02X}>": 3 + byte for byte in range(256)}
    for text in ("▁", *"abcdefghijklmnopqrstuvwxyz<>/0x", "th", "▁th", "▁the", "s>", "</", "in", "▁▁", "<s"):
        entries.setdefault(text, len(entries))
    merges = [("t", "h"), ("▁", "th"), ("▁th", "e"), ("i", "n"), ("▁", "▁"), ("s", ">"), ("<", "/"), ("</", "s>")]
    tokenizer = Tokenizer(BPE(vocab=entries, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    if legacy:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        tokenizer.decoder = decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        )
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend, split=False)
        tokenizer.decoder = decoders.Sequence(
            [decoders.ByteFallback(), decoders.Metaspace(prepend_scheme=prepend, split=False)]
        )
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in ("<unk>", "<s>", "</s>")]
    )
    return tokenizer


def split_tokenizer(pattern: str) -> Tokenizer:
    """Like `byte_level_tokenizer`, cut by a pattern of its own first."""
    tokenizer = byte_level_tokenizer()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer


def write_tokenizer(folder: Path, tokenizer: Tokenizer, **config: Any) -> Path:
    """A model folder with tokenizer files only."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"bos_token": "<|bos|>", "eos_token": "<|eos|>"} | config
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder
