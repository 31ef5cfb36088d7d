"""What formatting must keep, whatever the program."""

from __future__ import annotations

import re

from lark import Token
from pygments.token import Error

from frontend_lang.formatting import format_source
from frontend_lang.formatting.gaps import Gaps
from frontend_lang.highlighting import RkvLexer
from frontend_lang.syntax import ast, parse
from frontend_lang.syntax.parser import grammar

TEXT = {"STRING", "RAW", "BLOCK", "RAWBLOCK", "REST", "REGEX"}


def tokens_of(source: str) -> list[Token]:
    tree = grammar(complete=True).parse(source, "start")
    return list(tree.scan_values(lambda value: isinstance(value, Token)))


def gaps_of(source: str) -> list[str]:
    """What stands between the tokens of a program, comments cut down to their sign."""
    tokens = tokens_of(source)
    starts, ends = [token.start_pos for token in tokens], [token.end_pos for token in tokens]
    between = [source[end:start] for end, start in zip([0, *ends], [*starts, len(source)], strict=True)]
    return [re.sub(r"#[^\n]*", "#", gap) for gap in between]


def comments_of(source: str) -> list[str]:
    """Comments of a program, in order, found between its tokens."""
    gaps = Gaps(source)
    found = [comment for token in tokens_of(source) for comment in gaps.take(token.start_pos, token.end_pos).comments]
    return [comment.text for comment in [*found, *gaps.rest()[0]]]


def texts_of(source: str) -> list[str]:
    """Texts and patterns as they are written, in order."""
    return [str(token) for token in tokens_of(source) if token.type in TEXT]


def sites_of(program: ast.Program) -> list[str]:
    return [getattr(node, "site", "") for node in ast.walk(program)]


def assert_formats(source: str) -> str:
    """The program formatted, after every promise of the formatter has been checked on it."""
    before = parse(source)
    assert before.program is not None, before.diagnostics
    formatted = format_source(source)
    after = parse(formatted).program
    assert after == before.program
    assert after is not None
    assert sites_of(after) == sites_of(before.program)
    assert comments_of(formatted) == comments_of(before.source)
    assert texts_of(formatted) == texts_of(before.source)
    assert format_source(formatted) == formatted
    assert not [gap for gap in gaps_of(formatted) if "\t" in gap or " \n" in gap or "\n\n\n" in gap]
    assert formatted == "" or formatted.endswith("\n")
    return formatted


def assert_highlights(source: str) -> list[tuple[object, str]]:
    """Kinds and texts of the highlighter's tokens, after a check that they are the source and nothing else."""
    found = list(RkvLexer().get_tokens_unprocessed(source))
    position = 0
    for start, kind, text in found:
        assert start == position
        assert text
        assert kind not in Error
        position += len(text)
    assert "".join(text for _, _, text in found) == source
    return [(kind, text) for _, kind, text in found]
