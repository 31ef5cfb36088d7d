"""How statements are laid out."""

from __future__ import annotations

from collections.abc import Sequence
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
    concat,
    group,
    leading_comments,
    leads,
)
from frontend_lang.formatting.expressions import INDENT, Child, ExpressionLayout, Handler, ParseTree, is_literal
from frontend_lang.syntax.words import KEYWORDS

_SET_APART = ("def", "test")  # an empty line before and after


class StatementLayout(ExpressionLayout):
    """Adds statements and blocks."""

    def handlers(self) -> dict[str, Handler]:
        """Methods by rule of the grammar."""
        return {
            **super().handlers(),
            **dict.fromkeys(("def", "tool"), self._list),
            **dict.fromkeys(("assert_", "check"), self._guard),
            "if_": self._if,
            "fork_arms": self._arms,
            "with_": self._options,
            "set": self._options,
        }

    def program(self, tree: ParseTree) -> Doc:
        """The whole program, comments at its end included."""
        statements = self._statements(tree.children, "")
        comments, blank = self.gaps.rest()
        before: list[Doc] = [Break(item=True, blank=blank)] if statements else []
        return concat([*statements, *before, Notes(comments)] if comments else statements)

    def sequence(self, children: Sequence[Child]) -> Doc:
        """The children with spaces where they belong.

        `with …` and `until …` can begin a line of their own. From the first block on, all blocks are on one line with
        what stands between and after them, or none is.
        """
        block = next((index for index, child in enumerate(children) if _is_block(child)), len(children))
        clause = next((index for index, child in enumerate(children[:block]) if _is_clause(child)), block)
        parts = [super().sequence(children[:clause])] if clause else []
        if clause < block:
            parts.append(self._clauses(children[clause:block]))
        if block < len(children):
            parts += [SPACE, self._tail(children[block:])] if parts else [self._tail(children[block:])]
        return concat(parts)

    def _clauses(self, children: Sequence[Child]) -> Doc:
        if len(children) == 1 and _is_one_literal(children[0]):
            return concat([SPACE, self.visit(children[0])])
        parts: list[Doc] = []
        for child in children:
            parts += [Break() if _is_clause(child) else SPACE, self.visit(child)]
        return group(self.continued(*parts))

    def _tail(self, children: Sequence[Child]) -> Doc:
        parts: list[Doc] = []
        for child in children:
            parts += [SPACE] if parts else []
            parts += [self._block(child)] if _is_block(child) else _level(self.visit(child))
        return group(*parts, broken=any(map(self._spans_lines, filter(_is_block, children))))

    def _options(self, tree: ParseTree) -> Doc:
        keyword = self.visit(tree.children[0])
        first, *others = self.separated(tree.children[1:])
        return group(keyword, SPACE, first, Indent(concat(others), INDENT))

    def _guard(self, tree: ParseTree) -> Doc:
        """`assert condition, message`."""
        condition = self.sequence(tree.children[:2])
        if len(tree.children) == 2:
            return condition
        return concat([condition, COMMA, group(self.continued(Break(), self.visit(tree.children[-1])))])

    # --- blocks ---

    def _statements(self, children: Sequence[Child], separator: str) -> list[Doc]:
        """Statements on lines of their own, or with `separator` on one line."""
        parts: list[Doc] = []
        before: Child | None = None
        semicolon = False
        for child in children:
            if isinstance(child, Token):
                semicolon = True
                continue
            if isinstance(before, Tree):
                apart = before.data in _SET_APART or child.data in _SET_APART
                needed = ";" if semicolon and _would_go_on(before, child) else ""
                parts += [Either(separator, needed), Break(item=True, blank=apart)]
            parts.append(self.visit(child))
            before, semicolon = child, False
        return parts

    def _braces(self, opener: Child, children: Sequence[Child], closer: Child, separator: str) -> Doc:
        first = self.word(opener)
        statements = self._statements(children, separator)
        notes, last = self.closing(closer)
        if not statements and not notes:
            return concat([first, last])
        return concat([first, Indent(concat([Break(), *statements, *notes]), INDENT), Break(), last])

    def _block(self, child: Child) -> Doc:
        opener, *statements, closer = cast("ParseTree", child).children
        return self._braces(opener, statements, closer, ";")

    def _if(self, tree: ParseTree) -> Doc:
        *children, last = tree.children
        otherwise = cast("ParseTree", last)
        return self.sequence([*children, otherwise.children[0] if otherwise.data == "else_" else last])

    def _arms(self, tree: ParseTree) -> Doc:
        """`fork { a { } b { } } join …`."""
        keyword, opener, *arms = tree.children
        end = next(index for index, child in enumerate(arms) if isinstance(child, Token))
        first = self.visit(keyword)
        braces = self._braces(opener, arms[:end], arms[end], "")
        join = [SPACE, *_level(self.sequence(arms[end + 1 :]))] if end + 1 < len(arms) else []
        broken = self._spans_lines(Tree("block", [opener, arms[end]]))
        return concat([first, SPACE, group(braces, *join, broken=broken)])

    def _spans_lines(self, block: Child) -> bool:
        opener, *_, closer = cast("ParseTree", block).children
        return self.gaps.spans_lines(cast("Token", opener).end_pos or 0, cast("Token", closer).start_pos or 0)


def _level(word: Doc) -> Sequence[Doc]:
    """What follows a block (`elif`, `catch`, `join`), with the comments before it on the level of the block."""
    return leading_comments(word) if leads(word) else [word]


def _is_clause(child: Child) -> bool:
    return child.data == "with_" if isinstance(child, Tree) else child.type == "UNTIL"


def _is_block(child: Child) -> bool:
    return isinstance(child, Tree) and child.data == "block"


def _is_one_literal(clause: Child) -> bool:
    """Whether it is `with name=[…]`: the brackets are enough to break it."""
    option = cast("ParseTree", clause).children[-1]
    if len(cast("ParseTree", clause).children) != 2 or not isinstance(option, Tree):
        return False
    return is_literal(option.children[-1])


def _would_go_on(before: ParseTree, statement: ParseTree) -> bool:
    """Whether only the semicolon says that `as`, `with`, `join` … is a name here, and no part of what stands before."""
    starts_with_name = statement.data in ("assign", "bare") and _leaf(statement, 0) in KEYWORDS
    return starts_with_name and _leaf(before, -1).type != "REST"


def _leaf(tree: ParseTree, end: int) -> Token:
    """The first token (`end` is 0) or the last one (-1)."""
    node: Child = tree
    while isinstance(node, Tree):
        node = node.children[end]
    return node
