"""Finding added tokens in trusted text, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from radixkv.tokenizer.segments import Segment
from radixkv.tokenizer.vocabulary import AddedToken

# Unicode's White_Space, which is what the library strips; Python counts U+001C..U+001F too.
_WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


@dataclass(frozen=True)
class FoundToken:
    """An added token, and the stretch of the joined text that it takes up (whitespace it swallows included)."""

    token_id: int
    begin: int
    end: int


class AddedTokenFinder:
    """Finds added tokens as the tokenizers library does: leftmost, of those the longest, none overlapping."""

    def __init__(self, tokens: Iterable[AddedToken]) -> None:
        self._by_text = {token.text: token for token in tokens if token.text}
        longest_first = sorted(self._by_text, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def find(self, segments: Sequence[Segment]) -> Iterator[FoundToken]:
        """In order, for the joined text of the segments.

        A token never reaches over the border of a trusted segment; only the whitespace that it swallows may.
        """
        text = "".join(segment.text for segment in segments)
        free = begin = 0  # `free`: what no token has taken yet starts here
        for segment in segments:
            end = begin + len(segment.text)
            if segment.trusted and self._pattern is not None:
                for match in self._pattern.finditer(text, begin, end):
                    found = self._place(text, match, free)
                    if found is not None:
                        yield found
                        free = found.end
            begin = end

    def atoms(self, text: str) -> list[str]:
        """The text cut into added tokens and single characters."""
        if self._pattern is None:
            return list(text)
        return re.findall(f"{self._pattern.pattern}|.", text, re.DOTALL)

    def _place(self, text: str, match: re.Match[str], free: int) -> FoundToken | None:
        token, begin, end = self._by_text[match[0]], match.start(), match.end()
        if begin < free or (token.single_word and not _stands_alone(text, begin, end)):
            return None
        if token.lstrip:
            begin = max(free, len(text[:begin].rstrip(_WHITE_SPACE)))
        if token.rstrip:
            end = len(text) - len(text[end:].lstrip(_WHITE_SPACE))
        return FoundToken(token.token_id, begin, end)


def _stands_alone(text: str, begin: int, end: int) -> bool:
    return not re.search(r"\w\Z", text[:begin][-1:]) and not re.match(r"\w", text[end : end + 1])
