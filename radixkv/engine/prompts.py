"""From what a caller gives as a prompt to checked token ids; and the checks that need the vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast

from radixkv.errors import ChatTemplateError, InvalidRequest
from radixkv.request import SamplingParams
from radixkv.tokenizer import ChatTemplate, Message, Tokenizer
from radixkv.tokens import TokenArray

Prompt: TypeAlias = "str | TokenArray | Sequence[int] | Sequence[Message]"


def prompt_tokens(prompt: Prompt, tokenizer: Tokenizer) -> TokenArray:
    """Token ids of a text (continued as it is), of messages (chat template), or the given ids, checked (R011).

    Messages end where the assistant speaks. Raises InvalidRequest, ChatTemplateError.
    """
    if isinstance(prompt, str):
        tokens = tokenizer.prompt_ids(prompt)
    elif len(prompt) and isinstance(prompt[0], Message):
        messages = cast("Sequence[Message]", prompt)
        tokens = tokenizer.chat_ids(template_of(tokenizer).render(messages, add_generation_prompt=True))
    else:
        tokens = tokenizer.validate_ids(cast("Sequence[int]", prompt))
    if not tokens:
        raise InvalidRequest("prompt", prompt, "at least one token")
    return tokens


def template_of(tokenizer: Tokenizer) -> ChatTemplate:
    """The model's chat template. Raises ChatTemplateError when it has none."""
    if tokenizer.chat_template is None:
        raise ChatTemplateError("the model has no chat template; write the prompt as plain text, without roles")
    return tokenizer.chat_template


def check_vocabulary(sampling: SamplingParams, vocab_size: int) -> None:
    """Raises InvalidRequest for a logit_bias or stop id outside the vocabulary (R019)."""
    _check_ids("logit_bias", sampling.logit_bias, vocab_size)
    _check_ids("stop_token_ids", sampling.stop_token_ids, vocab_size)


def _check_ids(field: str, ids: Iterable[int], vocab_size: int) -> None:
    for token_id in ids:
        if not 0 <= token_id < vocab_size:
            raise InvalidRequest(field, token_id, f"token ids from 0 to {vocab_size - 1}")
