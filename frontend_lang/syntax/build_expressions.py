"""From lark's tree to our own.

The builder recurses, and counts how deep it is: that is where the limit on nesting holds. Text is read here as well,
and the expressions in it are parsed and built with the offsets of the one source.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal, cast

from lark import Token, Tree

from frontend_lang.syntax import ast
from frontend_lang.syntax.limits import MAX_DIGITS, MAX_NESTING
from frontend_lang.syntax.positions import LineTable, Problem
from frontend_lang.syntax.text import Hole, Piece, TextReader
from frontend_lang.syntax.words import EXPRESSION_KEYWORDS

ParseTree = Tree[Token]
Child = ParseTree | Token | None

_NAME_ALONE = re.compile(r"\s*([A-Za-z_]\w*)\s*")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class TooDeep(Exception):
    """Blocks and expressions nest deeper than allowed; `span` is where."""

    def __init__(self, span: ast.Span) -> None:
        super().__init__()
        self.span = span


class ExpressionBuilder:
    """Builds nodes of one source. `parse_expression` parses `source[start:end]`; None means it has reported why not."""

    def __init__(self, source: str, lines: LineTable, parse_expression: Callable[[Hole], ParseTree | None]) -> None:
        self.problems: list[Problem] = []
        self.lines = lines
        self._source = source
        self._reader = TextReader(source, self.problems)
        self._parse_expression = parse_expression
        self._scope = ""
        self._tests = 0
        self._depth = 0
        self._sites: Counter[str] = Counter()

    # --- small things ---

    def span(self, node: ParseTree | Token) -> ast.Span:
        """The span of a tree or token; an empty program has the span of nothing at its start."""
        if isinstance(node, Token):
            return self.lines.span(node.start_pos or 0, node.end_pos or 0)
        return self.lines.span(getattr(node.meta, "start_pos", 0), getattr(node.meta, "end_pos", 0))

    def span_of(self, child: Child) -> ast.Span:
        """The span of a child that is known to be there."""
        return self.span(cast("ParseTree | Token", child))

    def report(self, code: str, span: ast.Span, message: str, hint: str) -> None:
        """Note something wrong; building goes on, so that more is found."""
        self.problems.append(Problem(code, span.start, span.end, message, hint))

    @contextmanager
    def scope(self, prefix: str) -> Iterator[None]:
        """Within it, sites begin with `prefix`."""
        before, self._scope = self._scope, prefix
        yield
        self._scope = before

    def next_test(self) -> str:
        """The scope of the next `test`."""
        self._tests += 1
        return f"test{self._tests}."

    def site(self, kind: str) -> ast.Site:
        """The next site of this kind in this def."""
        self._sites[self._scope + kind] += 1
        return f"{self._scope}{kind}{self._sites[self._scope + kind]}"

    def template(self, pieces: Iterable[Piece], span: ast.Span) -> ast.Template:
        """Pieces of text as a template: holes parsed, adjoining literals joined."""
        parts: list[str | ast.Expression] = []
        for piece in pieces:
            part = self._hole(piece) if isinstance(piece, Hole) else piece
            if isinstance(part, str) and parts and isinstance(parts[-1], str):
                parts[-1] += part
            elif part:
                parts.append(part)
        return ast.Template(tuple(parts), span=span)

    def _hole(self, hole: Hole) -> ast.Expression | None:
        name = _NAME_ALONE.fullmatch(self._source, hole.start, hole.end)
        if name and name.group(1) not in EXPRESSION_KEYWORDS:  # by far the most frequent, and needs no parser
            return ast.Name(name.group(1), span=self.lines.span(name.start(1), name.end(1)))
        tree = self._parse_expression(hole)
        return None if tree is None else self.expression(tree)

    def rest(self, token: Token) -> ast.Template:
        """The template of a `: text` token."""
        start, end = token.start_pos or 0, token.end_pos or 0
        return self.template(self._reader.rest(start, end), self.lines.span(start, end))

    # --- expressions ---

    def expression(self, tree: Child) -> ast.Expression:
        """The node of a tree that the grammar says is an expression."""
        return cast("ast.Expression", self.node(tree))

    def node(self, child: Child) -> ast.Node:
        """The node of a tree, one level deeper. Raises TooDeep."""
        tree = cast("ParseTree", child)
        if self._depth == MAX_NESTING:
            raise TooDeep(self.span(tree))
        self._depth += 1
        built = cast("ast.Node", getattr(self, f"_build_{tree.data}")(tree))
        self._depth -= 1
        return built

    def _maybe(self, tree: Child) -> ast.Expression | None:
        return None if tree is None else self.expression(tree)

    def _expressions(self, children: Iterable[Child]) -> tuple[ast.Expression, ...]:
        return tuple([self.expression(child) for child in children if child is not None])

    def _build_name(self, tree: ParseTree) -> ast.Name:
        return ast.Name(str(tree.children[0]), span=self.span(tree))

    def _build_string(self, tree: ParseTree) -> ast.Template:
        token = cast("Token", tree.children[0])
        start, end = token.start_pos or 0, token.end_pos or 0
        readers = {
            "STRING": self._reader.quoted,
            "RAW": self._reader.raw,
            "BLOCK": self._reader.block,
            "RAWBLOCK": self._reader.raw_block,
        }
        return self.template(readers[token.type](start, end), self.span(token))

    def _build_int(self, tree: ParseTree) -> ast.Constant:
        return ast.Constant(int(self._digits(tree)), span=self.span(tree))

    def _build_number(self, tree: ParseTree) -> ast.Constant:
        number = float(self._digits(tree))
        if math.isinf(number):
            self.report("E0408", self.span(tree), "the number is beyond a float", "a float is below 1.8e308")
        return ast.Constant(number, span=self.span(tree))

    def _digits(self, tree: ParseTree) -> str:
        text = str(tree.children[0])
        if len(text) <= MAX_DIGITS:
            return text
        message = f"a number of {len(text)} digits; at most {MAX_DIGITS} are allowed"
        self.report("E0503", self.span(tree), message, "write large values as text")
        return "0"

    def _build_true(self, tree: ParseTree) -> ast.Constant:
        return ast.Constant(True, span=self.span(tree))

    def _build_false(self, tree: ParseTree) -> ast.Constant:
        return ast.Constant(False, span=self.span(tree))

    def _build_none(self, tree: ParseTree) -> ast.Constant:
        return ast.Constant(None, span=self.span(tree))

    def _build_duration(self, tree: ParseTree) -> ast.Duration:
        text = self._digits(tree)
        digits = text.rstrip("msh")
        return ast.Duration(float(digits) * _SECONDS.get(text[len(digits) :], 1.0), span=self.span(tree))

    def _build_regex(self, tree: ParseTree) -> ast.Regex:
        return ast.Regex(str(tree.children[0])[3:-1], span=self.span(tree))

    def _build_attribute(self, tree: ParseTree) -> ast.Attribute:
        value, name = tree.children
        return ast.Attribute(self.expression(value), str(name), span=self.span(tree))

    def _build_index(self, tree: ParseTree) -> ast.Index:
        value, index = tree.children
        return ast.Index(self.expression(value), self.expression(index), span=self.span(tree))

    def _build_slice(self, tree: ParseTree) -> ast.Slice:
        value, start, stop = tree.children
        return ast.Slice(self.expression(value), self._maybe(start), self._maybe(stop), span=self.span(tree))

    def _build_call(self, tree: ParseTree) -> ast.Call:
        callee, *arguments = tree.children
        site = self.site("call")
        built = tuple([self._argument(argument) for argument in arguments if isinstance(argument, Tree)])
        return ast.Call(self.expression(callee), built, site, span=self.span(tree))

    def _argument(self, tree: ParseTree) -> ast.Argument:
        name, value = tree.children
        return ast.Argument(None if name is None else str(name), self.expression(value), span=self.span(tree))

    def _build_minus(self, tree: ParseTree) -> ast.Unary:
        return ast.Unary("-", self.expression(tree.children[0]), span=self.span(tree))

    def _build_negation(self, tree: ParseTree) -> ast.Unary:
        return ast.Unary("not", self.expression(tree.children[0]), span=self.span(tree))

    def _build_binary(self, tree: ParseTree) -> ast.Binary:
        left, operator, right = tree.children
        sign = cast("Literal['+', '-', '*', '/', '//', '%']", str(operator))
        return ast.Binary(sign, self.expression(left), self.expression(right), span=self.span(tree))

    def _build_compare(self, tree: ParseTree) -> ast.Compare:
        left, operator, right = tree.children
        sign = cast("Literal['==', '!=', '<', '<=', '>', '>=']", str(operator))
        return ast.Compare(sign, self.expression(left), self.expression(right), span=self.span(tree))

    def _build_is_in(self, tree: ParseTree) -> ast.Compare:
        left, right = self._expressions(tree.children)
        return ast.Compare("in", left, right, span=self.span(tree))

    def _build_not_in(self, tree: ParseTree) -> ast.Compare:
        left, right = self._expressions(tree.children)
        return ast.Compare("not in", left, right, span=self.span(tree))

    def _build_and_(self, tree: ParseTree) -> ast.Logical:
        left, right = self._expressions(tree.children)
        return ast.Logical("and", left, right, span=self.span(tree))

    def _build_or_(self, tree: ParseTree) -> ast.Logical:
        left, right = self._expressions(tree.children)
        return ast.Logical("or", left, right, span=self.span(tree))

    def _build_conditional(self, tree: ParseTree) -> ast.Conditional:
        return ast.Conditional(*self._expressions(tree.children), span=self.span(tree))

    def _build_list(self, tree: ParseTree) -> ast.ListLiteral:
        return ast.ListLiteral(self._expressions(tree.children), span=self.span(tree))

    def _build_comprehension(self, tree: ParseTree) -> ast.Comprehension:
        element, name, items, condition = tree.children
        site = self.site("loop")
        return ast.Comprehension(
            self.expression(element),
            str(name),
            self.expression(items),
            self._maybe(condition),
            site,
            self.span(cast("Token", name)),
            span=self.span(tree),
        )

    def _build_record(self, tree: ParseTree) -> ast.RecordLiteral:
        fields = tuple([self._field(child) for child in tree.children if isinstance(child, Tree)])
        return ast.RecordLiteral(fields, span=self.span(tree))

    def _field(self, tree: ParseTree) -> ast.RecordField:
        key, value = tree.children
        if isinstance(key, Token):
            name = ast.Template((str(key),), span=self.span(key))
        else:
            name = cast("ast.Template", self.expression(key))
        return ast.RecordField(name, self.expression(value), span=self.span(tree))
