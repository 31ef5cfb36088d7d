"""Counting the tokens of a program's contexts with a model's tokenizer alone: for `explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from frontend_lang import runtime as language
from frontend_lang.explain import OPAQUE
from radixkv.engine import verbs
from radixkv.engine.context import Context
from radixkv.engine.scoring import num_shared_tokens
from radixkv.errors import ChatTemplateError, InvalidRequest
from radixkv.request import Namespace
from radixkv.tokenizer import Segment, Tokenizer


class TokenCounter:
    """`frontend_lang.explain.TokenCounter` of one model; no weights are needed."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def open(self) -> ContextCounter:
        """A fresh, empty context."""
        return ContextCounter(Context("", Namespace(), self._tokenizer), frozenset())

    def count(self, text: str) -> int:
        """Tokens of a text by itself."""
        return len(self._tokenizer.encode(text))


class ContextCounter:
    """An engine's context without its KV; at the positions in `opaque` stands text that is not known."""

    def __init__(self, context: Context, opaque: frozenset[int]) -> None:
        self._context = context
        self._opaque = opaque

    def append(self, parts: Sequence[language.Part]) -> None:
        """Buffer parts. Raises RuntimeFailure E0602 where the chat template refuses a role, E0702 for one misplaced."""
        with _as_failure():
            self._context.append([_engine_part(part) for part in parts])

    def commit(self) -> int:
        """Tokenise what is buffered; the length in tokens."""
        with _as_failure():
            return self._context.commit()

    def opaque(self) -> None:
        """Commit, then append one token in place of text that is not known, which later text goes on from."""
        position = self.commit()
        self._opaque |= {position}
        self._context.extend(self._context.tokenizer.encode("a")[-1:], "")

    def score(self, options: Sequence[str]) -> int:
        """Prompt tokens of scoring the options after the context, the last text token re-opened."""
        self.commit()
        context = self._context
        reopened = context.reopen()
        texts = [[Segment(text) for text in (reopened, option) if text] for option in options]
        ids = [tuple(context.tokenizer.encode_segments(text, previous=context.last_token)) for text in texts]
        rivals = ids if len(ids) > 1 else [*ids, (*context.tokenizer.encode(reopened), OPAQUE)]
        shared = num_shared_tokens(rivals)
        return len(context.tokens) + shared + sum(len(option) - shared for option in ids)

    def tokens(self) -> Sequence[int]:
        """The committed ids; OPAQUE in place of text that is not known."""
        return [OPAQUE if at in self._opaque else token for at, token in enumerate(self._context.tokens)]

    def copy(self) -> ContextCounter:
        """An independent counter in the same state."""
        return ContextCounter(self._context.copy(""), self._opaque)


def _engine_part(part: language.Part) -> verbs.Part:
    match part:
        case language.Text(text):
            return verbs.Text(text)
        case language.RoleOpen(role):
            return verbs.RoleOpen(role.value)
        case language.RoleClose():
            return verbs.RoleClose()


@contextmanager
def _as_failure() -> Iterator[None]:
    try:
        yield
    except ChatTemplateError as error:
        raise language.RuntimeFailure("E0602", str(error)) from error
    except InvalidRequest as error:
        raise language.RuntimeFailure("E0702", str(error)) from error
