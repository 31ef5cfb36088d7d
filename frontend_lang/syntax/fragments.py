"""What is left of a program that does not parse: statements of which much can be said all the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from frontend_lang.syntax import ast

if TYPE_CHECKING:
    from lark import Token, Tree

    from frontend_lang.syntax.recovery import Range

_WORD = re.compile(r"\w+")
_TOP_LEVEL_ONLY = ("param", "def", "tool", "typedef", "import_", "test")


@dataclass(frozen=True)
class Fragment:
    """The statements that parsed, and the ranges of the source that are not among them."""

    program: ast.Program
    lost: tuple[Range, ...]

    def is_doubtful(self, span: ast.Span) -> bool:
        """Whether what is said about this part of the source may be due to what is lost.

        It may where the part has a name, or any other word, that occurs in the lost text: that may declare it.
        """
        if any(start < span.end and span.start < end for start, end in self.lost):
            return True
        return not self._lost_words.isdisjoint(_WORD.findall(self.program.source, span.start, span.end))

    @cached_property
    def _lost_words(self) -> frozenset[str]:
        source = self.program.source
        return frozenset(word for start, end in self.lost for word in _WORD.findall(source, start, end))


def pruned(tree: Tree[Token], lost: Iterable[Range]) -> list[Range]:
    """Take the statements out of the tree that begin in a lost range, and declarations inside blocks.

    The latter stand there since a brace is missing or was skipped. Returns the ranges with theirs added.
    """
    ranges = list(lost)
    for block in tree.iter_subtrees_topdown():  # type: ignore[no-untyped-call]
        if block.data in ("start", "block"):
            block.children = [child for child in block.children if not _is_lost(child, block.data, ranges)]
    return ranges


def _is_lost(statement: Tree[Token], block: str, ranges: list[Range]) -> bool:
    begin = statement.meta.start_pos
    if block == "block" and statement.data in _TOP_LEVEL_ONLY:
        ranges.append((begin, statement.meta.end_pos))
    return any(start <= begin < end for start, end in ranges)
