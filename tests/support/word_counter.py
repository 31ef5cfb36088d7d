"""Counts tokens as the scripted runtime does: a word with the white space before it, one per role border."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from frontend_lang.explain import OPAQUE
from frontend_lang.runtime import Part, Text

_TOKEN = re.compile(r"\s*\S+|\s+")


def ids_of(text: str) -> list[int]:
    return [hash(word) & 0xFFFFFFFF for word in _TOKEN.findall(text)]


@dataclass
class WordContext:
    """`text_from`: ids from here on are text, which a select may tokenise again."""

    ids: list[int] = field(default_factory=list)
    buffer: list[Part] = field(default_factory=list)
    text_from: int = 0

    def append(self, parts: Sequence[Part]) -> None:
        self.buffer += parts

    def commit(self) -> int:
        pending = ""
        for part in self.buffer:
            if isinstance(part, Text):
                pending += part.text
                continue
            self.ids += [*ids_of(pending), hash(part) & 0xFFFFFFFF]
            self.text_from, pending = len(self.ids), ""
        self.ids += ids_of(pending)
        self.buffer = []
        return len(self.ids)

    def opaque(self) -> None:
        self.commit()
        self.ids.append(OPAQUE)
        self.text_from = len(self.ids)

    def score(self, options: Sequence[str]) -> int:
        length = self.commit()
        reopened = 1 if length > self.text_from else 0
        return length - reopened + sum(max(1, len(ids_of(option))) for option in options)

    def tokens(self) -> Sequence[int]:
        return list(self.ids)

    def copy(self) -> WordContext:
        return WordContext(list(self.ids), list(self.buffer), self.text_from)


class WordCounter:
    def open(self) -> WordContext:
        return WordContext()

    def count(self, text: str) -> int:
        return len(ids_of(text))
