"""The walk over a program in source order, with the frame, the role and the names that hold at each node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from frontend_lang.checker.report import Report
from frontend_lang.checker.scopes import Declaration, Frame, FrameKind, declared_names
from frontend_lang.checker.signatures import builtin_signatures, declared_signatures
from frontend_lang.modules import Module
from frontend_lang.syntax import ast
from frontend_lang.syntax.words import EXPRESSION_KEYWORDS, KEYWORDS

Handler = Callable[[Any], None]


class Walk(ABC):
    """The base of the resolver. Layers add handlers; a node without one is walked through.

    `imports` maps each alias to its module, None for one that could not be linked: of that nothing more is said.
    """

    def __init__(self, module: Module, report: Report, *, interactive: bool) -> None:
        program = module.program
        self.program = program
        self.report = report
        self.interactive = interactive
        self.builtins = builtin_signatures()
        self.callables = declared_signatures(module)
        self.tools = module.tools
        self.imports = {node.name: module.imports.get(node.name) for node in imports_of(program)}
        self.top = Frame("program", program.statements)
        self.frame = self.top
        self.role: str | None = None
        self._handlers = self.handlers()

    @abstractmethod
    def handlers(self) -> Mapping[type, Handler]:
        """Node class -> what is checked there; the handler walks on itself."""

    def visit(self, *nodes: ast.Node | None) -> None:
        """Check nodes, in order."""
        for node in nodes:
            if node is None:
                continue
            handler = self._handlers.get(type(node))
            if handler is not None:
                handler(node)
            else:
                self.visit(*ast.children(node))

    @contextmanager
    def inside(self, kind: FrameKind, body: tuple[ast.Statement, ...], *, outer: bool) -> Iterator[Frame]:
        """A frame of its own, which may read the outer ones or not."""
        before = self.frame
        self.frame = Frame(kind, body, before if outer else None)
        yield self.frame
        self.frame = before

    @contextmanager
    def in_role(self, role: str | None) -> Iterator[None]:
        """Within an open role, or within none."""
        before, self.role = self.role, role
        yield
        self.role = before

    # --- declaring ---

    def declare(self, name: str, declaration: Declaration) -> None:
        """A name of this frame from here on."""
        if name not in self.frame.names:
            self.check_word(name, declaration.span)
        if self.frame is self.top and name in self.imports:
            self.report.add("E0302", declaration.span, f"`{name}` is the name of an import too", "rename one")
        self.frame.names[name] = declaration
        self.frame.doubtful.pop(name, None)

    def declaring(self, node: ast.Node) -> None:
        """The handler of a statement that declares what `declared_names` says, after its parts."""
        self.visit(*ast.children(node))
        for name, declaration in declared_names(node):
            self.declare(name, declaration)

    def check_word(self, name: str, span: ast.Span) -> None:
        """Report names that are keywords or builtins as well."""
        if name in EXPRESSION_KEYWORDS:
            message = f"`{name}` is a keyword: a variable of this name cannot be read"
            self.report.add("E0205", span, message, "rename it")
        elif name in KEYWORDS:
            hint = "it works, but cannot be assigned to again; rename it"
            self.report.add("W0206", span, f"`{name}` is also a keyword", hint)
        elif name in self.builtins:
            self.report.add("W0304", span, f"`{name}` is also a builtin", "rename it")


def imports_of(program: ast.Program) -> Iterator[ast.Import]:
    """The imports of a program."""
    return (node for node in program.statements if isinstance(node, ast.Import))
