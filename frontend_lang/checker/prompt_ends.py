"""Prompts that end with a space where a gen begins (W0402): followed through blocks, loops and branches.

A select and a typed gen re-open the last token of the prompt, so for them it does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from frontend_lang.checker.report import Report
from frontend_lang.syntax import ast

# The text statement with which the context ends, if it ends with a blank.
Ending = ast.TextStatement | None

_SHOWN = 40


def check_prompt_ends(program: ast.Program, report: Report) -> None:
    """Report W0402 in every context of a program."""
    ends = _PromptEnds(program.source, report)
    ends.after_all(program.statements, None)
    for node in ast.walk(program):
        if isinstance(node, (ast.Def, ast.Test, ast.Map)):
            ends.after(node.body, None)


class _PromptEnds:
    """Each method gives how the context ends after a node, given how it ended before."""

    def __init__(self, source: str, report: Report) -> None:
        self._source = source
        self._report = report
        self._handlers: Mapping[type, Callable[[Any, Ending], Ending]] = {
            ast.TextStatement: self._text,
            ast.Gen: self._gen,
            ast.Select: lambda node, ending: None,
            ast.Use: lambda node, ending: None,
            ast.RoleStatement: self._role,
            ast.Block: self._block,
            ast.If: self._if,
            ast.For: self._loop,
            ast.Repeat: self._loop,
            ast.Try: self._try,
            ast.CountFork: self._fork,
            ast.EachFork: self._fork,
            ast.ArmsFork: self._arms,
            **dict.fromkeys((ast.Let, ast.Assign, ast.Return, ast.Yield), self._right_side),
        }
        self._known: dict[tuple[int, int], Ending] = {}  # by block and ending: a loop is gone through twice

    def after(self, node: ast.Node | None, ending: Ending) -> Ending:
        """Nodes that are not listed add nothing to the context."""
        handler = self._handlers.get(type(node))
        return ending if handler is None else handler(node, ending)

    def after_all(self, statements: Iterable[ast.Statement], ending: Ending) -> Ending:
        """Statements one after the other."""
        for statement in statements:
            ending = self.after(statement, ending)
        return ending

    def _block(self, node: ast.Block, ending: Ending) -> Ending:
        key = id(node), id(ending)
        if key not in self._known:
            self._known[key] = self.after_all(node.statements, ending)
        return self._known[key]

    def _right_side(self, node: ast.Let | ast.Assign | ast.Return | ast.Yield, ending: Ending) -> Ending:
        return self.after(node.value, ending)

    def _text(self, node: ast.TextStatement, ending: Ending) -> Ending:
        value = node.value
        if not isinstance(value, ast.Template):
            return None
        if not value.parts and not node.newline:
            return ending
        last = value.parts[-1] if value.parts else ""
        return node if not node.newline and isinstance(last, str) and last.endswith((" ", "\t")) else None

    def _gen(self, node: ast.Gen, ending: Ending) -> Ending:
        reopens = node.type is not None and not (isinstance(node.type, ast.NamedType) and node.type.name == "str")
        if ending is not None and not reopens:
            self._warn(node, ending)
        return None

    def _role(self, node: ast.RoleStatement, ending: Ending) -> Ending:
        self.after(node.body, None)
        return None

    def _if(self, node: ast.If, ending: Ending) -> Ending:
        ends = [self.after(clause.body, ending) for clause in node.clauses]
        return _any([*ends, self.after(node.otherwise, ending)])

    def _loop(self, node: ast.For | ast.Repeat, ending: Ending) -> Ending:
        once = self.after(node.body, ending)
        return _any([self.after(node.body, once) if once is not None else None, ending])

    def _try(self, node: ast.Try, ending: Ending) -> Ending:
        body = self.after(node.body, ending)
        return _any([body, self.after(node.handler, body)])

    def _fork(self, node: ast.CountFork | ast.EachFork, ending: Ending) -> Ending:
        self.after(node.body, ending)
        return None if node.join.keep else ending

    def _arms(self, node: ast.ArmsFork, ending: Ending) -> Ending:
        for arm in node.arms:
            self.after(arm.body, ending)
        return None if node.join.keep else ending

    def _warn(self, node: ast.Gen, ending: ast.TextStatement) -> None:
        message = f"prompt ends with a space before gen `{node.name}`; many tokenizers then sample badly"
        self._report.add("W0402", _last_blank(ending.value.span, self._source), message, _better(ending.value))


def _any(endings: Iterable[Ending]) -> Ending:
    return next((ending for ending in endings if ending is not None), None)


def _better(text: ast.Expression) -> str:
    written = text.literal if isinstance(text, ast.Template) else None
    advice = "`select` and typed gen re-open the last token; "
    if written is None or not written.strip() or len(written) > _SHOWN or "\n" in written or '"' in written:
        return f"{advice}end the text before the space, the model writes it itself"
    return f'{advice}write "{written.rstrip()}", the model writes the space itself'


def _last_blank(span: ast.Span, source: str) -> ast.Span:
    """The last character of a text before its closing quotes."""
    inner = source[span.start : span.end].rstrip("\"'")
    if "\n" in inner and not inner.rsplit("\n", 1)[1].strip():  # the fence stands on a line of its own
        inner = inner.rsplit("\n", 1)[0]
    end = span.start + len(inner)
    line, col = span.line + inner.count("\n"), end - source.rfind("\n", 0, end)
    return ast.Span(line, max(1, col - 1), line, max(2, col), end - 1, end)
