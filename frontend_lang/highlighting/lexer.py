"""A Pygments lexer for `.rkv` programs.

Brackets decide what a word is, as in the grammar: outside of them statements begin, and `user:` opens text to the end
of the line; inside, `{user: 1}` is a record with a name in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, include, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from frontend_lang.syntax.text import Hole, Piece, TextReader
from frontend_lang.syntax.words import EXPRESSION_KEYWORDS, OTHER_KEYWORDS, ROLES, STATEMENT_KEYWORDS

_TYPES = ("str", "int", "float", "bool", "json", "list", "schema")
_CONSTANTS = ("true", "false", "none")
_OPERATOR_WORDS = ("and", "or", "not", "in")
_EXPRESSION_WORDS = tuple({*EXPRESSION_KEYWORDS, "then", "else", "for"} - {*_CONSTANTS, *_OPERATOR_WORDS})
_STATEMENT_WORDS = tuple({*STATEMENT_KEYWORDS, *OTHER_KEYWORDS} - {*ROLES, *_OPERATOR_WORDS})
_NAME = r"[A-Za-z_]\w*"
_ESCAPE = re.compile(r"(\\(?:u\{[0-9A-Fa-f]{1,6}\}|[nt\"\\])|@@\{)")
_MARK = re.compile(r"(@@\{)")

_Tokens = Iterator[tuple[int, Any, str]]
_Pieces = Iterator[tuple[Any, str]]
_Reader = Callable[[TextReader, int, int], list[Piece]]


def _text(kind: Any, read: _Reader, marks: re.Pattern[str]) -> Callable[[RegexLexer, re.Match[str]], _Tokens]:
    """A rule's action: the text that has been matched whole, cut where the language's own reader finds @{…} in it."""

    def tokens(lexer: RegexLexer, match: re.Match[str], _context: Any = None) -> _Tokens:
        pieces = read(TextReader(match.string, []), match.start(), match.end())
        yield from _cut(lexer, match.string, match.span(), pieces, lambda text: _marked(text, kind, marks))

    return tokens


def _rest(lexer: RegexLexer, match: re.Match[str], _context: Any = None) -> _Tokens:
    """`user` and the text after its colon."""
    word, blanks = match.group(1), match.group(2)
    yield match.start(1), Keyword.Namespace if word in ROLES else Keyword, word
    if blanks:
        yield match.start(2), Whitespace, blanks
    yield match.start(3), Punctuation, ":"
    pieces = TextReader(match.string, []).rest(match.start(3), match.end())
    span = match.end(3), match.end()
    yield from _cut(lexer, match.string, span, pieces, lambda text: _marked(text, String, _MARK))


def _cut(
    lexer: RegexLexer, source: str, span: tuple[int, int], pieces: list[Piece], literal: Callable[[str], _Pieces]
) -> _Tokens:
    position, end = span
    for hole in pieces:
        if isinstance(hole, Hole):
            yield from _placed(position, literal(source[position : hole.start - 2]))
            yield hole.start - 2, String.Interpol, "@{"
            for offset, token, part in lexer.get_tokens_unprocessed(source[hole.start : hole.end], stack=("hole",)):
                yield hole.start + offset, token, part
            yield hole.end, String.Interpol, "}"
            position = hole.end + 1
    yield from _placed(position, literal(source[position:end]))


def _placed(position: int, pieces: _Pieces) -> _Tokens:
    for token, part in pieces:
        yield position, token, part
        position += len(part)


def _marked(text: str, kind: Any, marks: re.Pattern[str]) -> _Pieces:
    """Literal text, its escapes apart."""
    for index, part in enumerate(marks.split(text)):
        if part:
            yield String.Escape if index % 2 else kind, part


class RkvLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Splits any text into tokens; what no program contains becomes plain text, never an error.

    A text that is not closed is text to the end of its line, a block to the end of the source, so that nothing is
    scanned twice and time grows with the length of the source.
    """

    name = "radixkv prompt program"
    aliases: ClassVar[list[str]] = ["rkv"]
    filenames: ClassVar[list[str]] = ["*.rkv"]
    url = "https://pypi.org/project/radixkv/"
    version_added = ""

    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            include("blanks"),
            (r"\b(system|user|assistant|text|line)([ \t]*)(:)[^\n]*", _rest),
            (rf"\b(param|let|gen|select)(\s+)({_NAME})", bygroups(Keyword, Whitespace, Name.Variable)),
            (rf"\b(def|tool)(\s+)({_NAME})", bygroups(Keyword.Declaration, Whitespace, Name.Function)),
            (rf"\b(type)(\s+)({_NAME})", bygroups(Keyword.Declaration, Whitespace, Name.Class)),
            (r"\b(join)(\s+)(all|first|best|vote|concat)\b", bygroups(Keyword, Whitespace, Name.Builtin)),
            (r"\b(return|yield|emit|fail|from)(\s+)(\{)", bygroups(Keyword, Whitespace, Punctuation), "inside"),
            (r"(->|[=:|+])(\s*)(\{)", bygroups(Operator, Whitespace, Punctuation), "inside"),
            (words(ROLES, r"\b", r"\b"), Keyword.Namespace),
            include("expression"),
            (words(_STATEMENT_WORDS, r"\b", r"\b"), Keyword),
            include("others"),
        ],
        "inside": [
            include("blanks"),
            (rf"({_NAME})(\s*)(:)", bygroups(Name.Attribute, Whitespace, Punctuation)),
            include("expression"),
            (r"\{", Punctuation, "#push"),
            (r"[)\]}]", Punctuation, "#pop"),
            include("others"),
        ],
        "hole": [
            include("blanks"),
            (r"'[^'\n]*'|\"(?!\"\")(?:\\.|[^\"\\\n])*\"", String),
            (r"[\"'][^\n]*", String),
            include("code"),
            include("others"),
        ],
        "blanks": [(r"\s+", Whitespace), (r"#[^\n]*", Comment.Single)],
        "expression": [
            (r"re\'[^\'\n]*\'", String.Regex),
            (r'r(?P<rq>"{3,})(?!")[\s\S]*?(?<!")(?P=rq)(?!")', String.Heredoc),
            (r'(?P<bq>"{3,})(?!")[\s\S]*?(?<!")(?P=bq)(?!")', _text(String.Heredoc, TextReader.block, _MARK)),
            (r'r?"{3,}[\s\S]*', String),
            (r'"(?:\\.|[^"\\\n])*"', _text(String.Double, TextReader.quoted, _ESCAPE)),
            (r"'[^'\n]*'", String.Single),
            (r"[\"'][^\n]*", String),
            (r"[(\[]", Punctuation, "inside"),
            include("code"),
        ],
        "code": [
            (rf"(\.)(\s*)({_NAME})", bygroups(Operator, Whitespace, Name.Attribute)),
            (words(_CONSTANTS, r"\b", r"\b"), Keyword.Constant),
            (words(_OPERATOR_WORDS, r"\b", r"\b"), Operator.Word),
            (words(_EXPRESSION_WORDS, r"\b", r"\b"), Keyword),
            (words(_TYPES, r"\b", r"\b"), Keyword.Type),
            (r"\d+(?:ms|s|m|h)\b", Number),
            (r"\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)", Number.Float),
            (r"\d+", Number.Integer),
            (r"->|==|!=|<=|>=|//|[-+*/%<>=|?]", Operator),
            (rf"{_NAME}(?=\()", Name.Function),
        ],
        "others": [(r"[\[\](){},:;.]", Punctuation), (_NAME, Name), (r"[\s\S]", Text)],
    }
