"""What is to be printed, before it is known where lines break.

A document is a tree of words, places where a line may break, and groups: a group is printed on one line if it fits,
else all of its breaks become newlines (Wadler, A prettier printer; Oppen, Prettyprinting). What contains something
broken is broken itself, so that formatting the result again decides the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comment:
    """A `#` comment. `own_line`: nothing stands before it on its line; `blank`: an empty line does."""

    text: str
    own_line: bool
    blank: bool


@dataclass(frozen=True, slots=True)
class Word:
    """A token as it is written, after the comments that stand before it; `blank`: after an empty line."""

    text: str
    comments: tuple[Comment, ...] = ()
    blank: bool = False


@dataclass(frozen=True, slots=True)
class Notes:
    """Comments that no token follows at their indentation, such as those before a closing brace."""

    comments: tuple[Comment, ...]


@dataclass(frozen=True, slots=True)
class Break:
    """`flat` on one line, a newline in a broken group.

    `item`: an empty line that the author wrote here is kept; `blank`: there shall be one.
    """

    flat: str = " "
    item: bool = False
    blank: bool = False


@dataclass(frozen=True, slots=True)
class Either:
    """One text on one line, another in a broken group."""

    flat: str
    broken: str


@dataclass(frozen=True, slots=True)
class Parts:
    """Documents one after the other. `leads`: begins with a comment; `must_break`: one stands further inside."""

    parts: tuple[Doc, ...]
    leads: bool
    must_break: bool


@dataclass(frozen=True, slots=True)
class Indent:
    """Newlines inside begin with `by` more spaces."""

    body: Doc
    by: int


@dataclass(frozen=True, slots=True)
class Group:
    """Printed on one line or broken at all its own breaks; `broken`: not on one line even if it fits."""

    body: Doc
    broken: bool


Doc = Word | Notes | Break | Either | Parts | Indent | Group

SPACE = Either(" ", " ")
COMMA = Word(",")


def concat(parts: Sequence[Doc]) -> Doc:
    """Documents one after the other."""
    if len(parts) == 1:
        return parts[0]
    must_break = any(map(_must_break, parts)) or any(map(leads, parts[1:]))
    return Parts(tuple(parts), bool(parts) and leads(parts[0]), must_break)


def group(*parts: Doc, broken: bool = False) -> Group:
    """A group; a comment inside breaks it, since it needs the rest of its line."""
    body = concat(parts)
    return Group(body, broken or _must_break(body))


def leads(doc: Doc) -> bool:
    """Whether a comment stands before the first word."""
    match doc:
        case Word():
            return bool(doc.comments)
        case Notes():
            return True
        case Parts():
            return doc.leads
        case Indent() | Group():
            return leads(doc.body)
        case _:
            return False


def leading_comments(doc: Doc) -> tuple[Doc, Doc]:
    """The comments before the first word as notes, and the document without them. The document leads with a comment."""
    match doc:
        case Word():
            return Notes(doc.comments), Word(doc.text)
        case Parts():
            notes, first = leading_comments(doc.parts[0])
            return notes, Parts((first, *doc.parts[1:]), False, doc.must_break)
        case Indent():
            notes, body = leading_comments(doc.body)
            return notes, Indent(body, doc.by)
        case Group():
            notes, body = leading_comments(doc.body)
            return notes, Group(body, doc.broken)
        case _:
            return doc, Either("", "")


def _must_break(doc: Doc) -> bool:
    match doc:
        case Group():
            return doc.broken
        case Parts():
            return doc.must_break
        case Indent():
            return _must_break(doc.body)
        case _:
            return False
