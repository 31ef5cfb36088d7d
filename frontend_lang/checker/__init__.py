"""Everything that can be known about a program without running it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frontend_lang.checker.cost import WorstCase, worst_case
from frontend_lang.checker.entry import check_entry, entry_def
from frontend_lang.checker.lints import check_layout
from frontend_lang.checker.options import check_options
from frontend_lang.checker.report import Report
from frontend_lang.checker.resolver import Resolver
from frontend_lang.checker.unbuilt import check_built
from frontend_lang.diagnostics import Diagnostic
from frontend_lang.syntax import ast

__all__ = ["Summary", "WorstCase", "check", "entry_def", "summarise", "worst_case"]


def check(program: ast.Program, entry: str | None = None, *, interactive: bool = False) -> list[Diagnostic]:
    """Errors and warnings in source order.

    `entry` is the def that shall run, if one was asked for. `interactive`: for statements typed into a console, where
    a bare expression is an echo and nothing needs an entry.
    """
    report = Report(program)
    Resolver(program, report, interactive=interactive).run()
    check_options(program, report)
    check_built(program, report)
    check_layout(program, report, interactive=interactive)
    if not interactive:
        check_entry(program, entry, report)
    return report.sorted()


@dataclass(frozen=True)
class Summary:
    """Counts for the last line of a check."""

    defs: int
    errors: int
    warnings: int
    worst_case: WorstCase | None

    def __str__(self) -> str:
        counts = f"{_many(self.defs, 'def')} · {_many(self.errors, 'error')} · {_many(self.warnings, 'warning')}"
        return f"{counts} · {_bounds(self.worst_case)}" if self.worst_case else counts


def summarise(program: ast.Program | None, diagnostics: Sequence[Diagnostic], entry: str | None = None) -> Summary:
    """What `check` says at the end; a program with errors has no worst case."""
    errors = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
    defs = sum(isinstance(statement, ast.Def) for statement in program.statements) if program else 0
    bounds = worst_case(program, entry) if program and not errors else None
    return Summary(defs, errors, len(diagnostics) - errors, bounds)


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _bounds(cost: WorstCase) -> str:
    branches = "unbounded branches" if cost.branches is None else f"{cost.branches} branches"
    tokens = "unbounded new tokens" if cost.tokens is None else f"{cost.tokens:,} new tokens".replace(",", " ")
    return f"worst case {branches}, {tokens}"
