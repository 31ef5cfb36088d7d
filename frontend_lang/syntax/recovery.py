"""Going on after a syntax error: panic mode on lark's LALR parser.

The parser's stack is unwound to where a statement may begin, and the lexer jumps to the next line that starts with a
statement's keyword, or to the brace that closes the block. Where there is no such place, or the source ends inside a
block, the blocks that are open are closed, so that what has been read is a tree too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from typing import NamedTuple, cast

from lark import Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import LexerState
from lark.parsers.lalr_interactive_parser import InteractiveParser

from frontend_lang.syntax.messages import Explainer, position_of
from frontend_lang.syntax.positions import Problem
from frontend_lang.syntax.words import STATEMENT_KEYWORDS

_KEYWORD = rf"(?:{'|'.join(STATEMENT_KEYWORDS)})\b"
_AT_LINE_START = re.compile(rf"(?:^|(?<=\n))[ \t]*{_KEYWORD}")
# Quoted text and comments are skipped whole; braces are counted; a keyword that starts a line ends the search.
_SCAN = re.compile(
    rf"""'[^'\n]*'|(?P<fence>"{{3,}})(?!")[\s\S]*?(?<!")(?P=fence)(?!")|"(?!"")(?:\\.|[^"\\\n])*"|\#[^\n]*
    |(?P<brace>[{{}}])|\n[ \t]*(?P<keyword>{_KEYWORD})""",
    re.VERBOSE,
)
_NOTHING_MORE = re.compile(r"[ \t;}]*(#|\n|\Z)")

Range = tuple[int, int]  # the positions of the first character and of the one after the last


class Recovery:
    """lark's `on_error` for one source: collects problems, finds a place to go on; False means give up.

    `lost`: the ranges of the source whose statements are not in the tree, or not where they belong. `salvaged`: after
    giving up, the tree of what was read before.
    """

    def __init__(self, explainer: Explainer, source: str, max_problems: int, *, of_statements: bool) -> None:
        self.problems: list[Problem] = []
        self.incomplete = False
        self.salvaged: Tree[Token] | None = None
        self._explainer = explainer
        self._source = source
        self._max_problems = max_problems
        self._of_statements = of_statements
        self._lost: list[Range] = []
        self._stray_closers = 0  # closing braces to come whose opening ones were skipped
        self._orphans_from: int | None = None  # where a block begins whose opening brace was skipped

    def __call__(self, error: UnexpectedInput) -> bool:
        """Note the error and move the parser on."""
        if self._is_stray_closer(error):
            _jump(error, self._after_stray_closer(position_of(error) + 1))
            return True
        problem = self._explainer.explain(error)
        at_end = problem.code == "E0202" or (isinstance(error, UnexpectedToken) and error.token.type == "$END")
        unclosed_block = problem.code == "E0101" and self._source.startswith('"""', problem.start)
        if not (at_end and self.problems):
            self.problems.append(problem)
            self.incomplete = at_end or unclosed_block
        if at_end or unclosed_block or len(self.problems) == self._max_problems or not self._go_on(error):
            if self._of_statements:
                self._salvage(error)
            return False
        return True

    @property
    def lost(self) -> tuple[Range, ...]:
        """Ranges of the source, as far as it has been parsed."""
        orphans = [] if self._orphans_from is None else [(self._orphans_from, len(self._source))]
        return (*self._lost, *orphans)

    def _is_stray_closer(self, error: UnexpectedInput) -> bool:
        if not self._stray_closers or not isinstance(error, UnexpectedToken) or error.token.type != "RBRACE":
            return False
        return _innermost_brace(_parser(error)) is None

    def _after_stray_closer(self, position: int) -> int:
        """Where to go on: what follows on the line (`else {`, `join …`) belongs to what was skipped."""
        self._stray_closers -= 1
        if not _NOTHING_MORE.match(self._source, position):
            target = self._scan(position, 0, in_block=False)
            position = len(self._source) if target is None else target
        if not self._stray_closers and self._orphans_from is not None:
            self._lost.append((self._orphans_from, position))
            self._orphans_from = None
        return position

    def _go_on(self, error: UnexpectedInput) -> bool:
        unwound = _unwind(_parser(error))
        begin = self._lost_from(error, unwound)
        target = self._next_statement(error, unwound.braces)
        if target is None:
            return False
        if self._stray_closers and self._orphans_from is None:
            self._orphans_from = begin
        self._lost.append((begin, target))
        _jump(error, target)
        return True

    def _lost_from(self, error: UnexpectedInput, unwound: _Unwound) -> int:
        """Where the statement begins of which the first words are on the stack or were, or one before it on its line:
        `gem x with max=)` begins with three statements, but means one.
        """
        begin = position_of(error) if unwound.begin is None else unwound.begin
        for value in reversed(_parser(error).parser_state.value_stack):
            if _is_statements(value):
                return self._line_of(value.children, begin)
            if _braces(value) > 0:
                break
            begin = _begin_of(value) or begin
        return begin

    def _line_of(self, statements: Sequence[Tree[Token]], begin: int) -> int:
        """Go back from a position over the statements that end on its line."""
        for statement in reversed(statements):
            if "\n" in self._source[statement.meta.end_pos : begin]:
                break
            begin = statement.meta.start_pos
        return begin

    def _salvage(self, error: UnexpectedInput) -> None:
        """Drop the statement that is being read, close all blocks, and end."""
        parser = _parser(error)
        self._lost.append((self._lost_from(error, _unwind(parser)), len(self._source)))
        while _innermost_brace(parser) is not None:
            if _accepts(parser, "RBRACE"):
                end = len(self._source)
                parser.feed_token(Token("RBRACE", "}", start_pos=end, end_pos=end))
            else:
                _pop(parser, _innermost_brace(parser) or 0)
                _unwind(parser)
        self.salvaged = parser.feed_eof()  # type: ignore[no-untyped-call]

    def _next_statement(self, error: UnexpectedInput, depth: int) -> int | None:
        position = position_of(error)
        line_start = self._source.rfind("\n", 0, position) + 1
        match = _AT_LINE_START.match(self._source, line_start)
        if match and not self._source[line_start:position].strip(" \t"):
            self._stray_closers += depth
            return position
        scan_from = position + (1 if isinstance(error, UnexpectedCharacters) else 0)
        return self._scan(scan_from, depth, in_block=_accepts(_parser(error), "RBRACE"))

    def _scan(self, position: int, depth: int, *, in_block: bool) -> int | None:
        """The next line that begins with a keyword, or the brace that closes the block; `depth` braces were popped."""
        for found in _SCAN.finditer(self._source, position):
            if found.group("keyword"):
                self._stray_closers += depth
                return found.start("keyword")
            if found.group("brace") == "{":
                depth += 1
            elif found.group("brace") == "}":
                if depth == 0 and in_block:
                    return found.start()
                depth = max(0, depth - 1)
        return None


