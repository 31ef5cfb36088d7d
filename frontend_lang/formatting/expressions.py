"""How expressions and types are laid out, from a parse tree that has all tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from lark import Token, Tree

from frontend_lang.formatting.documents import (
    COMMA,
    SPACE,
    Break,
    Doc,
    Either,
    Indent,
    Notes,
    Word,
    concat,
    group,
    leads,
)
from frontend_lang.formatting.gaps import Gaps
from frontend_lang.formatting.printer import CONTINUATION

ParseTree = Tree[Token]
Child = ParseTree | Token
Handler = Callable[[ParseTree], Doc]

INDENT = 2

_NO_SPACE_BEFORE = frozenset(":?.)]")
_NO_SPACE_AFTER = frozenset(".([")
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_TIGHT = ("minus", "attribute", "index", "slice", "tgeneric", "opt", "arg", "element")
_CHAINS = ("or_", "and_", "binary", "compare", "is_in", "union")
_LITERALS = ("list", "record", "comprehension")


class ExpressionLayout:
    """Lays out trees of one source, which must be visited in order: the gaps between their tokens are consumed.

    A rule without a method here is its tokens with single spaces between them, so a new rule of the grammar is
    printed correctly, if not broken nicely.
    """

    def __init__(self, source: str) -> None:
        self.gaps = Gaps(source)
        self._handlers = self.handlers()

    def handlers(self) -> dict[str, Handler]:
        """Methods by rule of the grammar."""
        return {
            **dict.fromkeys(_TIGHT, self._tight),
            **dict.fromkeys(_CHAINS, self._chain),
            **dict.fromkeys(("list", "record", "call", "trecord"), self._list_with_comma),
            "tbound": self._list,
            "not_in": self._not_in,
            "atom": self._parenthesised,
            "comprehension": self._comprehension,
            "conditional": self._conditional,
        }

    def visit(self, node: Child) -> Doc:
        """The document of a tree or a token."""
        if isinstance(node, Token):
            return self.word(node)
        return self._handlers.get(node.data, self.spaced)(node)

    def word(self, token: Child) -> Word:
        """A token, with the comments before it."""
        written = cast("Token", token)
        return self.gaps.take(written.start_pos or 0, written.end_pos or 0)

    def spaced(self, tree: ParseTree) -> Doc:
        """The children with spaces where they belong."""
        return self.sequence(tree.children)

    def sequence(self, children: Sequence[Child]) -> Doc:
        """As `spaced`."""
        parts: list[Doc] = []
        for index, child in enumerate(children):
            if index and not _adjoin(children[index - 1], child):
                parts.append(SPACE)
            parts.append(self.visit(child))
        return concat(parts)

    def continued(self, *parts: Doc) -> Doc:
        """Parts that go on a statement; lines inside are indented more than a block would be."""
        return Indent(concat(parts), CONTINUATION)

    def separated(self, children: Sequence[Child]) -> list[Doc]:
        """Items with a comma and a break after each but the last; commas among the children are skipped."""
        items = [child for child in children if child != ","]
        parts: list[Doc] = []
        for index, item in enumerate(items):
            parts += [COMMA, Break(item=True)] if index else []
            parts.append(self.visit(item))
        return parts

    def enclosed(self, children: Sequence[Child], opener: int, last_comma: bool) -> list[Doc]:
        """Children of which one is an opening bracket: what stands before it, the bracket with its items, the rest."""
        bracket = str(children[opener])
        closer = max(index for index, child in enumerate(children) if child == _CLOSERS[bracket])
        before = [self.sequence(children[:opener])] if opener else []
        inside = self._bracket(children[opener], children[opener + 1 : closer], children[closer], last_comma)
        after = [SPACE, self.sequence(children[closer + 1 :])] if closer + 1 < len(children) else []
        return [*before, inside, *after]

    def closing(self, closer: Child) -> tuple[list[Doc], Word]:
        """Comments before a closing bracket, which belong to what is in it, and the bracket."""
        word = self.word(closer)
        return ([Notes(word.comments)] if word.comments else []), Word(word.text)

    # --- brackets ---

    def _bracket(self, opener: Child, items: Sequence[Child], closer: Child, last_comma: bool) -> Doc:
        first = self.word(opener)
        broken = self.gaps.ends_line(cast("Token", opener).end_pos or 0)
        inside = self.separated(items)
        notes, last = self.closing(closer)
        if not inside and not notes:
            return concat([first, last])
        if not broken and not notes and _hugs(items, inside):
            return concat([first, *inside, last])
        comma = [Either("", ",")] if inside and last_comma else []
        body = Indent(concat([Break(""), *inside, *comma, *notes]), INDENT)
        return group(first, body, Break(""), last, broken=broken)

    def _list_with_comma(self, tree: ParseTree) -> Doc:
        return concat(self.enclosed(tree.children, _opener(tree.children), last_comma=True))

    def _list(self, tree: ParseTree) -> Doc:
        return concat(self.enclosed(tree.children, _opener(tree.children), last_comma=False))

    def _parenthesised(self, tree: ParseTree) -> Doc:
        """`(a)`; of several pairs around the same expression one remains, so depth is bounded by the expression's."""
        opener, inner, closer = tree.children
        while isinstance(inner, Tree) and inner.data == "atom":
            inner = inner.children[1]
        return self._bracket(opener, [inner], closer, last_comma=False)

    def _comprehension(self, tree: ParseTree) -> Doc:
        opener, element, *clauses, closer = tree.children
        first, broken = self.word(opener), self.gaps.ends_line(cast("Token", opener).end_pos or 0)
        inside = [Break(""), self.visit(element), Break(), self.sequence(clauses[:4])]
        if clauses[4:]:
            inside += [Break(), self.sequence(clauses[4:])]
        notes, last = self.closing(closer)
        return group(first, Indent(concat([*inside, *notes]), INDENT), Break(""), last, broken=broken)

    # --- operators ---

    def _tight(self, tree: ParseTree) -> Doc:
        return concat([self.visit(child) for child in tree.children])

    def _chain(self, tree: ParseTree) -> Doc:
        """`a + b - c`: broken before each operator of the same rank."""
        left, *others = _operands(tree)
        first, parts = self.visit(left), list[Doc]()
        for operator, operand in zip(others[::2], others[1::2], strict=True):
            parts += [Break(), self.visit(operator), SPACE, self.visit(operand)]
        return group(first, self.continued(*parts))

    def _not_in(self, tree: ParseTree) -> Doc:
        left, *others = tree.children
        return group(self.visit(left), self.continued(Break(), self.sequence(others)))

    def _conditional(self, tree: ParseTree) -> Doc:
        """`if c then a else b`."""
        parts = tree.children
        condition, value = self.sequence(parts[:2]), self.sequence(parts[2:4])
        return group(condition, self.continued(Break(), value, Break(), self.sequence(parts[4:])))


