"""Names and where they are declared, as known before a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from frontend_lang.syntax import ast

FrameKind = Literal["program", "def", "branch", "comprehension", "test"]


@dataclass(frozen=True)
class Declaration:
    """A name: what declares it (`let`, `gen`, `parameter`, …) and where."""

    kind: str
    span: ast.Span

    def __str__(self) -> str:
        return f"{self.kind}, line {self.span.line}"


@dataclass
class Frame:
    """Names of one frame. `outer` is what it may read; `later` is everything it declares somewhere."""

    kind: FrameKind
    outer: Frame | None = None
    names: dict[str, Declaration] = field(default_factory=dict)
    later: dict[str, Declaration] = field(default_factory=dict)
    loops: int = 0

    def chain(self) -> Iterator[Frame]:
        """The frame and the ones it may read, inside out."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.outer

    def find(self, name: str) -> Declaration | None:
        """The innermost declaration so far."""
        return next((frame.names[name] for frame in self.chain() if name in frame.names), None)

    def expected(self, name: str) -> Declaration | None:
        """A declaration further down, if a loop may come back from there to here."""
        return next((frame.later[name] for frame in self.chain() if name in frame.later and frame.loops), None)

    def visible(self) -> dict[str, Declaration]:
        """All names that can be read here."""
        found: dict[str, Declaration] = {}
        for frame in self.chain():
            for name, declaration in frame.names.items():
                found.setdefault(name, declaration)
        return found

    @property
    def branch(self) -> Frame | None:
        """The branch that this frame is or belongs to."""
        return next((frame for frame in self.chain() if frame.kind == "branch"), None)


def declared_names(node: ast.Node) -> Iterator[tuple[str, Declaration]]:
    """What a statement itself declares in its frame."""
    if isinstance(node, ast.Param):
        yield node.name, Declaration("param", node.name_span)
    elif isinstance(node, ast.Let):
        yield node.name, Declaration("let", node.name_span)
    elif isinstance(node, ast.Gen):
        yield node.name, Declaration("gen", node.name_span)
    elif isinstance(node, ast.Select):
        yield node.name, Declaration("select", node.name_span)
    elif isinstance(node, ast.For):
        yield node.name, Declaration("for", node.name_span)
        if node.index:
            yield node.index, Declaration("for", node.name_span)
    elif isinstance(node, ast.Try):
        yield node.name, Declaration("catch", node.name_span)
    elif isinstance(node, ast.Import):
        yield node.name, Declaration("import", node.name_span)


_OTHER_FRAMES = (ast.CountFork, ast.EachFork, ast.ArmsFork, ast.Map, ast.Def, ast.Test, ast.Comprehension)


def frame_declarations(statements: tuple[ast.Statement, ...]) -> dict[str, Declaration]:
    """Everything that statements declare in their own frame, in loops and conditions too; the first place counts."""
    found: dict[str, Declaration] = {}
    pending: list[ast.Node] = list(reversed(statements))
    while pending:
        node = pending.pop()
        for name, declaration in declared_names(node):
            found.setdefault(name, declaration)
        if not isinstance(node, _OTHER_FRAMES):
            pending += reversed(list(ast.children(node)))
    return found