def _parser(error: UnexpectedInput) -> InteractiveParser:
    return error.interactive_parser


class _Unwound(NamedTuple):
    """What was popped: how many opening braces, and where the first of all begins."""

    braces: int
    begin: int | None


def _unwind(parser: InteractiveParser) -> _Unwound:
    """Pop until a statement may begin."""
    values = parser.parser_state.value_stack
    braces, begin = 0, None
    while not _accepts(parser, "DEF"):
        braces += _braces(values[-1])
        begin = _begin_of(values[-1]) or begin
        _pop(parser, len(values) - 1)
    return _Unwound(braces, begin)


def _begin_of(value: Tree[Token] | Token) -> int | None:
    return value.start_pos if isinstance(value, Token) else getattr(value.meta, "start_pos", None)


def _pop(parser: InteractiveParser, left: int) -> None:
    """Shorten the stack to so many values."""
    state = parser.parser_state
    del state.value_stack[left:], state.state_stack[left + 1 :]


def _innermost_brace(parser: InteractiveParser) -> int | None:
    """Where on the stack the innermost brace is that nothing has closed."""
    values = parser.parser_state.value_stack
    closed = 0
    for place in reversed(range(len(values))):
        closed -= _braces(values[place])
        if closed < 0:
            return place
    return None


def _braces(value: object) -> int:
    """1 for an opening brace, -1 for a closing one."""
    return {"LBRACE": 1, "RBRACE": -1}.get(value.type, 0) if isinstance(value, Token) else 0


def _is_statements(value: object) -> bool:
    return isinstance(value, Tree) and str(value.data).startswith("__")  # what lark makes of (stmt | ";")*


def _accepts(parser: InteractiveParser, terminal: str) -> bool:
    """Whether the terminal really fits: LALR tables alone promise more than the stack can keep."""
    if terminal not in parser.choices():  # type: ignore[no-untyped-call]
        return False
    trial = parser.copy(deepcopy_values=False)  # type: ignore[no-untyped-call]
    trial.parser_state.parse_conf = copy(trial.parser_state.parse_conf)
    trial.parser_state.parse_conf.callbacks = {}  # no trees are built
    try:
        trial.feed_token(Token(terminal, ""))
    except UnexpectedToken:
        return False
    return True


def _jump(error: UnexpectedInput, position: int) -> None:
    state = cast("LexerState", _parser(error).lexer_thread.state)
    state.line_ctr.char_pos = position
