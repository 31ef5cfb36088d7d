"""From a document to lines."""

from __future__ import annotations

from collections.abc import Iterator

from frontend_lang.formatting.documents import Break, Comment, Doc, Either, Group, Indent, Notes, Parts, Word

WIDTH = 100  # characters of a line, where it can be broken
CONTINUATION = 4  # spaces before a line that goes on a statement


_Pending = tuple[Doc, int, bool]  # a document still to be printed, its indentation, whether it is on one line


class Printer:
    """Prints one document. Time grows with its length: to see whether a group fits, at most `WIDTH` words are read.

    Newlines and spaces are held back until something follows, so that a comment can still go to the end of the line
    before, and no line ends in a space.
    """

    def __init__(self) -> None:
        self._out: list[str] = []
        self._stack: list[_Pending] = []
        self._column = 0
        self._newlines = 0
        self._margin = 0  # where the line after the newlines begins
        self._space = False
        self._keeps_blank = False

    def print(self, doc: Doc) -> str:
        """The text; it ends with a newline unless it is empty."""
        self._stack.append((doc, 0, False))
        while self._stack:
            self._print(self._stack.pop())
        text = "".join(self._out)
        return f"{text}\n" if text else ""

    def _print(self, pending: _Pending) -> None:
        doc, indent, flat = pending
        match doc:
            case Word():
                self._word(doc, indent)
            case Either():
                self._text(doc.flat if flat else doc.broken)
            case Break():
                self._break(doc, indent, flat)
            case Parts():
                self._stack.extend([(part, indent, flat) for part in reversed(doc.parts)])
            case Indent():
                self._stack.append((doc.body, indent + doc.by, flat))
            case Group():
                self._stack.append((doc.body, indent, flat or (not doc.broken and self._fits(doc.body))))
            case Notes():
                self._comments(doc.comments, indent)

    # --- what is printed ---

    def _word(self, word: Word, indent: int) -> None:
        self._comments(word.comments, indent + CONTINUATION)
        if word.blank and self._keeps_blank:
            self._newlines = 2
        self._text(word.text)

    def _comments(self, comments: tuple[Comment, ...], margin: int) -> None:
        for comment in comments:
            if not self._newlines and self._out:
                self._newlines, self._margin = 1, margin
            if comment.own_line:
                if comment.blank and self._keeps_blank:
                    self._newlines = 2
                self._space = False
                self._text(comment.text)
                self._newlines, self._keeps_blank = 1, True
            else:
                self._out.append(f"  {comment.text}")

    def _break(self, item: Break, indent: int, flat: bool) -> None:
        if flat:
            self._text(item.flat)
            return
        self._newlines = max(self._newlines, 2 if item.blank else 1)
        self._margin = indent
        self._keeps_blank = item.item

    def _text(self, text: str) -> None:
        if text in ("", " "):
            self._space = self._space or text == " "
            return
        if self._newlines:
            self._out.append("\n" * self._newlines + " " * self._margin)
            self._column = self._margin
        elif self._space:
            self._out.append(" ")
            self._column += 1
        self._out.append(text)
        last_line = text.rfind("\n")
        self._column = self._column + len(text) if last_line < 0 else len(text) - last_line - 1
        self._newlines, self._space, self._keeps_blank = 0, False, False

    # --- what fits ---

    def _fits(self, doc: Doc) -> bool:
        """Whether the document on one line, and what follows up to where a line can break, has room."""
        room = WIDTH - (self._margin if self._newlines else self._column + self._space)
        for text, ends_line in self._ahead(doc):
            room -= len(text)
            if room < 0 or ends_line:
                break
        return room >= 0

    def _ahead(self, group: Doc) -> Iterator[tuple[str, bool]]:
        """Texts to come if `group` is printed on one line, and whether the line ends there."""
        yield from _texts(group, flat=True)
        for doc, _, flat in reversed(self._stack):
            yield from _texts(doc, flat)


def _texts(doc: Doc, flat: bool) -> Iterator[tuple[str, bool]]:
    walk: list[tuple[Iterator[Doc], bool]] = [(iter((doc,)), flat)]
    while walk:
        documents, flat = walk[-1]
        match next(documents, None):
            case None:
                walk.pop()
            case Word(text, comments):  # on one line, only the very first word has comments, before the line
                yield ("", True) if comments and not flat else (text.split("\n", 1)[0], "\n" in text)
            case Break() as item:
                yield (item.flat, False) if flat else ("", True)
            case Either() as either:
                yield (either.flat if flat else either.broken), False
            case Parts(parts):
                walk.append((iter(parts), flat))
            case Indent(body):
                walk.append((iter((body,)), flat))
            case Group(body):
                walk.append((iter((body,)), flat))
            case Notes():
                yield "", True
