"""Types as they are written."""

from __future__ import annotations

from dataclasses import dataclass

from frontend_lang.syntax.tree.expressions import Option
from frontend_lang.syntax.tree.nodes import Node


@dataclass(frozen=True)
class NamedType(Node):
    """`str`, `int`, …, or a name given by `type`; `none` is one too, and `alias.Name` a type of an import."""

    name: str


@dataclass(frozen=True)
class GenericType(Node):
    """`list[argument]`."""

    name: str
    argument: Type


@dataclass(frozen=True)
class BoundedType(Node):
    """`int(min=1, max=5)`, `str(max=80)`, `schema(file='x.json')`, `list(of=T, max=6)`.

    `element` is the type given as `of=`, which is no expression and so no option.
    """

    name: str
    options: tuple[Option, ...]
    element: Type | None = None


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
