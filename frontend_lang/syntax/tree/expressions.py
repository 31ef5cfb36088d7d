"""Expressions, and the options that are given as expressions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from frontend_lang.syntax.tree.nodes import Node, Site, Span


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


@dataclass(frozen=True)
class Option(Node):
    """`name=value` after `with`, `set`, in a tool's or a bounded type's list. The span begins at the name."""

    name: str
    value: Expression
