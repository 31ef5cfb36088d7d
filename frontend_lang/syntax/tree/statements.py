"""Statements, and the program that they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from frontend_lang.syntax.tree.branches import ArmsFork, CountFork, EachFork, Map, RightSide
from frontend_lang.syntax.tree.expressions import Expression, Option, Template
from frontend_lang.syntax.tree.nodes import Node, Site, Span
from frontend_lang.syntax.tree.types import Type


@dataclass(frozen=True)
class Block(Node):
    """`{ … }`; the span includes the braces."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Param(Node):
    """`param name: type = default`: an argument of the program."""

    name: str
    type: Type | None
    default: Expression | None
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Let(Node):
    """`let name: type = value`: declares a name in this frame."""

    name: str
    type: Type | None
    value: RightSide
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Assign(Node):
    """`name = value`: changes a declared name of this frame. The span begins at the name."""

    name: str
    value: RightSide


@dataclass(frozen=True)
class Evaluate(Node):
    """An expression by itself: a call runs, anything else is only for the console's echo (E0203 in a program)."""

    expression: Expression


@dataclass(frozen=True)
class TextStatement(Node):
    """`"…"`, `text …` or `line …`: append text to the context; `newline` for `line`, which adds a newline."""

    value: Expression
    newline: bool


RoleName = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class RoleStatement(Node):
    """`user …`: open the role, do the body, close the role. An expression is appended as text."""

    role: RoleName
    body: Block | Expression | Gen | Select


@dataclass(frozen=True)
class Gen(Node):
    """`gen name: type with options until condition`: generate into the context, declare or rebind the name."""

    name: str
    type: Type | None
    options: tuple[Option, ...]
    until: Expression | None
    site: Site = field(compare=False)
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Select(Node):
    """`select name from candidates with options`: append the likeliest candidate and bind it."""

    name: str
    candidates: Expression
    options: tuple[Option, ...]
    site: Site = field(compare=False)
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Use(Node):
    """`use f(x)`: run a def in this context; the checker has made sure that `call` is a Call."""

    call: Expression


@dataclass(frozen=True)
class Set(Node):
    """`set temp=0, max=20`: defaults until the end of the block."""

    options: tuple[Option, ...]


@dataclass(frozen=True)
class IfClause(Node):
    """A condition and what to do if it is the first that holds."""

    condition: Expression
    body: Block


@dataclass(frozen=True)
class If(Node):
    """`if … { } elif … { } else { }`; at least one clause."""

    clauses: tuple[IfClause, ...]
    otherwise: Block | None


@dataclass(frozen=True)
class For(Node):
    """`for name in items as index { }`; index counts from 0."""

    name: str
    items: Expression
    index: str | None
    body: Block
    site: Site = field(compare=False)
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Repeat(Node):
    """`repeat count { }`."""

    count: Expression
    body: Block
    site: Site = field(compare=False)


@dataclass(frozen=True)
class Break(Node):
    """Leave the innermost loop."""


@dataclass(frozen=True)
class Continue(Node):
    """Go on with the next round of the innermost loop."""


@dataclass(frozen=True)
class Return(Node):
    """`return value`: end the def, or the program."""

    value: RightSide


@dataclass(frozen=True)
class Yield(Node):
    """`yield value`: end the branch with this value."""

    value: RightSide


@dataclass(frozen=True)
class Parameter(Node):
    """`name: type = default` of a def or tool. The span begins at the name."""

    name: str
    type: Type | None
    default: Expression | None


@dataclass(frozen=True)
class Def(Node):
    """`def name(parameters) -> returns { }`."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: Type | None
    body: Block
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Tool(Node):
    """`tool name(parameters) -> returns with options`: a function of the host."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: Type | None
    options: tuple[Option, ...]
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class TypeDefinition(Node):
    """`type name = type`."""

    name: str
    type: Type
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Import(Node):
    """`import "path" as name`."""

    path: Template
    name: str
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Guard(Node):
    """`assert condition, message` (aborts) or `check condition, message` (is recorded)."""

    kind: Literal["assert", "check"]
    condition: Expression
    message: Expression | None


@dataclass(frozen=True)
class Emit(Node):
    """`emit value` (an event while running) or `fail value` (end the run with this error)."""

    kind: Literal["emit", "fail"]
    value: Expression


@dataclass(frozen=True)
class Try(Node):
    """`try { } catch name { }`."""

    body: Block
    name: str
    handler: Block
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Test(Node):
    """`test "title" with mock=[…] { }`."""

    title: Template
    options: tuple[Option, ...]
    body: Block


Statement = (
    Param
    | Let
    | Assign
    | Evaluate
    | TextStatement
    | RoleStatement
    | Gen
    | Select
    | Use
    | Set
    | CountFork
    | EachFork
    | ArmsFork
    | Map
    | If
    | For
    | Repeat
    | Break
    | Continue
    | Return
    | Yield
    | Def
    | Tool
    | TypeDefinition
    | Import
    | Guard
    | Emit
    | Try
    | Test
)


@dataclass(frozen=True)
class Program(Node):
    """A whole source. `source` is what was parsed: without byte-order mark, every line ending a single newline."""

    statements: tuple[Statement, ...]
    file: str
    source: str = field(compare=False, repr=False)
