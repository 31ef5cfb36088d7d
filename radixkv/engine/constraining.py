"""Constraints on the callers' side: checked, compiled and refused here, before the engine's thread sees them."""

from __future__ import annotations

import asyncio

from radixkv.constraint import Choice, Constrained, Constraint, JsonSchema, Lark, Regex
from radixkv.constraints import ConstraintCompiler, TokenVocabulary
from radixkv.errors import InvalidRequest
from radixkv.models import LoadedModel
from radixkv.request import SamplingParams
from radixkv.tokenizer import Segment, Tokenizer


def token_vocabulary(model: LoadedModel, tokenizer: Tokenizer) -> TokenVocabulary:
    """What constraints know of a model. Special tokens match no text; text is tokenised as going on from a token."""
    plain = next((i for i in range(tokenizer.vocab_size) if i not in tokenizer.special_ids), None)

    def encode(text: str) -> list[int]:
        return tokenizer.encode_segments([Segment(text, trusted=False)], previous=plain).tolist()

    tokens = [tokenizer.token_bytes(token_id) for token_id in range(tokenizer.vocab_size)]
    return TokenVocabulary(tokens, sorted(tokenizer.special_ids), model.config.eos_token_ids, encode)


def check_constraint(value: object) -> None:
    """Raises InvalidRequest unless it is a constraint or None."""
    if value is not None and not isinstance(value, Regex | JsonSchema | Lark | Choice):
        raise InvalidRequest("constraint", value, "a Regex, JsonSchema, Lark or Choice of radixkv, or None")


async def compiled(
    compiler: ConstraintCompiler, constraint: Constraint | None, sampling: SamplingParams, prefix: str = ""
) -> Constrained | None:
    """The constraint for a request. A new one is compiled in another thread, so that the event loop goes on.

    Raises ConstraintError; InvalidRequest where its only text is shorter than `min_tokens`.
    """
    if constraint is None:
        return None
    found = compiler.find(constraint, prefix)
    if found is None:
        found = await asyncio.to_thread(compiler.compile, constraint, prefix)
    constrained = found.constrained
    if constrained.complete and len(constrained.opening) < sampling.min_tokens:
        allowed = f"at most {len(constrained.opening)}, the tokens of the only text that the constraint allows"
        raise InvalidRequest("min_tokens", sampling.min_tokens, allowed)
    return constrained
