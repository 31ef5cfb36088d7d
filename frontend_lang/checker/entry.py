"""Whether the entry rules choose something to run."""

from __future__ import annotations

from frontend_lang.checker.report import Report
from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.entry import choose_entry
from frontend_lang.syntax import ast


def check_entry(program: ast.Program, entry: str | None, report: Report) -> None:
    """Report E0306 where a run would: no def of the name asked for, or several defs and no rule that chooses."""
    try:
        choose_entry(program, entry)
    except ProgramError as error:
        spans = [node.name_span for node in program.statements if isinstance(node, ast.Def)]
        report.add(error.code, spans[0] if spans else program.span, error.message, error.hint)
