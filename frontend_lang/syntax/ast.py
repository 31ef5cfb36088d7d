"""The abstract syntax tree of a prompt program.

Every node is a frozen dataclass with a `span`. Spans take no part in equality: two programs that differ in layout only
are equal. Sequences are tuples, identifiers plain strings. A `site` names a place of the program where something runs
(see `Site`); it too is left out of equality.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Literal


@dataclass(frozen=True, slots=True)
class Span:
    """A range of the source. Lines and columns count characters from 1, `end_col` is exclusive.

    `start` and `end` are offsets into `Program.source`, so `source[span.start : span.end]` is the text of the node.
    """

    line: int
    col: int
    end_line: int
    end_col: int
    start: int
    end: int


Site = str
"""Static id of a place that runs: `gen1`, `select2`, `fork1`, `map1`, `loop3`, `call2` at top level.

In def `solve` it is `solve.gen1`, in the second test `test2.gen1`. Counted per kind and per def in source order, so
that a change in one def leaves the sites, and with them the seeds, of all others alone. `for`, `repeat` and list
comprehensions share the kind `loop`.
"""


@dataclass(frozen=True, kw_only=True)
class Node:
    """What all nodes have."""

    span: Span = field(compare=False, repr=False)


# --- expressions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Template(Node):
    """Text in any of the four ways to write it: literal pieces and expressions, in order.

    Literal pieces are final: escapes are replaced, blocks dedented, `@@{` is `@{`. No two literals adjoin, none is
    empty; the empty text has no parts. An expression's value is data: never scanned again, never trusted.
    """

    parts: tuple[str | Expression, ...]

    @property
    def literal(self) -> str | None:
        """The text, if there is no expression in it."""
        if not self.parts:
            return ""
        first = self.parts[0]
        return first if len(self.parts) == 1 and isinstance(first, str) else None


@dataclass(frozen=True)
class Name(Node):
    """A variable, parameter, def or builtin."""

    name: str


@dataclass(frozen=True)
class Constant(Node):
    """A number, `true`, `false` or `none`. Compare with `is` where bool and int must differ."""

    value: int | float | bool | None


@dataclass(frozen=True)
class Duration(Node):
    """`10s`, `250ms`, `5m`, `1h`, in seconds."""

    seconds: float


@dataclass(frozen=True)
class Regex(Node):
    """`re'…'`."""

    pattern: str


@dataclass(frozen=True)
class Attribute(Node):
    """`value.name`: a field of a record (or a name of an import)."""

    value: Expression
    name: str


@dataclass(frozen=True)
class Index(Node):
    """`value[index]`."""

    value: Expression
    index: Expression


@dataclass(frozen=True)
class Slice(Node):
    """`value[start:stop]`; a missing end is None."""

    value: Expression
    start: Expression | None
    stop: Expression | None


@dataclass(frozen=True)
class Argument(Node):
    """An argument of a call; `name` where it was written `name=value`."""

    name: str | None
    value: Expression


@dataclass(frozen=True)
class Call(Node):
    """`callee(arguments)`. A def runs in a fresh context; a builtin just computes."""

    callee: Expression
    arguments: tuple[Argument, ...]
    site: Site = field(compare=False)


@dataclass(frozen=True)
class Unary(Node):
    """`-operand` or `not operand`."""

    operator: Literal["-", "not"]
    operand: Expression


@dataclass(frozen=True)
class Binary(Node):
    """Arithmetic, left to right; `+` also joins strings and lists."""

    operator: Literal["+", "-", "*", "/", "//", "%"]
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Compare(Node):
    """A comparison; they do not chain."""

    operator: Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Logical(Node):
    """`and` / `or`, evaluated only as far as needed."""

    operator: Literal["and", "or"]
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Conditional(Node):
    """`if condition then value else otherwise`."""

    condition: Expression
    value: Expression
    otherwise: Expression


@dataclass(frozen=True)
class ListLiteral(Node):
    """`[a, b]`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Comprehension(Node):
    """`[element for name in items if condition]`; `name` is known in element and condition only."""

    element: Expression
    name: str
    items: Expression
    condition: Expression | None
    site: Site = field(compare=False)
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class RecordField(Node):
    """`key: value` of a record; a bare name is the template of its letters."""

    key: Template
    value: Expression


