"""Going on after a syntax error: panic mode on lark's LALR parser.

The parser's stack is unwound to where a statement may begin, and the lexer jumps to the next line that starts with a
statement's keyword, or to the brace that closes the block.
"""

from __future__ import annotations

import re
from copy import copy
from typing import cast

from lark import Token
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


class Recovery:
    """lark's `on_error` for one source: collects problems, finds a place to go on; False means give up."""

    def __init__(self, explainer: Explainer, source: str, max_problems: int) -> None:
        self.problems: list[Problem] = []
        self.incomplete = False
        self._explainer = explainer
        self._source = source
        self._max_problems = max_problems
        self._stray_closers = 0  # closing braces to come whose opening ones were skipped

    def __call__(self, error: UnexpectedInput) -> bool:
        """Note the error and move the parser on."""
        if self._is_stray_closer(error):
            _jump(error, position_of(error) + 1)
            return True
        problem = self._explainer.explain(error)
        at_end = problem.code == "E0202" or (isinstance(error, UnexpectedToken) and error.token.type == "$END")
        unclosed_block = problem.code == "E0101" and self._source.startswith('"""', problem.start)
        if not (at_end and self.problems):
            self.problems.append(problem)
            self.incomplete = at_end or unclosed_block
        if at_end or unclosed_block or len(self.problems) == self._max_problems:
            return False
        return self._go_on(error)

    def _is_stray_closer(self, error: UnexpectedInput) -> bool:
        if not self._stray_closers or not isinstance(error, UnexpectedToken) or error.token.type != "RBRACE":
            return False
        parser = _parser(error)
        if any(isinstance(value, Token) and value.type == "LBRACE" for value in parser.parser_state.value_stack):
            return False
        self._stray_closers -= 1
        return True

    def _go_on(self, error: UnexpectedInput) -> bool:
        depth = _unwind(_parser(error))
        target = self._next_statement(error, depth)
        if target is None:
            return False
        _jump(error, target)
        return True

    def _next_statement(self, error: UnexpectedInput, depth: int) -> int | None:
        position = position_of(error)
        line_start = self._source.rfind("\n", 0, position) + 1
        match = _AT_LINE_START.match(self._source, line_start)
        if match and not self._source[line_start:position].strip(" \t"):
            self._stray_closers += depth
            return position
        in_block = _accepts(_parser(error), "RBRACE")
        scan_from = position + (1 if isinstance(error, UnexpectedCharacters) else 0)
        for found in _SCAN.finditer(self._source, scan_from):
            if found.group("keyword"):
                self._stray_closers += depth
                return found.start("keyword")
            if found.group("brace") == "{":
                depth += 1
            elif found.group("brace") == "}":
                if depth == 0 and in_block and found.start() > position:
                    return found.start()
                depth = max(0, depth - 1)
        return None


def _parser(error: UnexpectedInput) -> InteractiveParser:
    return error.interactive_parser


def _unwind(parser: InteractiveParser) -> int:
    """Pop until a statement may begin; how many opening braces were popped."""
    state = parser.parser_state
    braces = 0
    while not _accepts(parser, "DEF"):
        state.state_stack.pop()
        value = state.value_stack.pop()
        braces += isinstance(value, Token) and value.type == "LBRACE"
    return braces


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
