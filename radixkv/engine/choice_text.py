"""From the sampled ids of one choice to its text: whole characters only, stop strings cut."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

from radixkv.request import Request
from radixkv.tokenizer import Detokenizer, StopMatcher, Tokenizer


@dataclass(frozen=True)
class StopCut:
    """Where a stop string cut the output: `kept_tokens` lie wholly before it, `remainder` is the text after them."""

    stop: str
    kept_tokens: int
    remainder: str


@dataclass(frozen=True)
class NewText:
    """Text that may be shown now, of `used_ids` of the pushed ids (fewer only when `cut` is set)."""

    text: str
    used_ids: int
    cut: StopCut | None = None


class ChoiceTexts:
    """The texts of one request's choices. They share the automaton of its stop strings, which is built once."""

    def __init__(self, tokenizer: Tokenizer, request: Request) -> None:
        self._tokenizer = tokenizer
        self._request = request
        self._texts: dict[int, ChoiceText] = {}

    def of(self, choice: int) -> ChoiceText:
        """The text of a choice, begun when it is first asked for."""
        text = self._texts.get(choice)
        if text is None:
            constraint = self._request.constraint
            prefix = "" if constraint is None else constraint.prefix
            before = (*self._request.prompt, *self._tokenizer.encode(prefix)) if prefix else self._request.prompt
            detokenizer = self._tokenizer.detokenizer(before)
            text = ChoiceText(detokenizer, copy(self._matcher), self._request.sampling.min_tokens, prefix)
            self._texts[choice] = text
        return text

    def forget(self, choice: int) -> None:
        """The choice has ended."""
        self._texts.pop(choice, None)

    @cached_property
    def _matcher(self) -> StopMatcher | None:
        """Never pushed to, so that each choice begins with a copy; a copy has its own place in the automaton."""
        sampling = self._request.sampling
        return StopMatcher(sampling.stop, sampling.include_stop) if sampling.stop else None


class ChoiceText:
    """Text of one choice as it grows.

    The text of the first `min_tokens` tokens is never searched for stop strings, so that a cut leaves at least
    that many (R015). Cost per token does not grow with the output.
    `unsaid`: text that the output begins with and that was shown before; it is neither shown again nor searched. What
    has not come yet of it.
    """

    def __init__(
        self, detokenizer: Detokenizer, matcher: StopMatcher | None, min_tokens: int = 0, unsaid: str = ""
    ) -> None:
        self._detokenizer = detokenizer
        self._matcher = matcher
        self._min_tokens = min_tokens
        self.unsaid = unsaid
        self._num_tokens = 0
        self._shown_chars = 0
        self._pieces: list[str] = []  # text that each token completed; kept only where a stop string may cut
        self._whole: list[bool] = []  # whether a character ends where the token ends

    @property
    def num_tokens(self) -> int:
        """Tokens pushed so far."""
        return self._num_tokens

    def push(self, ids: Sequence[int]) -> NewText:
        """Take new ids; stops at the one that completes a stop string."""
        if self._matcher is None:
            self._num_tokens += len(ids)
            return NewText(self._unseen(self._detokenizer.push(ids)), len(ids))
        shown = []
        for index, token_id in enumerate(ids):
            shown.append(self._push_one(token_id, self._matcher))
            if self._matcher.matched is not None:
                return NewText("".join(shown), index + 1, self._cut(self._matcher.matched))
        return NewText("".join(shown), len(ids))

    def finish(self) -> str:
        """What was held back, when the choice ends otherwise than by a stop string."""
        tail = self._unseen(self._detokenizer.finish())
        return tail if self._matcher is None else self._matcher.push(tail) + self._matcher.finish()

    def _push_one(self, token_id: int, matcher: StopMatcher) -> str:
        self._num_tokens += 1
        piece = self._detokenizer.push((token_id,))
        self._pieces.append(piece)
        self._whole.append(not self._detokenizer.pending)
        unseen = self._unseen(piece)
        shown = unseen if self._num_tokens <= self._min_tokens else matcher.push(unseen)
        self._shown_chars += len(piece) - len(unseen) + len(shown)
        return shown

    def _unseen(self, text: str) -> str:
        """New text without what was shown before."""
        if not self.unsaid:
            return text
        unseen = text[len(self.unsaid) :]
        self.unsaid = self.unsaid[len(text) :]
        return unseen

    def _cut(self, stop: str) -> StopCut:
        """Walk back from the end to the last token border at or before the cut."""
        kept, chars = len(self._pieces), sum(map(len, self._pieces))
        while kept and (chars > self._shown_chars or not self._whole[kept - 1]):
            kept -= 1
            chars -= len(self._pieces[kept])
        return StopCut(stop, kept, "".join(self._pieces[kept:])[: self._shown_chars - chars])