@dataclass(frozen=True)
class RecordLiteral(Node):
    """`{key: value, …}`; order is kept, of equal keys the last one counts."""

    fields: tuple[RecordField, ...]


# --- fork and map: expressions, and statements too -----------------------------------------------------------------


@dataclass(frozen=True)
class Option(Node):
    """`name=value` after `with`, `set`, in a tool's or a bounded type's list. The span begins at the name."""

    name: str
    value: Expression


@dataclass(frozen=True)
class Join(Node):
    """How branches become one value. `policy`: all, first, best, vote, concat, or the name of a def.

    A fork without `join` gets policy `all`, `implicit`, with the span of the fork. `keep` makes the outcome part of
    the parent.
    """

    policy: str
    by: Expression | None
    keep: bool
    implicit: bool = False


@dataclass(frozen=True)
class CountFork(Node):
    """`fork count as index with … { } join …`: `count` equal branches."""

    count: Expression
    index: str | None
    options: tuple[Option, ...]
    body: Block
    join: Join
    site: Site = field(compare=False)


@dataclass(frozen=True)
class EachFork(Node):
    """`fork name in items as index with … { } join …`: a branch per item."""

    name: str
    items: Expression
    index: str | None
    options: tuple[Option, ...]
    body: Block
    join: Join
    site: Site = field(compare=False)
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Arm(Node):
    """`name { }`: one branch of a fork with named arms."""

    name: str
    body: Block


@dataclass(frozen=True)
class ArmsFork(Node):
    """`fork { a { } b { } } join …`: a branch per arm; `all` and custom joins get a record."""

    arms: tuple[Arm, ...]
    join: Join
    site: Site = field(compare=False)


Fork = CountFork | EachFork | ArmsFork


@dataclass(frozen=True)
class Map(Node):
    """`map name in items as index with … { }`: branches over a dataset, in fresh contexts."""

    name: str
    items: Expression
    index: str | None
    options: tuple[Option, ...]
    body: Block
    site: Site = field(compare=False)
    name_span: Span = field(compare=False, repr=False)


# --- types ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedType(Node):
    """`str`, `int`, …, or a name given by `type`; `none` is one too."""

    name: str


@dataclass(frozen=True)
class GenericType(Node):
    """`list[argument]`."""

    name: str
    argument: Type


@dataclass(frozen=True)
class BoundedType(Node):
    """`int(min=1, max=5)`, `str(max=80)`, `schema(file='x.json')`."""

    name: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class LiteralType(Node):
    """A text or number that the value must equal."""

    value: str | int | float


@dataclass(frozen=True)
class RegexType(Node):
    """Text that matches `re'…'` whole."""

    pattern: str


@dataclass(frozen=True)
class TypeField(Node):
    """`name: type` or `name?: type` of a record type."""

    name: str
    optional: bool
    type: Type


@dataclass(frozen=True)
class RecordType(Node):
    """`{name: type, …}`."""

    fields: tuple[TypeField, ...]


@dataclass(frozen=True)
class UnionType(Node):
    """`a | b`."""

    options: tuple[Type, ...]


Type = NamedType | GenericType | BoundedType | LiteralType | RegexType | RecordType | UnionType


# --- statements ----------------------------------------------------------------------------------------------------


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


Expression = (
    Template
    | Name
    | Constant
    | Duration
    | Regex
    | Attribute
    | Index
    | Slice
    | Call
    | Unary
    | Binary
    | Compare
    | Logical
    | Conditional
    | ListLiteral
    | Comprehension
    | RecordLiteral
)

RightSide = Expression | Fork | Map

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


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below `node`, in source order."""
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (element for element in value if isinstance(element, Node))


def walk(node: Node) -> Iterator[Node]:
    """`node` and all nodes below it, depth first in source order, without recursion."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(list(children(current))))
