"""Names and where they are declared, as known before a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
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
    """Names of one frame. `outer` is what it may read; `body` are the statements that declare its names.

    `doubtful`: names that a `try` declares, where it may have failed before.
    """

    kind: FrameKind
    body: tuple[ast.Statement, ...]
    outer: Frame | None = None
    names: dict[str, Declaration] = field(default_factory=dict)
    doubtful: dict[str, Declaration] = field(default_factory=dict)
    loops: int = 0

    @cached_property
    def declarations(self) -> list[tuple[str, Declaration]]:
        """Everything that the body declares in this frame, in source order."""
        return list(frame_declarations(self.body))

    @cached_property
    def later(self) -> dict[str, Declaration]:
        """The first declaration of each name, wherever in the body it is."""
        return dict(reversed(self.declarations))

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

    def doubt(self, name: str) -> Declaration | None:
        """The declaration in a `try` that may have failed before it."""
        frame = next((frame for frame in self.chain() if name in frame.names or name in frame.doubtful), None)
        return frame.doubtful.get(name) if frame is not None and name not in frame.names else None

    def binds(self, name: str, kinds: tuple[str, ...]) -> bool:
        """Whether the frame that has the name declares it, somewhere, by a statement of one of these kinds."""
        frame = next((frame for frame in self.chain() if name in frame.names or name in frame.later), self)
        return any(other == name and declaration.kind in kinds for other, declaration in frame.declarations)

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


_OTHER_FRAMES = (ast.CountFork, ast.EachFork, ast.ArmsFork, ast.Map, ast.Def, ast.Test, ast.Comprehension)


def frame_declarations(statements: tuple[ast.Statement, ...]) -> Iterator[tuple[str, Declaration]]:
    """Everything that statements declare in their own frame, in loops and conditions too."""
    pending: list[ast.Node] = list(reversed(statements))
    while pending:
        node = pending.pop()
        yield from declared_names(node)
        if not isinstance(node, _OTHER_FRAMES):
            pending += reversed(list(ast.children(node)))
