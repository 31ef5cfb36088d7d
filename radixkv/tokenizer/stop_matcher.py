"""Stop strings in text that comes in pieces (Aho and Corasick, 1975)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class _Node:
    """A prefix of some stop. `fallback`: the longest proper suffix of it that is a prefix too."""

    depth: int
    children: dict[str, _Node] = field(default_factory=dict)
    fallback: _Node | None = None
    stop: str | None = None  # the longest stop that ends here


class StopMatcher:
    """Finds the stop that completes first; of two that complete at the same character, the longer one.

    Text is given out at once, except the longest tail that is a proper prefix of a stop: that is exactly
    what may still turn out to belong to one. How the text is cut into pieces makes no difference.
    Cost: linear in the text, whatever the number of stops; text that begins no stop is skipped by a
    regular expression.
    """

    def __init__(self, stops: tuple[str, ...], include_stop: bool = False) -> None:
        self._root = _build(stops)
        self._node = self._root
        self._first = re.compile("[" + "".join(map(re.escape, self._root.children)) + "]") if stops else None
        self._include_stop = include_stop
        self._held = ""
        self.matched: str | None = None

    def push(self, text: str, match: bool = True) -> str:
        """Text that may be shown now; after a match, nothing more.

        With `match` False, stops that complete inside `text` are ignored for good; one that begins there and
        completes in later text still counts.
        """
        if self.matched is not None:
            return ""
        if self._first is None:
            return text
        text, begin = self._held + text, len(self._held)
        end = self._scan(text, begin, match)
        if self.matched is not None:
            self._held = ""
            return text[:end] if self._include_stop else text[: end - len(self.matched)]
        safe = len(text) - self._node.depth
        self._held = text[safe:]
        return text[:safe]

    def finish(self) -> str:
        """The text held back, once: no stop came of it."""
        held, self._held, self._node = self._held, "", self._root
        return held

    def _scan(self, text: str, begin: int, match: bool) -> int:
        """Walk on from `begin`; the place after the stop found, or the end."""
        at, node, root = begin, self._node, self._root
        while at < len(text):
            if node is root:
                found = self._first.search(text, at) if self._first else None
                if found is None:
                    break
                at = found.start()
            node = _step(node, text[at])
            at += 1
            if match and node.stop is not None:
                self.matched = node.stop
                break
            while not node.children and node.fallback is not None:
                node = node.fallback  # a whole stop, ignored: only a proper prefix is worth holding back
        self._node = node
        return at


def _step(node: _Node, char: str) -> _Node:
    while char not in node.children:
        if node.fallback is None:
            return node
        node = node.fallback
    return node.children[char]


def _build(stops: tuple[str, ...]) -> _Node:
    root = _Node(0)
    for stop in stops:
        node = root
        for char in stop:
            node = node.children.setdefault(char, _Node(node.depth + 1))
        node.stop = stop
    for parent, char, node in _breadth_first(root):
        node.fallback = root if parent.fallback is None else _step(parent.fallback, char)
        node.stop = node.stop or node.fallback.stop
    return root


def _breadth_first(root: _Node) -> Iterator[tuple[_Node, str, _Node]]:
    queue = deque([root])
    while queue:
        parent = queue.popleft()
        for char, node in parent.children.items():
            yield parent, char, node
            queue.append(node)
