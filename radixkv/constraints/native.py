"""llguidance with our vocabulary and our limits. Imported by the trial process too, so it needs little else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper

LIMITS: Final = LLParserLimits(
    initial_lexer_fuel=1_000_000,  # some 20 ms
    step_lexer_fuel=200_000,  # some 15 ms
    step_max_items=50_000,
    max_lexer_states=30_000,  # some 60 MB
    max_grammar_size=200_000,
    verbose_errors=False,
)


@dataclass(frozen=True)
class TokenVocabulary:
    """What constraints know of a model. `tokens[id]`: its bytes. `special_ids` match no text.

    `encode`: ids of text that goes on from other text. `eos_ids` may be empty: then a text ends only where nothing
    can follow it.
    """

    tokens: Sequence[bytes]
    special_ids: Sequence[int]
    eos_ids: Sequence[int]
    encode: Callable[[str], list[int]]


class _Source:
    """A vocabulary in the shape that llguidance asks for. Its last token is one that no model has."""

    bos_token_id = None

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        self.tokens = [*vocabulary.tokens, b""]
        nobody = len(vocabulary.tokens)
        self.eos_ids = [token_id for token_id in vocabulary.eos_ids if token_id < nobody] or [nobody]
        self.eos_token_id = self.eos_ids[0]
        self.special_token_ids = sorted({*vocabulary.special_ids, *self.eos_ids, nobody})
        self._encode = vocabulary.encode

    def __call__(self, text: bytes | str) -> list[int]:
        return self._encode(text if isinstance(text, str) else text.decode("utf-8", "replace"))


def native_tokenizer(vocabulary: TokenVocabulary) -> LLTokenizer:
    """The vocabulary as llguidance holds it, some 100 ms for 50,000 tokens."""
    source = _Source(vocabulary)
    return LLTokenizer(TokenizerWrapper(source), eos_token=source.eos_ids)


def native_matcher(tokenizer: LLTokenizer, grammar: str) -> LLMatcher:
    """A matcher at the start of a grammar. It never raises: ask it for its error."""
    return LLMatcher(tokenizer, grammar, log_level=0, limits=LIMITS)
