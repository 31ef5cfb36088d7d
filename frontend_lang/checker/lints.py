"""Habits that go wrong: statements side by side, text that says something else than it seems to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from frontend_lang.checker.misplaced import meant_as_option
from frontend_lang.checker.prompt_ends import check_prompt_ends
from frontend_lang.checker.reach import DECLARATIONS, leaves
from frontend_lang.checker.report import Report, span_at
from frontend_lang.checker.swallowed import check_swallowed_statement
from frontend_lang.syntax import ast
from frontend_lang.syntax.words import CONTINUATIONS, FOREIGN_WORDS, KEYWORDS, close_word, statement_hint


def check_layout(program: ast.Program, report: Report, *, interactive: bool) -> None:
    """Report E0203, E0204, W0211, W0212, W0213, W0305, W0313 and W0402."""
    check_prompt_ends(program, report)
    for node in ast.walk(program):
        if isinstance(node, (ast.Program, ast.Block)):
            _check_sequence(node.statements, program.source, report, interactive=interactive)
        if isinstance(node, (ast.Call, ast.Index, ast.Slice)):
            _check_same_line(node, program.source, report)
        if isinstance(node, (ast.TextStatement, ast.RoleStatement)):
            _check_swallowed_brace(node, program, report)
            check_swallowed_statement(node, program, report)
        if isinstance(node, (ast.Def, ast.Test, ast.Map)):
            _check_mixing(node.body.statements, report)
    _check_mixing(tuple(node for node in program.statements if not isinstance(node, (ast.Def, ast.Test))), report)


def _check_sequence(statements: Sequence[ast.Statement], source: str, report: Report, *, interactive: bool) -> None:
    for statement in statements:
        if isinstance(statement, ast.Evaluate) and not isinstance(statement.expression, ast.Call) and not interactive:
            _report_bare(statement, report)
    for first, second in pairwise(statements):
        if first.span.end_line == second.span.line and ";" not in source[first.span.end : second.span.start]:
            hint = meant_as_option(second, source) if isinstance(second, ast.Assign) else None
            place, message = span_at(second.span, 1), "two statements on one line need a `;` between them"
            report.add("E0204", place, message, hint or "add `;`, or a new line")
        if leaves(first) and not isinstance(second, DECLARATIONS):
            report.add(
                "W0313", span_at(second.span, 1), "this is never reached", f"line {first.span.line} ends the block"
            )


def _report_bare(statement: ast.Evaluate, report: Report) -> None:
    expression = statement.expression
    if not isinstance(expression, ast.Name):
        report.add("E0203", statement.span, "this expression has no effect", "write `text …` to add it to the context")
        return
    name = expression.name
    hint = f"write `text {name}` to add its value to the context"
    if name in CONTINUATIONS or name in FOREIGN_WORDS:
        hint = statement_hint(name) or hint
    elif name in KEYWORDS:
        hint = f"`{name}` is a keyword that goes on what stands before it"
    elif len(name) > 2:
        close = close_word(name.lower(), sorted(KEYWORDS))
        hint = statement_hint(name) or (f"did you mean `{close}`?" if close else hint)
    report.add("E0203", statement.span, f"bare name `{name}` has no effect", hint)


def _check_same_line(node: ast.Call | ast.Index | ast.Slice, source: str, report: Report) -> None:
    before = node.callee if isinstance(node, ast.Call) else node.value
    opener = "(" if isinstance(node, ast.Call) else "["
    position = source.find(opener, before.span.end, node.span.end)
    gap = source[before.span.end : position]
    if "\n" in gap:
        line = before.span.end_line + gap.count("\n")
        col = position - source.rfind("\n", 0, position)
        span = ast.Span(line, col, line, col + 1, position, position + 1)
        message = f"this `{opener}` goes on the expression of line {before.span.end_line}"
        report.add("W0212", span, message, "write it on that line, or end that statement with `;`")


def _check_swallowed_brace(node: ast.TextStatement | ast.RoleStatement, program: ast.Program, report: Report) -> None:
    body = node.value if isinstance(node, ast.TextStatement) else node.body
    written = program.source[body.span.start : body.span.end]
    if not isinstance(body, ast.Template) or not written.startswith(":") or not written.rstrip().endswith("}"):
        return
    if written.count("}") > written.count("{"):
        end = body.span.start + len(written.rstrip())
        col = body.span.col + len(written.rstrip()) - 1
        span = ast.Span(body.span.line, col, body.span.line, col + 1, end - 1, end)
        report.add(
            "W0211", span, "this `}` is part of the text", "a block's `}` goes on its own line, or quote the text"
        )


def _check_mixing(statements: Sequence[ast.Statement], report: Report) -> None:
    pieces = list(_context_pieces(statements))
    roles = [piece for piece in pieces if isinstance(piece, ast.RoleStatement)]
    bare = [piece for piece in pieces if not isinstance(piece, ast.RoleStatement)]
    if roles and bare:
        message = f"text outside roles in a context that has roles (line {roles[0].span.line})"
        first = bare[0].span
        end = first.end_col if first.end_line == first.line else first.col + 1
        span = ast.Span(first.line, first.col, first.line, end, first.start, first.end)
        report.add("W0305", span, message, "put it into a role: `user`, `assistant` or `system`")


def _context_pieces(statements: Sequence[ast.Node]) -> Iterator[ast.Node]:
    """What adds to one context: role statements whole, and text, gen and select outside of them."""
    for node in statements:
        if isinstance(node, (ast.RoleStatement, ast.TextStatement, ast.Gen, ast.Select)):
            yield node
        elif not isinstance(node, (ast.Def, ast.Test, ast.Map)):
            yield from _context_pieces(list(ast.children(node)))
