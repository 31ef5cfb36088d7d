"""How large a value is when it is written out. Values share their parts, so forty short lines can make 2^40 of them:
each list and record is measured once, however often it occurs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from frontend_lang.errors import ProgramError

MAX_DEPTH = 64  # nesting of lists and records that is written, read or compared
MAX_PARTS = 2_000_000  # texts, numbers, lists, … of one value that is copied or shown
MAX_CHARACTERS = 256 << 20  # of all texts of such a value


@dataclass(frozen=True, slots=True)
class Size:
    """Parts and characters with every repetition counted; `depth` is 0 for what is neither list nor record."""

    parts: int
    characters: int
    depth: int

    @property
    def excess(self) -> str | None:
        """What is too much to copy or to show, in words."""
        if self.depth > MAX_DEPTH:
            return f"nested deeper than {MAX_DEPTH} levels"
        if self.parts > MAX_PARTS:
            return f"with more than {MAX_PARTS} parts"
        return f"with more than {MAX_CHARACTERS} characters" if self.characters > MAX_CHARACTERS else None


_ENDLESS = Size(MAX_PARTS + 1, 0, MAX_DEPTH + 1)  # of a host's list that is in itself


class Sizes:
    """Measures values; what has been measured is remembered, so it must not change meanwhile."""

    def __init__(self) -> None:
        self._known: dict[int, Size] = {}

    def of(self, value: object) -> Size:
        """O(lists, records and their items), each counted once. Does not recurse."""
        if not isinstance(value, (list, dict)):
            return Size(1, len(value) if isinstance(value, str) else 0, 0)
        pending: list[list[object] | dict[str, object]] = [value]
        while pending:
            node = pending[-1]
            if self._known.get(id(node), _ENDLESS) is not _ENDLESS:
                pending.pop()
                continue
            inner = [part for part in _parts(node) if isinstance(part, (list, dict))]
            missing = [part for part in inner if id(part) not in self._known]
            if missing and id(node) not in self._known:
                self._known[id(node)] = _ENDLESS
                pending += missing
                continue
            pending.pop()
            self._known[id(node)] = self._sum(node, inner)
        return self._known[id(value)]

    def _sum(self, node: list[object] | dict[str, object], inner: list[list[object] | dict[str, object]]) -> Size:
        sizes = [self._known[id(part)] for part in inner]
        texts = sum(len(part) for part in _parts(node) if isinstance(part, str))
        keys = sum(len(key) for key in node if isinstance(key, str)) if isinstance(node, dict) else 0
        return Size(
            1 + len(node) - len(inner) + sum(size.parts for size in sizes),
            texts + keys + sum(size.characters for size in sizes),
            1 + max((size.depth for size in sizes), default=0),
        )


def _parts(node: list[object] | dict[str, object]) -> Iterable[object]:
    return node.values() if isinstance(node, dict) else node


def check_size(value: object, what: str = "a value") -> None:
    """Raise E0808 for a value that is too large to copy or to show."""
    if isinstance(value, (list, dict)):
        excess = Sizes().of(value).excess
        if excess is not None:
            raise ProgramError("E0808", f"{what} {excess}", "give a part of it, or its len")
