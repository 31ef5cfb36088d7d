"""Everything that can be known about a program without running it."""

from __future__ import annotations

from frontend_lang.checker.cost import worst_case
from frontend_lang.checker.entry import check_entry
from frontend_lang.checker.lints import check_layout
from frontend_lang.checker.literals import check_literals
from frontend_lang.checker.options import check_options
from frontend_lang.checker.report import Report
from frontend_lang.checker.resolver import Resolver
from frontend_lang.checker.types import check_types
from frontend_lang.diagnostics import Diagnostic
from frontend_lang.modules import Module
from frontend_lang.syntax import ast
from frontend_lang.syntax.fragments import Fragment

__all__ = ["check", "check_fragment", "worst_case"]


def check(
    source: ast.Program | Module, entry: str | None = None, *, runnable: bool = False, interactive: bool = False
) -> list[Diagnostic]:
    """Errors and warnings about one file, in source order; `linking.link` has those about what it imports.

    `entry` is the def that shall run, if one was asked for; `runnable`: that nothing says what to run is an error
    (E0306), which it is not for a file of defs for others. `interactive`: for statements typed into a console, where
    a bare expression is an echo.
    """
    module = source if isinstance(source, Module) else Module(source)
    report = Report(module.program)
    _check_everywhere(module, report, interactive=interactive)
    if runnable or entry is not None:
        check_entry(module.program, entry, report)
    return report.sorted()


def check_fragment(module: Module, fragment: Fragment) -> list[Diagnostic]:
    """Errors in what is left of a file that does not parse, in source order; `module` is the fragment's program."""
    report = Report(module.program, fragment)
    _check_everywhere(module, report)
    return report.sorted()


def _check_everywhere(module: Module, report: Report, *, interactive: bool = False) -> None:
    Resolver(module, report, interactive=interactive).run()
    check_options(module.program, report)
    check_types(module, report)
    check_literals(module, report)
    check_layout(module.program, report, interactive=interactive)
