"""Names, scopes, calls and jumps: one walk over the program in source order.

A def sees its parameters, defs and builtins only. A branch reads the names around it, but declares its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from frontend_lang.checker.misplaced import meant_as_option, misplaced_keyword
from frontend_lang.checker.report import Report, closest, span_at, suggestion
from frontend_lang.checker.scopes import Declaration, Frame, FrameKind, declared_names, frame_declarations
from frontend_lang.checker.signatures import (
    UNBUILT_BUILTINS,
    Signature,
    builtin_signatures,
    check_call,
    signature_of,
)
from frontend_lang.syntax import ast
from frontend_lang.syntax.words import EXPRESSION_KEYWORDS, FOREIGN_VALUES, FOREIGN_WORDS, KEYWORDS

JOIN_POLICIES = ("all", "first", "best", "vote", "concat")


class Resolver:
    """Walks one program and reports. `interactive`: bare names are an echo, not a mistake."""

    def __init__(self, program: ast.Program, report: Report, *, interactive: bool) -> None:
        self._program = program
        self._report = report
        self._interactive = interactive
        self._builtins = builtin_signatures()
        self._callables = {
            node.name: signature_of(node) for node in program.statements if isinstance(node, (ast.Def, ast.Tool))
        }
        self._frame = Frame("program", later=frame_declarations(program.statements))
        self._program_names = self._frame.later
        self._role: str | None = None
        self._handlers: dict[type, Callable[[Any], None]] = {
            ast.Name: self._name,
            ast.Call: self._call,
            ast.Comprehension: self._comprehension,
            ast.Evaluate: self._evaluate,
            ast.Param: self._declaring,
            ast.Let: self._declaring,
            ast.Select: self._declaring,
            ast.Import: self._declaring,
            ast.Assign: self._assign,
            ast.Gen: self._gen,
            ast.For: self._for,
            ast.Repeat: self._repeat,
            ast.Try: self._try,
            ast.RoleStatement: self._role_statement,
            ast.CountFork: self._count_fork,
            ast.EachFork: self._each_fork,
            ast.ArmsFork: self._arms_fork,
            ast.Map: self._map,
            ast.Use: self._use,
            ast.Def: self._def,
            ast.Test: self._test,
            ast.Break: self._loop_jump,
            ast.Continue: self._loop_jump,
            ast.Return: self._return,
            ast.Yield: self._yield,
        }

    def run(self) -> None:
        """Check the whole program."""
        self._check_declared_once()
        for statement in self._program.statements:
            self._visit(statement)
        for node in self._nested_declarations():
            word = type(node).__name__.lower().replace("typedefinition", "type")
            self._report.add(
                "E0206", span_at(node.span, len(word)), f"`{word}` stands at top level only", "move it out"
            )

    # --- the walk ---

    def _visit(self, node: ast.Node) -> None:
        handler = self._handlers.get(type(node))
        if handler is not None:
            handler(node)
            return
        for child in ast.children(node):
            self._visit(child)

    def _visit_all(self, *nodes: ast.Node | None) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node)

    @contextmanager
    def _inside(self, kind: FrameKind, body: tuple[ast.Statement, ...], *, outer: bool) -> Iterator[Frame]:
        before = self._frame
        self._frame = Frame(kind, before if outer else None, later=frame_declarations(body))
        yield self._frame
        self._frame = before

    @contextmanager
    def _in_role(self, role: str | None) -> Iterator[None]:
        before, self._role = self._role, role
        yield
        self._role = before

    def _nested_declarations(self) -> Iterator[ast.Node]:
        kinds = (ast.Param, ast.Def, ast.Tool, ast.TypeDefinition, ast.Import, ast.Test)
        top = {id(statement) for statement in self._program.statements}
        return (node for node in ast.walk(self._program) if isinstance(node, kinds) and id(node) not in top)

    def _check_declared_once(self) -> None:
        seen: dict[str, ast.Span] = {}
        for node in self._program.statements:
            if not isinstance(node, (ast.Param, ast.Def, ast.Tool, ast.Import, ast.TypeDefinition)):
                continue
            if node.name in seen:
                hint = f"it is declared on line {seen[node.name].line} already"
                self._report.add("E0302", node.name_span, f"`{node.name}` is declared twice", hint)
            seen.setdefault(node.name, node.name_span)
            if not isinstance(node, ast.Param):
                self._check_word(node.name, node.name_span)

    # --- declaring ---

    def _declare(self, name: str, declaration: Declaration) -> None:
        if name not in self._frame.names:
            self._check_word(name, declaration.span)
        self._frame.names[name] = declaration

    def _check_word(self, name: str, span: ast.Span) -> None:
        if name in EXPRESSION_KEYWORDS:
            self._report.add(
                "E0205", span, f"`{name}` is a keyword: a variable of this name cannot be read", "rename it"
            )
        elif name in KEYWORDS:
            hint = "it works, but cannot be assigned to again; rename it"
            self._report.add("W0206", span, f"`{name}` is also a keyword", hint)
        elif name in self._builtins:
            self._report.add("W0304", span, f"`{name}` is also a builtin", "rename it")

    def _declaring(self, node: ast.Node) -> None:
        for child in ast.children(node):
            self._visit(child)
        for name, declaration in declared_names(node):
            self._declare(name, declaration)

    def _gen(self, node: ast.Gen) -> None:
        self._visit_all(node.type, *node.options)
        self._declare(node.name, Declaration("gen", node.name_span))
        self._visit_all(node.until)

    def _assign(self, node: ast.Assign) -> None:
        self._visit(node.value)
        name, span = node.name, span_at(node.span, len(node.name))
        if name in self._frame.names or (self._frame.loops and name in self._frame.later):
            return
        outer = self._frame.find(name)
        if outer is not None and self._frame.branch is not None:
            message = f"a branch cannot change `{name}` ({outer})"
            self._report.add("E0312", span, message, "yield the value and use what the join gives")
        elif name in self._callables:
            self._report.add("E0305", span, f"`{name}` is a def and cannot be assigned to", "choose another name")
        elif meant_as_option(node, self._program.source) is None:  # else E0204 says it
            close = closest(name, self._frame.names)
            hint = f"did you mean `{close}`?" if close else f"declare it: let {name} = …"
            self._report.add("E0305", span, f"`{name}` is not declared", hint)

    # --- names and calls ---

    def _name(self, node: ast.Name) -> None:
        name = node.name
        if self._frame.find(name) or self._frame.expected(name):
            return
        if name in self._callables or name in self._builtins:
            kind = "def" if name in self._callables else "builtin"
            self._report.add("E0304", node.span, f"`{name}` is a {kind}, not a value", f"call it: {name}(…)")
            return
        if name in KEYWORDS:
            self._report.add("E0205", node.span, *misplaced_keyword(node, self._program.source))
            return
        self._report.add("E0301", node.span, *self._unknown(name))

    def _unknown(self, name: str) -> tuple[str, str | None]:
        """Message and hint for a name that nothing declares here."""
        for frame in self._frame.chain():
            if name in frame.later:
                return f"`{name}` is used before it is declared", f"{frame.later[name]}"
        if name in self._program_names:
            hint = f"a def sees its parameters only: add one, and pass `{name}` ({self._program_names[name]})"
            return f"unknown name `{name}`", hint
        if name in FOREIGN_VALUES:
            return f"unknown name `{name}`", f"write `{FOREIGN_VALUES[name]}`"
        visible = self._frame.visible()
        close = closest(name, visible)
        if close:
            return f"unknown name `{name}`", f"did you mean `{close}` ({visible[close]})?"
        return f"unknown name `{name}`", suggestion(name, [*self._callables, *self._builtins]) if not visible else None

    def _evaluate(self, node: ast.Evaluate) -> None:
        if isinstance(node.expression, ast.Call) or self._interactive:
            self._visit(node.expression)  # for others E0203 says enough

    def _call(self, node: ast.Call) -> None:
        signature = self._signature(node.callee)
        if signature is not None:
            check_call(signature, node, self._report)
        if signature is not None and signature.name == "probs" and signature.name not in self._callables:
            self._check_probs(node)
        for argument in node.arguments:
            self._visit(argument)

    def _check_probs(self, node: ast.Call) -> None:
        if node.arguments and not isinstance(node.arguments[0].value, ast.Name):
            hint = "probs(x) after `select x from …`"
            self._report.add("E0307", node.arguments[0].span, "`probs` needs the name of a select", hint)

    def _signature(self, callee: ast.Expression) -> Signature | None:
        """What is called; None if that is unknown or has been reported."""
        if not isinstance(callee, ast.Name):
            if not (isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name)):
                self._report.add("E0304", callee.span, "only a def or a builtin can be called", "call it by its name")
            self._visit(callee)
            return None
        name = callee.name
        signature = self._callables.get(name) or self._builtins.get(name)
        if signature is not None:
            return signature
        declaration = self._frame.find(name)
        if name in UNBUILT_BUILTINS:
            self._report.add("E0299", callee.span, f"the builtin `{name}` is not in this version")
        elif declaration is not None:
            self._report.add(
                "E0304", callee.span, f"`{name}` ({declaration}) cannot be called", "only defs and builtins can"
            )
        else:
            hint = FOREIGN_WORDS.get(name) or suggestion(name, [*self._callables, *self._builtins])
            self._report.add("E0301", callee.span, f"unknown function `{name}`", hint)
        return None

    def _use(self, node: ast.Use) -> None:
        if not isinstance(node.call, ast.Call):
            self._report.add("E0304", node.call.span, "`use` needs a call of a def", "use f(…)")
        elif isinstance(node.call.callee, ast.Name) and node.call.callee.name in self._builtins:
            self._report.add("E0304", node.call.span, "`use` runs a def; a builtin adds no text", "text f(…)")
        self._visit(node.call)

    def _comprehension(self, node: ast.Comprehension) -> None:
        self._visit(node.items)
        with self._inside("comprehension", (), outer=True):
            self._declare(node.name, Declaration("for", node.name_span))
            self._visit_all(node.condition, node.element)

    # --- blocks ---

    def _for(self, node: ast.For) -> None:
        self._visit(node.items)
        for name, declaration in declared_names(node):
            self._declare(name, declaration)
        self._loop(node.body)

    def _repeat(self, node: ast.Repeat) -> None:
        self._visit(node.count)
        self._loop(node.body)

    def _loop(self, body: ast.Block) -> None:
        self._frame.loops += 1
        self._visit(body)
        self._frame.loops -= 1

    def _try(self, node: ast.Try) -> None:
        self._visit(node.body)
        self._declare(node.name, Declaration("catch", node.name_span))
        self._visit(node.handler)

    def _role_statement(self, node: ast.RoleStatement) -> None:
        if self._role is not None:
            hint = "close the outer role before it"
            span = span_at(node.span, len(node.role))
            self._report.add("E0316", span, f"`{node.role}` inside `{self._role}`", hint)
        with self._in_role(node.role):
            self._visit(node.body)

    # --- branches ---

    def _count_fork(self, node: ast.CountFork) -> None:
        self._visit_all(node.count, *node.options)
        self._branch(node.body, node.join, [(node.index, node.span)])
        self._join(node.join)

    def _each_fork(self, node: ast.EachFork) -> None:
        self._visit_all(node.items, *node.options)
        self._branch(node.body, node.join, [(node.name, node.name_span), (node.index, node.name_span)])
        self._join(node.join)

    def _arms_fork(self, node: ast.ArmsFork) -> None:
        seen: set[str] = set()
        for arm in node.arms:
            if arm.name in seen:
                span = span_at(arm.span, len(arm.name))
                self._report.add("E0309", span, f"two branches are named `{arm.name}`", "rename one")
            seen.add(arm.name)
            self._branch(arm.body, node.join, [])
        self._join(node.join)

    def _map(self, node: ast.Map) -> None:
        self._visit_all(node.items, *node.options)
        with self._in_role(None):
            self._branch(node.body, None, [(node.name, node.name_span), (node.index, node.name_span)])

    def _branch(self, body: ast.Block, join: ast.Join | None, names: list[tuple[str | None, ast.Span]]) -> None:
        with self._inside("branch", body.statements, outer=True):
            for name, span in names:
                if name is not None:
                    self._declare(name, Declaration("fork", span))
            self._visit(body)
            if join is not None and join.policy != "concat":
                self._visit_all(join.by)  # evaluated in the branch

    def _join(self, join: ast.Join) -> None:
        policy, by = join.policy, join.by
        if policy == "concat":
            self._visit_all(by)
        elif policy == "best" and by is None:
            self._report.add("E0315", join.span, "`join best` needs `by` and what to compare", "join best by score")
        elif policy not in ("best", "vote") and by is not None:
            self._report.add("E0315", by.span, f"`join {policy}` takes no `by`", "best, vote and concat do")
        if policy == "first":
            message = "`join first` takes whichever branch is ready first: results vary from run to run"
            self._report.add(
                "W0308",
                join.span,
                message,
                "best, vote and all do not: what they give depends on the branches' texts alone",
            )
        if policy not in JOIN_POLICIES:
            self._custom_join(join)

    def _custom_join(self, join: ast.Join) -> None:
        signature = self._callables.get(join.policy)
        if signature is None:
            hint = suggestion(join.policy, [*JOIN_POLICIES, *self._callables])
            self._report.add("E0301", join.span, f"no join policy and no def is named `{join.policy}`", hint)
        elif not signature.parameters or len(signature.needed) > 1:
            message = f"`join {join.policy}` calls it with one argument, the values of the branches"
            self._report.add("E0307", join.span, message, f"it is {signature}")

    # --- defs and jumps ---

    def _def(self, node: ast.Def) -> None:
        with self._inside("def", node.body.statements, outer=False) as frame, self._in_role(None):
            for parameter in node.parameters:
                span = span_at(parameter.span, len(parameter.name))
                self._visit_all(parameter.type, parameter.default)
                if parameter.name in frame.names:
                    self._report.add("E0302", span, f"two parameters are named `{parameter.name}`", "rename one")
                self._declare(parameter.name, Declaration("parameter", span))
            self._visit_all(node.returns, node.body)

    def _test(self, node: ast.Test) -> None:
        self._visit_all(*node.options)
        with self._inside("test", node.body.statements, outer=False), self._in_role(None):
            self._visit(node.body)

    def _loop_jump(self, node: ast.Break | ast.Continue) -> None:
        word = type(node).__name__.lower()
        if self._frame.loops:
            return
        if any(frame.loops for frame in self._frame.chain()):
            self._report.add(
                "E0314", node.span, f"`{word}` cannot leave a branch", "yield a value, and test it after the join"
            )
        else:
            self._report.add("E0311", node.span, f"`{word}` outside a loop", "it belongs into for or repeat")

    def _return(self, node: ast.Return) -> None:
        if self._frame.branch is not None:
            span = span_at(node.span, len("return"))
            self._report.add(
                "E0314", span, "`return` cannot leave a branch", "use `yield` and return what the join gives"
            )
        self._visit(node.value)

    def _yield(self, node: ast.Yield) -> None:
        if self._frame.branch is None:
            span = span_at(node.span, len("yield"))
            self._report.add("E0310", span, "`yield` outside a branch", "use `return`")
        self._visit(node.value)
