"""Builtins on text."""

from __future__ import annotations

from hashlib import sha256

from frontend_lang.builtin_functions.arguments import a_list, a_text
from frontend_lang.errors import ProgramError
from frontend_lang.grammars import Grammar
from frontend_lang.runtime import Regex
from frontend_lang.values import (
    MAX_ITEMS,
    MAX_TEXT,
    Value,
    checked_items,
    checked_text,
    from_json,
    json_text,
    text_of,
)

FENCE_DIGITS = 16  # hexadecimal digits of a fence's tag


def text(x: Value) -> Value:
    """`str(x)`: what `@{x}` inserts."""
    return text_of(x)


def strip(text: Value) -> Value:
    """Without white space at both ends."""
    return a_text("strip", text).strip()


def lower(text: Value) -> Value:
    """In lower case."""
    return checked_text(a_text("lower", text).lower())


def matches(text: Value, pattern: Value) -> Value:
    """Whether the whole text matches the pattern, as in the type `re'…'`; in linear time. Raises E0504, E0505."""
    return Grammar.of(Regex(a_text("matches", pattern))).matches(a_text("matches", text))


def split(text: Value, sep: Value = None) -> Value:
    """Parts between separators; without one, words."""
    separator = None if sep is None else a_text("split", sep)
    if separator == "":
        raise ProgramError(
            "E0402", "`split` needs a separator that is not empty", "leave it out to split at white space"
        )
    parts: list[Value] = list(a_text("split", text).split(separator, MAX_ITEMS))
    return checked_items(parts)


def concat(items: Value, sep: Value = "") -> Value:
    """The texts of all items, joined."""
    separator = a_text("concat", sep)
    texts = [text_of(item) for item in a_list("concat", items)]
    _check_size("concat", sum(map(len, texts)) + len(separator) * max(0, len(texts) - 1))
    return checked_text(separator.join(texts))


def replace(text: Value, old: Value, new: Value) -> Value:
    """Every `old` in the text, from the left, becomes `new`."""
    whole, before, after = (a_text("replace", value) for value in (text, old, new))
    if not before:
        raise ProgramError("E0402", "`replace` needs a text to look for that is not empty")
    _check_size("replace", len(whole) + whole.count(before) * (len(after) - len(before)))
    return checked_text(whole.replace(before, after))


def _check_size(function: str, characters: int) -> None:
    if characters > MAX_TEXT:
        raise ProgramError("E0808", f"`{function}` of more than {MAX_TEXT} bytes")


def to_json(x: Value) -> Value:
    """Compact JSON."""
    return json_text(x)


def parse(text: Value) -> Value:
    """The value that a JSON text stands for."""
    return from_json(a_text("parse", text))


def fence(x: Value) -> Value:
    """The text of x between tags that it cannot close, since they are named by a hash of it.

    The tag is the first `FENCE_DIGITS` digits of SHA-256 over the text; a text that has the tag in it, if one could
    be made, is hashed again with the tag before it.
    """
    inner = text_of(x)
    tag = _fence_tag(inner)
    while tag in inner.lower():
        tag = _fence_tag(tag + inner)
    return checked_text(f"<{tag}>\n{inner}\n</{tag}>")


def _fence_tag(content: str) -> str:
    return f"data-{sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()[:FENCE_DIGITS]}"
