"""Names, scopes, calls and jumps: one walk over the program in source order.

A def sees its parameters, defs and builtins only, and so does a test. A branch reads the names around it, but declares
its own. What a `try` declares may have no value after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from frontend_lang.checker.branching import Branching
from frontend_lang.checker.reach import DECLARATIONS, leaves
from frontend_lang.checker.report import span_at
from frontend_lang.checker.scopes import Declaration, declared_names
from frontend_lang.checker.walking import Handler
from frontend_lang.syntax import ast


class Resolver(Branching):
    """Walks one program and reports. `interactive`: bare names are an echo, not a mistake."""

    def handlers(self) -> Mapping[type, Handler]:
        """Node class -> what is checked there."""
        return {
            **super().handlers(),
            ast.For: self._for,
            ast.Repeat: self._repeat,
            ast.Try: self._try,
            ast.RoleStatement: self._role_statement,
            ast.Def: self._def,
            ast.Tool: self._tool,
            ast.Test: self._test,
            ast.Break: self._loop_jump,
            ast.Continue: self._loop_jump,
            ast.Return: self._return,
            ast.Yield: self._yield,
        }

    def run(self) -> None:
        """Check the whole program."""
        self._check_declared_once()
        self.visit(*self.program.statements)
        for node in self._nested_declarations():
            word = type(node).__name__.lower().replace("typedefinition", "type")
            self.report.add("E0206", span_at(node.span, len(word)), f"`{word}` stands at top level only", "move it out")

    def _nested_declarations(self) -> Iterator[ast.Node]:
        top = {id(statement) for statement in self.program.statements}
        return (node for node in ast.walk(self.program) if isinstance(node, DECLARATIONS) and id(node) not in top)

    def _check_declared_once(self) -> None:
        seen: dict[str, ast.Span] = {}
        for node in self.program.statements:
            if not isinstance(node, DECLARATIONS) or isinstance(node, ast.Test):
                continue
            if node.name in seen:
                hint = f"it is declared on line {seen[node.name].line} already"
                self.report.add("E0302", node.name_span, f"`{node.name}` is declared twice", hint)
            seen.setdefault(node.name, node.name_span)
            if not isinstance(node, ast.Param):
                self.check_word(node.name, node.name_span)

    # --- blocks ---

    def _for(self, node: ast.For) -> None:
        self.visit(node.items)
        for name, declaration in declared_names(node):
            self.declare(name, declaration)
        self._loop(node.body)

    def _repeat(self, node: ast.Repeat) -> None:
        self.visit(node.count)
        self._loop(node.body)

    def _loop(self, body: ast.Block) -> None:
        self.frame.loops += 1
        self.visit(body)
        self.frame.loops -= 1

    def _try(self, node: ast.Try) -> None:
        """After it, a name that only one of its blocks declares may have no value, unless the other one leaves."""
        names = self.frame.names
        before = dict(names)
        self.visit(node.body)
        body = self._take_new(before)
        self.frame.doubtful.update(body)
        self.declare(node.name, Declaration("catch", node.name_span))
        self.visit(node.handler)
        handler = self._take_new(before)
        sure = {
            **(body if leaves(node.handler) else {}),
            **(handler if leaves(node.body) else {}),
            **{name: declaration for name, declaration in handler.items() if name in body},
        }
        names.update(sure)
        doubtful = {**body, **handler}
        self.frame.doubtful.update({name: doubtful[name] for name in doubtful if name not in sure})
        for name in sure:
            self.frame.doubtful.pop(name, None)

    def _take_new(self, before: Mapping[str, Declaration]) -> dict[str, Declaration]:
        """Remove from the frame, and give back, the names that it has not had before."""
        new = {name: declaration for name, declaration in self.frame.names.items() if name not in before}
        for name in new:
            del self.frame.names[name]
        return new

    def _role_statement(self, node: ast.RoleStatement) -> None:
        if self.role is not None:
            span, hint = span_at(node.span, len(node.role)), "close the outer role before it"
            self.report.add("E0316", span, f"`{node.role}` inside `{self.role}`", hint)
        with self.in_role(node.role):
            self.visit(node.body)

    # --- defs, tools and tests ---

    def _def(self, node: ast.Def) -> None:
        with self.inside("def", node.body.statements, outer=False), self.in_role(None):
            self._parameters(node.parameters)
            self.visit(node.returns, node.body)

    def _tool(self, node: ast.Tool) -> None:
        with self.inside("def", (), outer=False):
            self._parameters(node.parameters)
            self.visit(node.returns, *node.options)

    def _parameters(self, parameters: Sequence[ast.Parameter]) -> None:
        for parameter in parameters:
            span = span_at(parameter.span, len(parameter.name))
            self.visit(parameter.type, parameter.default)
            if parameter.name in self.frame.names:
                self.report.add("E0302", span, f"two parameters are named `{parameter.name}`", "rename one")
            self.declare(parameter.name, Declaration("parameter", span))

    def _test(self, node: ast.Test) -> None:
        with self.inside("test", node.body.statements, outer=False), self.in_role(None):
            self.visit(*node.options, node.body)

    # --- jumps ---

    def _loop_jump(self, node: ast.Break | ast.Continue) -> None:
        word = type(node).__name__.lower()
        if self.frame.loops:
            return
        if any(frame.loops for frame in self.frame.chain()):
            hint = "yield a value, and test it after the join"
            self.report.add("E0314", node.span, f"`{word}` cannot leave a branch", hint)
        else:
            self.report.add("E0311", node.span, f"`{word}` outside a loop", "it belongs into for or repeat")

    def _return(self, node: ast.Return) -> None:
        if self.frame.branch is not None:
            span, hint = span_at(node.span, len("return")), "use `yield` and return what the join gives"
            self.report.add("E0314", span, "`return` cannot leave a branch", hint)
        self.visit(node.value)

    def _yield(self, node: ast.Yield) -> None:
        if self.frame.branch is None:
            span = span_at(node.span, len("yield"))
            self.report.add("E0310", span, "`yield` outside a branch", "use `return`")
        self.visit(node.value)
