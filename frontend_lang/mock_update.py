"""Writing recorded answers into the `mock=[…]` of tests, in the source of a program; all else stays byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from frontend_lang.syntax import ast

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


@dataclass(frozen=True, order=True)
class _Edit:
    """Replace the characters from `start` to `end`, offsets into the source that was parsed."""

    start: int
    end: int
    text: str


def with_mocks(source: str, recorded: Iterable[tuple[ast.Test, Sequence[str]]]) -> str:
    """The source, as it was read, with the answers of each test as its mock; tests that had none get one.

    `source` may have a byte-order mark and other line ends than what was parsed. Cost: linear.
    """
    pieces, at = [], 0
    offsets = _offsets(source)
    for edit in sorted(_edit(test, answers) for test, answers in recorded):
        pieces += [source[at : offsets[edit.start]], edit.text]
        at = offsets[edit.end]
    return "".join([*pieces, source[at:]])


def literal(text: str) -> str:
    r"""Text as `"…"` writes it."""
    escaped = "".join(_ESCAPES.get(letter) or _escaped(letter) for letter in text)
    return '"' + escaped.replace("@{", "@@{") + '"'


def _escaped(letter: str) -> str:
    return letter if letter.isprintable() else f"\\u{{{ord(letter):X}}}"


def _edit(test: ast.Test, answers: Sequence[str]) -> _Edit:
    written = f"[{', '.join(map(literal, answers))}]"
    for option in test.options:
        if option.name == "mock":
            return _Edit(option.value.span.start, option.value.span.end, written)
    if test.options:
        return _Edit(test.options[0].span.start, test.options[0].span.start, f"mock={written}, ")
    return _Edit(test.title.span.end, test.title.span.end, f" with mock={written}")


def _offsets(source: str) -> list[int]:
    """Where each character of the parsed source stands in the source as it was read; one more for the end."""
    offsets, at = [], 1 if source.startswith("\ufeff") else 0
    while at < len(source):
        offsets.append(at)
        at += 2 if source.startswith("\r\n", at) else 1
    return [*offsets, len(source)]
