"""fork and map: statements, and what stands on the right of `=`, `return` and `yield` too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frontend_lang.syntax.tree.expressions import Expression, Option
from frontend_lang.syntax.tree.nodes import Node, Site, Span

if TYPE_CHECKING:
    from frontend_lang.syntax.tree.statements import Block


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


RightSide = Expression | Fork | Map
