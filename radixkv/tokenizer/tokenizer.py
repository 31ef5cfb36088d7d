"""Text to token ids and back."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property

import tokenizers

from radixkv.errors import InvalidRequest
from radixkv.tokenizer.added_tokens import AddedTokenFinder
from radixkv.tokenizer.chat_template import ChatTemplate
from radixkv.tokenizer.detokenizer import NO_IDS, Detokenizer
from radixkv.tokenizer.segments import Segment
from radixkv.tokenizer.text_borders import TextBorders
from radixkv.tokenizer.vocabulary import Vocabulary
from radixkv.tokens import TokenArray, token_array


class Tokenizer:
    """A model's vocabulary in use. Immutable; may be used from several threads.

    `vocab_size`: ids from here on are rows that only pad the head; they must be neither sampled nor accepted.
    `special_ids`: ids that decoded text leaves out. `adds_bos`: prompts begin with `bos_id`.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocab_size = len(vocabulary.token_bytes)
        self.special_ids = frozenset(token.token_id for token in vocabulary.added if token.special)
        self.bos_id = vocabulary.bos_id
        self.adds_bos = vocabulary.adds_bos
        self._vocabulary = vocabulary
        self._added_ids = frozenset(token.token_id for token in vocabulary.added)
        self._finder = AddedTokenFinder(vocabulary.added)
        self.chat_template = _chat_template(vocabulary, self._finder)

    def encode(self, text: str) -> TokenArray:
        """Ids of untrusted text: the spelling of a special or added token is text like any other. No BOS.

        Raises InvalidRequest for a lone surrogate, which is no text.
        """
        return token_array(_encode(self._vocabulary.plain.at_start, text))

    def encode_segments(self, segments: Sequence[Segment], *, previous: int | None = None) -> TokenArray:
        """Ids of the joined text. Added tokens are recognised in trusted segments only, none across a border.

        What lies between two added tokens is encoded as one text, whatever segments it comes from. No BOS
        but one that a trusted segment spells. `previous`: the id that the text follows, if any; a vocabulary that puts
        a space before the first word of a prompt puts none where text goes on. Where untrusted text spells a border
        between roles that is no added token, its ids are other ones than the border's (see `TextBorders`).
        Raises InvalidRequest as `encode` does.
        """
        plain = self._vocabulary.plain
        encoder = plain.at_start
        if previous is not None:
            encoder = plain.after_token if previous in self._added_ids else plain.going_on
        text = "".join(segment.text for segment in segments)
        cuts = self._text_borders.places(segments) if self._text_borders is not None else []
        ids: list[int] = []
        begin = 0
        for found in self._finder.find(segments):
            ids += self._encode_cut(encoder, text, begin, found.begin, cuts)
            ids.append(found.token_id)
            begin, encoder = found.end, plain.after_token
        ids += self._encode_cut(encoder, text, begin, len(text), cuts)
        return token_array(ids)

    def _encode_cut(
        self, encoder: tokenizers.Tokenizer, text: str, begin: int, end: int, cuts: Sequence[int]
    ) -> list[int]:
        """Ids of `text[begin:end]`, each part between cuts by itself."""
        ids: list[int] = []
        for cut in cuts[bisect_right(cuts, begin) : bisect_left(cuts, end)]:
            ids += _encode(encoder, text[begin:cut])
            begin, encoder = cut, self._vocabulary.plain.going_on
        return ids + _encode(encoder, text[begin:end])

    def with_bos(self, ids: TokenArray) -> TokenArray:
        """The ids of a whole prompt, with BOS in front if the model wants one and the template has not put it there."""
        if not self.adds_bos or self.bos_id is None or (ids and ids[0] == self.bos_id):
            return ids
        return token_array((self.bos_id,)) + ids

    def prompt_ids(self, text: str) -> TokenArray:
        """Ids of a prompt for plain completion, with BOS if the model wants one."""
        return self.with_bos(self.encode(text))

    def chat_ids(self, segments: Sequence[Segment]) -> TokenArray:
        """Ids of a rendered chat, with exactly one BOS if either the template or the model wants one."""
        return self.with_bos(self.encode_segments(segments))

    def validate_ids(self, ids: Sequence[int], field: str = "prompt") -> TokenArray:
        """The ids as an array; raises InvalidRequest naming the position of one that is no id of this vocabulary."""
        allowed = f"a token id from 0 to {self.vocab_size - 1}"
        plain = ids.tolist() if hasattr(ids, "tolist") else ids  # arrays of any library
        if isinstance(plain, str | bytes | bytearray) or not isinstance(plain, Sequence):
            raise InvalidRequest(field, type(ids).__name__, f"a sequence of ids, each {allowed}")
        valid = not plain or (set(map(type, plain)) == {int} and min(plain) >= 0 and max(plain) < self.vocab_size)
        if valid:
            return token_array(plain)
        for position, value in enumerate(plain):
            if type(value) is not int or not 0 <= value < self.vocab_size:
                raise InvalidRequest(f"{field}[{position}]", value, allowed)
        return token_array(plain)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes a token stands for; of an added token, its text; nothing for an id that no token has."""
        return self._vocabulary.token_bytes[token_id]

    def decode(self, ids: Iterable[int], skip_special: bool = True) -> str:
        """Text of a whole sequence; the same as a detokenizer gives piece by piece."""
        detokenizer = self.detokenizer(skip_special=skip_special)
        return detokenizer.push(ids) + detokenizer.finish()

    def detokenizer(self, prompt: Iterable[int] = (), *, skip_special: bool = True) -> Detokenizer:
        """A fresh detokenizer for what follows `prompt`.

        Some vocabularies put a space before the first word of a text; it is dropped if nothing but special
        tokens comes before, and kept if the text goes on from the prompt's.
        """
        at_start = self._vocabulary.strips_first_space and all(token_id in self.special_ids for token_id in prompt)
        hidden = self.special_ids if skip_special else NO_IDS
        return Detokenizer(self._vocabulary.token_bytes, hidden=hidden, strip_space=at_start)

    @cached_property
    def _text_borders(self) -> TextBorders | None:
        if self.chat_template is None:
            return None

        def without_added(text: str) -> str:
            return "".join(atom for atom in self._finder.atoms(text) if len(atom) == 1)

        def pieces(text: str) -> list[bytes]:
            return [self.token_bytes(token_id) for token_id in _encode(self._vocabulary.plain.going_on, text)]

        return TextBorders(self.chat_template, without_added, pieces)

    @cached_property
    def turn_end_ids(self) -> tuple[int, ...]:
        """The special token with which the chat template ends an assistant's message; empty if it uses none."""
        if self.chat_template is None:
            return ()
        closing = self.encode_segments(self.chat_template.close_role(("user",), "assistant"))
        return tuple(token_id for token_id in closing if token_id in self.special_ids)[:1]


def _encode(encoder: tokenizers.Tokenizer, text: str) -> list[int]:
    if not text:
        return []
    try:
        # The batch call leaves out offsets into the text, which take over half of the time.
        return encoder.encode_batch_fast([text], add_special_tokens=False)[0].ids
    except TypeError:
        _refuse_surrogates(text)
        raise


def _refuse_surrogates(text: str) -> None:
    for position, char in enumerate(text):
        if "\ud800" <= char <= "\udfff":
            raise InvalidRequest(f"text, character {position}", char, "text without lone surrogates")


def _chat_template(vocabulary: Vocabulary, finder: AddedTokenFinder) -> ChatTemplate | None:
    if vocabulary.chat_template is None:
        return None
    return ChatTemplate(vocabulary.chat_template, vocabulary.special_texts, finder.atoms)