def _adjoin(before: Child, after: Child) -> bool:
    if isinstance(after, Token) and (after.type == "REST" or after in _NO_SPACE_BEFORE):
        return True
    return isinstance(before, Token) and before in _NO_SPACE_AFTER


def _opener(children: Sequence[Child]) -> int:
    return next(index for index, child in enumerate(children) if isinstance(child, Token) and child in _CLOSERS)


def _hugs(items: Sequence[Child], inside: list[Doc]) -> bool:
    """Whether the brackets of a single list or record are enough: `f([` … `])`."""
    only = items[0] if len(inside) == 1 else None
    while isinstance(only, Tree) and only.data == "arg" and len(only.children) == 1:
        only = only.children[0]
    return only is not None and is_literal(only) and not leads(inside[0])


def is_literal(node: Child) -> bool:
    """Whether it is a list or record that is written out."""
    return isinstance(node, Tree) and node.data in _LITERALS


def _operands(tree: ParseTree) -> list[Child]:
    """Operands and operators between them, where the left operand is a chain of the same rank."""
    reversed_parts: list[Child] = []
    node: Child = tree
    while isinstance(node, Tree) and node.data == tree.data and _rank(node) == _rank(tree):
        left, *right = node.children
        reversed_parts += reversed(right)
        node = left
    return [node, *reversed(reversed_parts)]


def _rank(tree: ParseTree) -> str:
    return cast("Token", tree.children[1]).type
