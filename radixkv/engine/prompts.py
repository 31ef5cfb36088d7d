"""From what a caller gives as a prompt to checked token ids; and the checks that need the vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, Final, TypeAlias

from radixkv.errors import ChatTemplateError, InvalidRequest
from radixkv.request import SamplingParams
from radixkv.tokenizer import ChatTemplate, Message, Tokenizer
from radixkv.tokens import TokenArray

Prompt: TypeAlias = "str | TokenArray | Sequence[int] | Sequence[Message | Mapping[str, str]]"
_ALLOWED: Final = "a text, token ids, or messages with `role` and `content`"


def prompt_tokens(prompt: Prompt, tokenizer: Tokenizer) -> TokenArray:
    """Token ids of a text (continued as it is), of messages (chat template), or the given ids, checked (R011).

    Ids may come in any sequence of integers, those of numpy and one-dimensional arrays included. Messages end where
    the assistant speaks. Raises InvalidRequest, ChatTemplateError.
    """
    if isinstance(prompt, str):
        tokens = tokenizer.prompt_ids(prompt)
    else:
        items = plain_list("prompt", prompt, _ALLOWED)
        if items and is_message(items[0]):
            messages = [checked_message(f"prompt[{index}]", item) for index, item in enumerate(items)]
            tokens = tokenizer.chat_ids(template_of(tokenizer).render(messages, add_generation_prompt=True))
        else:
            tokens = tokenizer.validate_ids(_plain_ids(items))
    if not tokens:
        raise InvalidRequest("prompt", prompt, "at least one token")
    return tokens


def plain_list(field: str, value: object, allowed: str) -> list[Any] | tuple[Any, ...]:
    """The items of a sequence or of an array (numpy, torch). Raises InvalidRequest for what is neither."""
    if isinstance(value, list | tuple):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        value = list(value)
    if not isinstance(value, list):
        raise InvalidRequest(field, value, allowed)
    return value


def is_message(value: object) -> bool:
    """Whether it is meant as a message."""
    return isinstance(value, Message | Mapping)


def checked_message(field: str, value: object) -> Message:
    """The message. Raises InvalidRequest for what is none."""
    if isinstance(value, Mapping) and set(value) == {"role", "content"}:
        value = Message(value["role"], value["content"])
    if isinstance(value, Message) and isinstance(value.role, str) and isinstance(value.content, str):
        return value
    raise InvalidRequest(field, value, "a message, with the texts `role` and `content`")


def is_token_id(value: object) -> bool:
    """Whether it is an integer of any kind."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _plain_ids(ids: Sequence[Any]) -> Sequence[int]:
    """Integers of other kinds made Python's own; what is none stays, to be named."""
    if set(map(type, ids)) <= {int}:
        return ids
    return [int(value) if is_token_id(value) else value for value in ids]


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
