"""From source text to a Program, or to diagnostics; nothing else ever comes out."""

from __future__ import annotations

import contextlib
import functools
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from frontend_lang.diagnostics import Diagnostic, diagnose
from frontend_lang.syntax import ast
from frontend_lang.syntax.fragments import Fragment, pruned
from frontend_lang.syntax.limits import MAX_ERRORS, MAX_NESTING, MAX_SOURCE_BYTES
from frontend_lang.syntax.positions import LineTable, Problem
from frontend_lang.syntax.text import Hole

if TYPE_CHECKING:
    from lark import Lark

    from frontend_lang.syntax.build_expressions import ParseTree
    from frontend_lang.syntax.recovery import Range, Recovery


_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class ParseResult:
    """`program` is None exactly if there is an error among the diagnostics; `fragment` may then have what did parse.

    `incomplete`: the source ends inside something open, so a console should ask for more lines. `source` is what the
    diagnostics' positions refer to.
    """

    program: ast.Program | None
    diagnostics: tuple[Diagnostic, ...]
    source: str
    incomplete: bool = False
    fragment: Fragment | None = None


def parse(source: str, file: str = "<string>") -> ParseResult:
    """Parse a program. Reports up to 20 errors in one pass; raises nothing.

    The first call of a process compiles the grammar, which takes some tenths of a second.
    """
    text = source.removeprefix("\ufeff").replace("\r\n", "\n")
    return _Parse(text, file).run()


@functools.cache
def grammar(*, complete: bool = False) -> Lark:
    """The compiled grammar; starts are `start` and `expr`. The trees of the complete one have all tokens.

    Not cached on disk: lark's cache is a pickle, by default in a folder that others can write to.
    """
    from lark import Lark

    text = resources.files("frontend_lang.syntax").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        text,
        parser="lalr",
        start=["start", "expr"],
        propagate_positions=not complete,
        maybe_placeholders=not complete,
        keep_all_tokens=complete,
    )


class _Parse:
    """One parse: the source, its lines and what has been found so far."""

    def __init__(self, source: str, file: str) -> None:
        self._source = source
        self._file = file
        self._lines = LineTable(source)
        self._diagnostics: list[Diagnostic] = []
        self._lost: list[Range] = []
        self._incomplete = False

    def run(self) -> ParseResult:
        program = self._program() if self._is_acceptable() else None
        found = sorted(self._diagnostics, key=lambda diagnostic: (diagnostic.line, diagnostic.col))[:MAX_ERRORS]
        if program is None or not found:
            return ParseResult(program, tuple(found), self._source, self._incomplete)
        fragment = Fragment(program, tuple(self._lost))
        return ParseResult(None, tuple(found), self._source, self._incomplete, fragment)

    def _is_acceptable(self) -> bool:
        surrogate = _SURROGATE.search(self._source)
        if surrogate:
            message, hint = "half of a surrogate pair is no character", "save the file as UTF-8"
            self._report(Problem("E0105", surrogate.start(), surrogate.end(), message, hint))
        elif len(self._source.encode()) > MAX_SOURCE_BYTES:
            message = f"the program has {len(self._source.encode())} bytes; at most {MAX_SOURCE_BYTES} are allowed"
            self._report(Problem("E0501", 0, 0, message, "pass long texts as parameters instead"))
        return not self._diagnostics

    def _report(self, problem: Problem) -> None:
        span = self._lines.span(problem.start, problem.end)
        self._diagnostics.append(diagnose(problem.code, problem.message, span, self._file, problem.hint))
        self._lost.append((problem.start, problem.end))

    def _program(self) -> ast.Program | None:
        """The program, or what did parse of it."""
        from frontend_lang.syntax.build_expressions import TooDeep
        from frontend_lang.syntax.build_statements import Builder

        tree = self._statements()
        if tree is None:
            return None
        builder = Builder(self._source, self._lines, self._expression)
        try:
            program = builder.program(tree, self._file, self._source)
        except TooDeep as error:
            message = f"blocks and expressions nest more than {MAX_NESTING} deep"
            hint = "move a part into a def, or name it with `let`"
            self._report(Problem("E0502", error.span.start, error.span.end, message, hint))
            return None
        for problem in builder.problems:
            self._report(problem)
        return program

    def _expression(self, hole: Hole) -> ParseTree | None:
        if not self._source[hole.start : hole.end].strip():
            message, hint = "`@{}` is empty", "write an expression in it, or @@{ for the characters @{"
            self._report(Problem("E0201", hole.start - 2, hole.end + 1, message, hint))
            return None
        recovery = self._recovery(hole, max_problems=1, of_statements=False)
        tree = self._tree(hole, "expr", recovery)
        return None if recovery.problems else tree

    def _statements(self) -> ParseTree | None:
        """The tree of the whole source, of what did parse where there are problems."""
        whole = Hole(0, len(self._source))
        recovery = self._recovery(whole, max_problems=MAX_ERRORS, of_statements=True)
        tree = self._tree(whole, "start", recovery) or recovery.salvaged
        self._incomplete = recovery.incomplete
        if recovery.problems and tree is not None:
            self._lost = pruned(tree, [*self._lost, *recovery.lost])
        return tree

    def _recovery(self, part: Hole, *, max_problems: int, of_statements: bool) -> Recovery:
        from frontend_lang.syntax.messages import Explainer
        from frontend_lang.syntax.recovery import Recovery

        explainer = Explainer(grammar(), self._source, part.end)
        return Recovery(explainer, self._source, max_problems, of_statements=of_statements)

    def _tree(self, part: Hole, start: str, recovery: Recovery) -> ParseTree | None:
        """Parse `source[part.start:part.end]`; problems are reported here."""
        from lark import TextSlice
        from lark.exceptions import UnexpectedInput

        tree = None
        with contextlib.suppress(UnexpectedInput):  # what recovery could not go on after, it has noted
            tree = grammar().parse(TextSlice(self._source, part.start, part.end), start, on_error=recovery)
        for problem in recovery.problems:
            self._report(problem)
        return tree
