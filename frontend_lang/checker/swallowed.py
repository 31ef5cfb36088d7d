"""Text that runs to the end of its line and takes with it what was meant as a statement: W0213."""

from __future__ import annotations

import re

from frontend_lang.checker.report import Report
from frontend_lang.syntax import ast
from frontend_lang.syntax.words import ROLES

_ROLE = rf"(?:{'|'.join(ROLES)})"
# Options or a list make a statement unmistakable wherever it stands; others only where a writer parted them from the
# text, by `;` or a wide gap. Look-behind keeps the search linear on long gaps.
_STATEMENT = re.compile(
    rf"""(?<=[ \t;])
         (?P<sure>(?:{_ROLE}[ \t]+)?(?:gen[ \t]+[A-Za-z_]\w*[ \t]+with[ \t]+\w+[ \t]*=
                                     |select[ \t]+[A-Za-z_]\w*[ \t]+from[ \t]*\[))
       | (?:(?<=[ ]{{2}})|(?<=\t)|(?<=;)|(?<=;[ ]))
         (?P<parted>{_ROLE}[ \t]+(?:gen|select)[ \t]+[A-Za-z_]\w*
                  | {_ROLE}[ \t]*(?::|["'])
                  | gen[ \t]+[A-Za-z_]\w*[ \t]*(?:;|until\b|$)
                  | (?:let|param)[ \t]+[A-Za-z_]\w*[ \t]*=
                  | fork[ \t]+(?:[0-9]+|\w+[ \t]+in\b)[^;{{]{{0,80}}\{{
                  | set[ \t]+[A-Za-z_]\w*[ \t]*=)""",
    re.VERBOSE,
)


def check_swallowed_statement(
    node: ast.TextStatement | ast.RoleStatement, program: ast.Program, report: Report
) -> None:
    """Warn of `user: Hi!  assistant gen reply`, which makes the gen a part of the user's text."""
    body = node.value if isinstance(node, ast.TextStatement) else node.body
    start = body.span.start
    if not isinstance(body, ast.Template) or not program.source.startswith(":", start):
        return
    match = _STATEMENT.search(program.source[start + 1 : body.span.end].rstrip())
    if match is None:
        return
    kind = match.lastgroup or "sure"
    first, end = match.start(kind) + 1, match.end(kind) + 1
    span = ast.Span(
        body.span.line, body.span.col + first, body.span.line, body.span.col + end, start + first, start + end
    )
    message = f"`{match.group(kind).rstrip()}` is part of the text: after a colon, text runs to the end of the line"
    report.add("W0213", span, message, "put the statement on its own line, or the text in quotes")
