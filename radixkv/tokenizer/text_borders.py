"""Role borders that are ordinary text, such as Llama 2's `[INST]`, and how contents are kept from spelling them.

Most chat templates open and close a role with special tokens, which text never becomes. Some use words instead:
whoever could put those words into a message would open a role. Where untrusted text spells such a border, it is
encoded in two parts, cut where the border itself has no cut between tokens: every byte stays, but the ids are not
those of a border. Only where a border consists of single-character tokens is there no other way to spell it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from radixkv.errors import ChatTemplateError
from radixkv.tokenizer.chat_template import ChatTemplate
from radixkv.tokenizer.segments import Segment

_HISTORIES: Final = ((), ("system",), ("user",), ("user", "assistant"), ("system", "user", "assistant"))
_ROLES: Final = ("system", "user", "assistant")
_SHORTEST: Final = 3  # what is shorter is punctuation
_WORD: Final = re.compile(r"\w*")

Pieces = Callable[[str], Sequence[bytes]]


class TextBorders:
    """The borders of one template that are text, each with the place where contents that spell it are cut.

    `without_added` drops added tokens from template text, `pieces` are the tokens of a text, as their bytes.
    """

    def __init__(self, template: ChatTemplate, without_added: Callable[[str], str], pieces: Pieces) -> None:
        spellings = {text for line in _border_lines(template) if (text := _spelling(line, without_added))}
        self.cuts = {text: cut for text in spellings if (cut := _cut(text, pieces)) is not None}
        longest_first = sorted(self.cuts, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def places(self, segments: Sequence[Segment]) -> list[int]:
        """Offsets into the joined text at which it is cut, in order. Linear in the text."""
        if self._pattern is None:
            return []
        text = "".join(segment.text for segment in segments)
        ends = list(accumulate(len(segment.text) for segment in segments))
        trusted = [
            (end - len(segment.text), end) for segment, end in zip(segments, ends, strict=True) if segment.trusted
        ]
        found = (match for match in self._pattern.finditer(text) if not _inside(match, trusted))
        return [match.start() + self.cuts[match[0]] for match in found]


def _inside(match: re.Match[str], stretches: Sequence[tuple[int, int]]) -> bool:
    return any(begin <= match.start() and match.end() <= end for begin, end in stretches)


def _border_lines(template: ChatTemplate) -> Iterator[str]:
    """The lines of template text that stand next to a content."""
    for history in _HISTORIES:
        for role in _ROLES:
            try:
                opening, closing = template.open_role(history, role), template.close_role(history, role)
            except ChatTemplateError:
                continue  # an order that the template refuses has no borders
            yield _joined(opening).rstrip().rpartition("\n")[2]
            yield _joined(closing).lstrip().partition("\n")[0]


def _joined(segments: Sequence[Segment]) -> str:
    return "".join(segment.text for segment in segments)


def _spelling(line: str, without_added: Callable[[str], str]) -> str | None:
    """What of a border is text. A mere word, as in `<|im_start|>user`, is none without the token beside it."""
    text = without_added(line).strip()
    return None if len(text) < _SHORTEST or _WORD.fullmatch(text) else text


def _cut(border: str, pieces: Pieces) -> int | None:
    """Where no token of the border ends, written alone or after a space; None if every character is a token."""
    ends = set(_ends(border, pieces)) | {end - 1 for end in _ends(" " + border, pieces)}
    for cut in range(1, len(border)):
        if len(border[:cut].encode()) not in ends:
            return cut
    return None


def _ends(text: str, pieces: Pieces) -> Iterator[int]:
    return accumulate(map(len, pieces(text)))
