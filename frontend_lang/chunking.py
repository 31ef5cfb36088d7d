"""Cutting a text into chunks of at most so many tokens, at the borders that readers see.

Tokens are counted by a runtime, one call at a time, so the number of calls is what matters: a chunk's end is found by
interpolation, in a handful of calls of about the chunk's size each, never one per word. Every chunk is counted as it
is returned: its size is exact, whatever the tokenizer does at the cut.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from frontend_lang.errors import ProgramError
from frontend_lang.values import MAX_ITEMS

Count = Callable[[str], Awaitable[int]]

_BORDERS: Sequence[re.Pattern[str]] = (
    re.compile(r"\n[ \t]*\n\s*"),  # paragraph
    re.compile(r"[.!?…]['\")\]»”’]*\s+|[。！？]['」』”’]*\s*"),  # sentence
    re.compile(r"\n\s*"),  # line
    re.compile(r"\s+"),  # word
)
_JOINERS = "\u200d\ufe0e\ufe0f"  # zero-width joiner, variation selectors: parts of the character before
_SLACK = 32  # a cut within this fraction of a chunk's length of the largest that fits is good enough


async def chunks(text: str, size: int, overlap: int, count: Count) -> list[str]:
    """Chunks in order, each of at most `size` tokens by itself; each begins with about the last `overlap` tokens of
    the one before. Without overlap they join to the text. O(chunks) calls of `count`, each on about a chunk.

    Cuts come at the last paragraph, else sentence, else line, else word that ends in the second half of what fits,
    else between characters. Raises E0401 if a single character has more than `size` tokens, E0808 for too many chunks.
    """
    total = await count(text)
    if total > size * MAX_ITEMS:
        raise ProgramError("E0808", f"`chunk` into more than {MAX_ITEMS} pieces", "give a larger size")
    cutter = _Cutter(text, count, len(text) / max(1, total))
    found: list[str] = []
    start = end = 0
    while end < len(text):
        start = await cutter.overlap_start(start, end, overlap) if overlap and end else end
        cut = await cutter.end(start, end, size)
        if cut is None:  # what is new does not fit behind the overlap
            start = end
            cut = await cutter.end(start, end, size)
        if cut is None:
            raise ProgramError("E0401", f"`chunk`: a character has more than size={size} tokens", "give a larger size")
        end = cut
        found.append(text[start:end])
    return found


@dataclass
class _Cutter:
    """`pace` is characters per token, as measured last."""

    text: str
    count: Count
    pace: float

    async def end(self, start: int, after: int, size: int) -> int | None:
        """The end of a chunk from `start`: beyond `after`, with at most `size` tokens. None if there is none."""
        limit = len(self.text)
        while True:
            fitting = await self._furthest(start, after, limit, size)
            if fitting is None or fitting == len(self.text):
                return fitting
            cut = self._border(start, after, fitting)
            if cut == fitting or await self.count(self.text[start:cut]) <= size:
                return cut
            limit = cut - 1  # fewer characters, yet more tokens: the cut split a token into several

    async def _furthest(self, start: int, after: int, limit: int, size: int) -> int | None:
        """About the largest end in (after, limit] that fits."""
        low, high = after, limit + 1
        slack = max(1, int(size * self.pace) // _SLACK)
        guess = start + int(size * self.pace)
        while high - low > (slack if low > after else 1):
            guess = min(max(guess, low + 1), high - 1)
            tokens = await self.count(self.text[start:guess])
            self.pace = (guess - start) / max(1, tokens)
            if tokens <= size:
                low = guess
            else:
                high = guess
            guess = self._next_guess(start, low, high, size)
        return low if low > after else None

    def _next_guess(self, start: int, low: int, high: int, size: int) -> int:
        """Where the pace says the border is; kept off the ends of the interval, so that it shrinks for certain."""
        margin = (high - low) // 8
        aimed = start + int(size * self.pace)
        return min(max(aimed, low + margin), high - margin)

    def _border(self, start: int, after: int, fitting: int) -> int:
        """The best place to cut at or before `fitting`."""
        first = max(after, (start + fitting) // 2)
        window = self.text[first : fitting + 1]  # one more character tells whether a word ends at `fitting`
        for border in _BORDERS:
            ends = [first + match.end() for match in border.finditer(window)]
            inside = [end for end in ends if first < end <= fitting]
            if inside:
                return inside[-1]
        return self._between_characters(after, fitting)

    def _between_characters(self, after: int, fitting: int) -> int:
        cut = fitting
        while cut > after + 1 and self._continues(cut):
            cut -= 1
        return fitting if self._continues(cut) else cut

    def _continues(self, index: int) -> bool:
        following, before = self.text[index], self.text[index - 1]
        return following in _JOINERS or before == _JOINERS[0] or unicodedata.combining(following) != 0

    async def overlap_start(self, start: int, end: int, overlap: int) -> int:
        """Where the last `overlap` tokens before `end` begin: at the first word that begins there."""
        first = max(start + 1, end - int(overlap * self.pace) - 1)
        while first < end and await self.count(self.text[first:end]) > overlap:
            first = end - (end - first) * 3 // 4
        word = re.compile(r"(?<=\s)\S").search(self.text, first, end)
        return word.start() if word is not None else end
