"""What all nodes have, and how to walk over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields


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
