"""Which part of a program runs."""

from __future__ import annotations

from pathlib import PurePath

from frontend_lang.checker.report import Report, suggestion
from frontend_lang.syntax import ast

_DECLARATIONS = (ast.Def, ast.Tool, ast.TypeDefinition, ast.Import, ast.Test)


def has_top_level(program: ast.Program) -> bool:
    """Whether the program has statements of its own; a `param` counts as one."""
    return any(not isinstance(statement, _DECLARATIONS) for statement in program.statements)


def entry_def(program: ast.Program, entry: str | None = None) -> ast.Def | None:
    """The def to run; None for the top-level statements, and where the rules choose nothing.

    `entry` if given; else top-level statements if there are any; else the def named like the file; else the only def.
    """
    defs = {node.name: node for node in program.statements if isinstance(node, ast.Def)}
    if entry is not None:
        return defs.get(entry)
    if has_top_level(program):
        return None
    if len(defs) == 1:
        return next(iter(defs.values()))
    return defs.get(PurePath(program.file).stem)


def check_entry(program: ast.Program, entry: str | None, report: Report) -> None:
    """Report E0306 if there are defs and none of them is the entry."""
    defs = [node for node in program.statements if isinstance(node, ast.Def)]
    if entry_def(program, entry) is not None:
        return
    names = ", ".join(f"`{node.name}`" for node in defs)
    span = defs[0].name_span if defs else program.span
    if entry is not None:
        hint = suggestion(entry, [node.name for node in defs]) or "the program has no def"
        report.add("E0306", span, f"no def is named `{entry}`", hint)
    elif defs and not has_top_level(program):
        stem = PurePath(program.file).stem
        message = f"nothing says which of these to run: {names}"
        hint = "choose with --entry NAME, add top-level statements, or name a def like the file"
        report.add("E0306", span, message, f"{hint} (`{stem}`)" if stem.isidentifier() else hint)
