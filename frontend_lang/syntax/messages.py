"""lark's exceptions in our words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from frontend_lang.syntax import words
from frontend_lang.syntax.intentions import (
    bounds_hint,
    changing_hint,
    missing_value,
    misspelt_keyword,
    statement_as_value,
    text_ended_in_hole,
)
from frontend_lang.syntax.positions import Problem

_FIRST_WORD = re.compile(r"[ \t]*(?:[{};][ \t]*)*([A-Za-z_]\w*)")
_ASSIGNED_KEYWORD = re.compile(r"[ \t]*(?:[{};][ \t]*)*([a-z]+)\s*$")
_IMPORT = re.compile(r"[ \t]*(?:[{};][ \t]*)*import\b")
_UNTIL = re.compile(r"\buntil\b")
_SWALLOWED = re.compile(r"\b(system|user|assistant|text|line)[ \t]*:[^\n]*\}[ \t]*$", re.MULTILINE)
_OPENERS = {"LBRACE": "}", "LPAR": ")", "LSQB": "]"}
_CLOSERS = {"RBRACE": "{", "RPAR": "(", "RSQB": "["}
_ITEMS = {"LBRACE": "fields", "LSQB": "items", "LPAR": "what stands in `(…)`"}
_FEW = 6  # keywords that can stand in one place inside a statement
_CHARACTER_HINTS = {
    "@": "@{…} works inside text; here write the expression alone",
    "!": "write `not`",
    "&": "write `and`",
    "|": "write `or`",
    "$": "a value is inserted into text with @{…}",
    "\\": 'escapes work in "…" only; inside @{…} of "…" write text as \'…\'',
    "“": 'use straight quotes "…"',
    "”": 'use straight quotes "…"',
    "‘": "use straight quotes '…'",
    "’": "use straight quotes '…'",
    "`": 'text is written in "…"',
}


def position_of(error: UnexpectedInput) -> int:
    """Offset of what was not expected."""
    return cast("int | None", error.pos_in_stream) or 0


class Explainer:
    """Explains errors of one source, which may be a part of it that ends at `end`."""

    def __init__(self, lark: Lark, source: str, end: int) -> None:
        self._terminals = {terminal.name: terminal.pattern for terminal in lark.terminals}
        self._source = source
        self._end = end

    def explain(self, error: UnexpectedInput) -> Problem:
        """What is wrong, where, and what to do about it."""
        ended = None if self._in_hole else text_ended_in_hole(self._source, *self._line_of(position_of(error)))
        if ended:
            return ended
        if isinstance(error, UnexpectedCharacters):
            return self._character(position_of(error))
        unexpected = cast("UnexpectedToken", error)  # there is no third kind
        return self._ending(unexpected) if unexpected.token.type == "$END" else self._token(unexpected)

    @property
    def _in_hole(self) -> bool:
        """Whether the source is the expression of an `@{…}`, so that text stands around it."""
        return self._end < len(self._source)

    def _line_of(self, position: int) -> tuple[int, int]:
        """Where the line of a position begins, and the position."""
        return self._source.rfind("\n", 0, position) + 1, position

    # --- characters ---

    def _character(self, position: int) -> Problem:
        character = self._source[position]
        if self._source.startswith('"""', position):
            return self._unclosed_block(position)
        if character in "\"'":
            return self._unclosed_quote(position)
        message = f"unexpected character `{character}`"
        if not character.isprintable():
            message = f"unexpected character U+{ord(character):04X}"
        hint = "names begin with a letter A-Z, a-z or _" if character.isalpha() else _CHARACTER_HINTS.get(character)
        return Problem("E0102", position, position + 1, message, hint)

    def _unclosed_block(self, position: int) -> Problem:
        match = re.compile('"+').match(self._source, position)
        fence = match.group() if match else '"""'
        hint = f"close it with {fence}"
        if len(fence) >= len('""""""'):
            hint = 'a longer fence of quotes needs the same fence at its end; the empty text is ""'
        return Problem("E0101", position, position + len(fence), "this block of text is never closed", hint)

    def _unclosed_quote(self, position: int) -> Problem:
        end = self._line_end(position)
        hint = 'end it with " on the same line, or use """ for text of several lines'
        if self._source[position] == "'":
            hint = "'…' is raw and ends at the next '; for text with an apostrophe write \"…\""
        return Problem("E0101", position, end, "this text is never closed", hint)

    def _line_end(self, position: int) -> int:
        end = self._source.find("\n", position, self._end)
        return end if end >= 0 else self._end

    # --- tokens ---

    def _ending(self, error: UnexpectedToken) -> Problem:
        for opener in _open_brackets(error):
            position = opener.start_pos or 0
            message = f"`{opener}` is never closed"
            return Problem("E0202", position, position + 1, message, self._closing_hint(opener))
        what = "the expression" if self._in_hole else "the program"
        expected = self._expected(error)
        return Problem("E0201", self._end, self._end, f"{what} ends too early: expected {expected}", None)

    def _closing_hint(self, opener: Token) -> str:
        swallowed = list(_SWALLOWED.finditer(self._source, opener.start_pos or 0, self._end))
        if opener.type == "LBRACE" and swallowed:
            match = swallowed[-1]
            line = self._source.count("\n", 0, match.start()) + 1
            text = f"the text after `{match.group(1)}:`"
            return f"the `}}` at the end of line {line} is part of {text}; put it on its own line"
        return f"add `{_OPENERS[opener.type]}`"

    def _token(self, error: UnexpectedToken) -> Problem:
        token = error.token
        start = token.start_pos or 0
        shown = ":" if token.type == "REST" else str(token).split("\n")[0][:30]
        end = start + len(shown)
        keyword = self._assigned_keyword(token)
        if keyword:
            keyword_start = self._source.rfind(keyword, 0, start)
            message = f"`{keyword}` is a keyword here and cannot be assigned to"
            return Problem("E0205", keyword_start, keyword_start + len(keyword), message, "rename the variable")
        meant = self._meant(error)
        if meant:
            return meant
        if token.type in _CLOSERS and not any(True for _ in _open_brackets(error)):
            return Problem(
                "E0201", start, end, f"`{shown}` closes nothing", f"remove it, or add the `{_CLOSERS[token.type]}`"
            )
        if _IMPORT.match(self._line_before(start)):
            begin = self._source.rfind("import", 0, start)
            message = "`import` takes the path of a file in quotes and a name for it"
            return Problem("E0201", begin, begin + len("import"), message, 'import "lib.rkv" as lib')
        if _chains(error):
            return Problem("E0201", start, end, "comparisons do not chain", "join two with `and`: a < b and b < c")
        message = f"unexpected `{shown}`, expected {self._expected(error)}"
        return Problem("E0201", start, end, message, self._token_hint(error))

    def _meant(self, error: UnexpectedToken) -> Problem | None:
        """A mistake that began before the token."""
        line_start, start = self._line_of(error.token.start_pos or 0)
        if self._in_hole:
            line_start = max(line_start, self._source.rfind("@{", 0, start))
        as_value = self._as_value(error, line_start, start)
        if as_value or self._in_hole or self._is_else_if(error):
            return as_value
        missing = missing_value(self._source, line_start, start)
        return missing or misspelt_keyword(self._source, line_start, start)

    def _as_value(self, error: UnexpectedToken, line_start: int, start: int) -> Problem | None:
        """A statement as a value, on this line or before the bracket that is open."""
        end = start + len(error.token) if str(error.token).isidentifier() else start
        found = statement_as_value(self._source, line_start, end)
        opener = next(_open_brackets(error), None)
        if found or opener is None or self._in_hole:
            return found
        return statement_as_value(self._source, *self._line_of(opener.start_pos or 0))

    def _is_else_if(self, error: UnexpectedToken) -> bool:
        before = self._line_before(error.token.start_pos or 0)
        return error.token.type == "IF" and before.rstrip().endswith("else")

    def _assigned_keyword(self, token: Token) -> str | None:
        if token.type != "EQUAL":
            return None
        match = _ASSIGNED_KEYWORD.match(self._line_before(token.start_pos or 0))
        return match.group(1) if match and match.group(1) in words.KEYWORDS else None

    def _line_before(self, position: int) -> str:
        return self._source[self._source.rfind("\n", 0, position) + 1 : position]

    def _token_hint(self, error: UnexpectedToken) -> str | None:
        token = error.token
        opener = next(_open_brackets(error), None)
        if opener is not None and token.type in _CLOSERS and opener != _CLOSERS[token.type]:
            line = self._source.count("\n", 0, opener.start_pos or 0) + 1
            return f"`{opener}` on line {line} is still open"
        line_text = self._line_before(token.start_pos or 0)
        if self._is_else_if(error):
            return "write `elif`"
        hint = self._order_hint(error) or self._separator_hint(error) or self._keyword_hint(error)
        return hint or self._word_hint(line_text + str(token)) or _CHARACTER_HINTS.get(str(token))

    def _order_hint(self, error: UnexpectedToken) -> str | None:
        token, accepts = error.token, set(error.accepts or ())
        start = token.start_pos or 0
        if token.type == "WITH" and _UNTIL.search(self._source, self._source.rfind("gen", 0, start) + 1, start):
            return "options stand before `until`: gen x with … until …"
        if token.type == "LPAR" and accepts >= {"NAME", "NONE"} and "NOT" not in accepts:
            return "types have no parentheses: name the inner one with `type`"
        if accepts == {"NAME", "OF"} or (accepts == {"EQUAL"} and token.type in ("RPAR", "COMMA", "LSQB")):
            return bounds_hint(self._line_before(start))
        if token.type in ("ADD", "MUL"):
            return changing_hint(self._line_before(start), str(token), self._source[start + len(token) : self._end])
        return None

    def _separator_hint(self, error: UnexpectedToken) -> str | None:
        """Where a comma could stand and the next item stands instead."""
        token, accepts = error.token, set(error.accepts or ())
        begins_item = token.type in words.EXPRESSION_TERMINALS | {"SEMICOLON"} or str(token).isidentifier()
        opener = next(_open_brackets(error), None)
        if opener is None or "COMMA" not in accepts or not begins_item:
            return None
        return f"separate {_ITEMS[opener.type]} with `,`"

    def _keyword_hint(self, error: UnexpectedToken) -> str | None:
        """For a misspelt keyword inside a statement."""
        patterns = [self._terminals[name] for name in error.accepts or () if name in self._terminals]
        known = sorted(each.value for each in patterns if isinstance(each, PatternStr) and each.value.isalpha())
        if not str(error.token).isidentifier() or len(known) > _FEW:
            return None
        close = words.close_word(str(error.token).lower(), known, 0.5)
        return f"did you mean `{close}`?" if close else None

    def _word_hint(self, line: str) -> str | None:
        match = None if self._in_hole else _FIRST_WORD.match(line)
        return words.statement_hint(match.group(1)) if match else None

    # --- what could stand there ---

    def _expected(self, error: UnexpectedToken) -> str:
        names = set(error.accepts or ())
        found: list[str] = []
        if {"DEF", "RETURN"} <= names:
            found.append("a statement")
            names -= words.STATEMENT_TERMINALS
        elif {"INT", "LPAR"} <= names:
            found.append("an expression")
            names -= words.EXPRESSION_TERMINALS
        elif {"NAME", "NONE"} <= names:
            found.append("a type")
            names -= words.EXPRESSION_TERMINALS
        elif names >= words.TEXT_TERMINALS:
            found.append("text in quotes")
            names -= words.TEXT_TERMINALS
        if names & {"CMP", "DOT", "ADD", "MUL"}:
            found.append("an operator")
            names -= words.OPERATOR_TERMINALS
        if found:
            names.discard("$END")
        return _in_words([*found, *sorted(self._terminal_words(names))])

    def _terminal_words(self, names: set[str]) -> Iterator[str]:
        for name in names:
            pattern = self._terminals.get(name)
            yield words.TERMINAL_WORDS.get(name) or (
                f"`{pattern.value}`" if isinstance(pattern, PatternStr) else name.lower()
            )


def _chains(error: UnexpectedToken) -> bool:
    """Whether a second comparison follows a first: operators could go on, but not this one."""
    accepts = error.accepts or set()
    return error.token.type in ("CMP", "IN") and "ADD" in accepts and "CMP" not in accepts


def _open_brackets(error: UnexpectedToken) -> Iterator[Token]:
    """Brackets that the parser has read and not yet closed, innermost first."""
    parser = error.interactive_parser
    for value in reversed(parser.parser_state.value_stack if parser else []):
        if isinstance(value, Token) and value.type in _OPENERS:
            yield value


def _in_words(choices: list[str]) -> str:
    if len(choices) < 2:
        return choices[0] if choices else "something else"
    return f"{', '.join(choices[:-1])} or {choices[-1]}"
