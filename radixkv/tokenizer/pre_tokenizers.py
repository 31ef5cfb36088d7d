"""How text is cut into words before merging: the kinds that GGUF names in `tokenizer.ggml.pre`.

A kind is a sequence of patterns, each of which isolates its matches inside what the ones before
left whole, then byte-level symbols. The patterns are those of the models' own tokenizer.json; which
name means which pattern is llama.cpp's convention (src/llama-vocab.cpp), with its defaults for
`ignore_merges` (a whole word that is a token is taken without merging) and for BOS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tokenizers import Regex
from tokenizers.pre_tokenizers import ByteLevel, PreTokenizer, Sequence, Split

from radixkv.errors import UnsupportedModel

_GPT2: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_TAIL: Final = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_CONTRACTION: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER: Final = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER: Final = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_ASCII_PUNCTUATION: Final = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"""


def _cl100k(digits: str) -> str:
    return rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_TAIL}"


def _cased(contraction: str, digits: str) -> str:
    """Words cut where lower case turns to upper case (o200k, tekken)."""
    lead = r"[^\r\n\p{L}\p{N}]?"
    words = f"{lead}{_UPPER}*{_LOWER}+{contraction}|{lead}{_UPPER}+{_LOWER}*{contraction}"
    return rf"{words}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_TAIL}"


@dataclass(frozen=True)
class PreTokenizerKind:
    """One kind: its patterns in order, and what else the name implies."""

    patterns: tuple[str, ...]
    ignore_merges: bool = False
    adds_bos: bool = False

    def build(self) -> PreTokenizer:
        """The pre-tokenizer, byte-level symbols last."""
        splits = [Split(Regex(pattern), "isolated") for pattern in self.patterns]
        return Sequence([*splits, ByteLevel(add_prefix_space=False, use_regex=False)])


_DEEPSEEK: Final = PreTokenizerKind(
    (
        r"\p{N}{1,3}",
        "[一-龥぀-ゟ゠-ヿ]+",
        rf"{_ASCII_PUNCTUATION}[A-Za-z]+|[^\r\n\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+"
        rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_TAIL}",
    )
)
_KINDS: Final[tuple[tuple[str, PreTokenizerKind], ...]] = (
    (
        "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum modern-bert mpt olmo jais exaone4 "
        "trillion granite-docling",
        PreTokenizerKind((_GPT2,)),
    ),
    ("smollm starcoder refact command-r codeshell exaone minerva-7b", PreTokenizerKind((r"\p{N}", _GPT2))),
    (
        "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2",
        PreTokenizerKind((_cl100k(r"\p{N}{1,3}"),), ignore_merges=True, adds_bos=True),
    ),
    ("dbrx smaug-bpe glm4 chatglm-bpe", PreTokenizerKind((_cl100k(r"\p{N}{1,3}"),))),
    (
        "qwen2 deepseek-r1-qwen kormo megrez stablelm2 hunyuan solar-open grok-2",
        PreTokenizerKind((_cl100k(r"\p{N}"),)),
    ),
    ("tekken", PreTokenizerKind((_cased("", r"\p{N}"),), ignore_merges=True, adds_bos=True)),
    ("gpt-4o llama4 minimax-m2", PreTokenizerKind((_cased(f"{_CONTRACTION}?", r"\p{N}{1,3}"),))),
    ("deepseek-v3 hunyuan-dense", _DEEPSEEK),
    ("falcon", PreTokenizerKind((r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]"))),
    ("default", PreTokenizerKind((r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"))),
)


def _by_name() -> Iterator[tuple[str, PreTokenizerKind]]:
    for names, kind in _KINDS:
        for name in names.split():
            yield name, kind


PRE_TOKENIZER_KINDS: Final[Mapping[str, PreTokenizerKind]] = MappingProxyType(dict(_by_name()))


def pre_tokenizer_kind(file: str, name: str) -> PreTokenizerKind:
    """The kind of that name; raises UnsupportedModel, naming the file and the kinds there are."""
    kind = PRE_TOKENIZER_KINDS.get(name)
    if kind is None:
        known = ", ".join(sorted(PRE_TOKENIZER_KINDS))
        raise UnsupportedModel(
            f"{file}: pre-tokenizer {name!r} (tokenizer.ggml.pre) is not supported; supported: {known}"
        )
    return kind
