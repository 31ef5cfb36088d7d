"""Constraints as automata over the bytes of a text: what can be read is compiled within a budget, the rest is refused.

The engine masks tokens with the same library, limits and options, so a text that the engine can generate under a
constraint is a text that `Grammar.matches`. One option is wider here: the values that programs hold may have control
characters, which JSON spells as \\u escapes; the engine generates none of those.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper

from frontend_lang.errors import ProgramError
from frontend_lang.json_schemas import prepared_schema
from frontend_lang.runtime import Choice, Constraint, JsonSchema, Lark, Regex
from frontend_lang.schema_faults import why_nothing_fits
from frontend_lang.values import MAX_TEXT, checked_text

MAX_PATTERN = 4 << 10  # bytes of a pattern: time and memory of compiling one grow with the square
MAX_GRAMMAR = 1 << 20  # bytes of a Lark grammar, or of all options of a choice
TRIAL_BYTES = 48  # how far a new grammar is walked to see that it stays within its budget
MATCH_SECONDS = 2.0  # for one text, beside
MATCH_SECONDS_PER_BYTE = 1e-5  # ten times what a grammar takes that is not ambiguous
_QUICK_SECONDS = 0.02
_FIRST_PIECE = 8  # bytes
_END = 256  # the id after the 256 bytes
JSON_OPTIONS: Final = {
    "item_separator": ",",
    "key_separator": ":",
    "whitespace_flexible": False,
    "coerce_one_of": False,
    "lenient": False,
}
LIMITS: Final = LLParserLimits(
    initial_lexer_fuel=1_000_000,
    step_lexer_fuel=200_000,
    step_max_items=50_000,
    max_lexer_states=30_000,
    max_grammar_size=200_000,
    verbose_errors=False,
)

_TOO_COSTLY = (
    "too large", "too many", "too big", "fuel", "max is", "limit", "unable to determine", "too complex", "nesting",
)  # fmt: skip
_UNSUPPORTED = (
    "unimplemented keys", "unknown format", "oneof constraints", "not disjoint",
    "only supported when", "circular references", "not supported: ",
)  # fmt: skip
_CARET = re.compile(r"\n( *)\^+\n")
_REASON = re.compile(r"error: (?!\n)([^\n]+)")


class ConstraintRefused(ProgramError):
    """E0504, E0505 or E0506; `position` is the offset of the fault in a pattern, where it is known."""

    def __init__(self, code: str, message: str, hint: str | None = None, *, position: int | None = None) -> None:
        super().__init__(code, message, hint)
        self.position = position


class _Bytes:
    """The vocabulary of single bytes, as the library wants a tokenizer."""

    eos_token_id = _END
    bos_token_id = None
    tokens = (*(bytes([byte]) for byte in range(_END)), b"<end>")
    special_token_ids = (_END,)

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)


@dataclass(frozen=True)
class Grammar:
    """A compiled constraint. Each question is asked of a copy of the automaton, so threads may share it.

    Time is linear in the text. States are made on demand; a text that needs more than the budget allows is E0505.
    """

    constraint: Constraint
    _start: LLMatcher

    @staticmethod
    def of(constraint: Constraint) -> Grammar:
        """Compile, or take from the 256 last used. Raises E0504 (not readable), E0505 (too costly), E0506, E0507."""
        return _compiled(constraint)

    def matches(self, text: str) -> bool:
        """Whether the whole text fits. E0808 beyond `MAX_TEXT`, E0505 if that takes more states or time than it may."""
        return self.reject_position(text) is None

    def reject_position(self, text: str) -> int | None:
        """None if the whole text fits, else how many of its characters begin some text that does."""
        data = _encoded(text)
        if data is None:
            return 0
        matcher = self._start.deep_copy()
        consumed = _consumed(matcher, data)
        if consumed == len(data) and matcher.is_accepting():
            return None
        _check_budget(matcher)
        return len(data[:consumed].decode(errors="ignore"))


def _consumed(matcher: LLMatcher, data: bytes) -> int:
    """How many bytes the matcher takes. Raises E0505 where that takes too long.

    An ambiguous grammar may need time that grows with the square of the text and more, so the time is looked at after
    pieces of the text, of which each may double the last one as long as they are quick.
    """
    asked = time.perf_counter()
    deadline = asked + MATCH_SECONDS + MATCH_SECONDS_PER_BYTE * len(data)
    position, size = 0, _FIRST_PIECE
    while position < len(data):
        piece = data[position : position + size]
        taken = matcher.try_consume_tokens(list(piece))
        position += taken
        if taken < len(piece):
            break
        now = time.perf_counter()
        if now > deadline:
            raise _too_costly("constraint")
        size = 2 * size if now - asked < _QUICK_SECONDS else _FIRST_PIECE
        asked = now
    return position


def _encoded(text: str) -> bytes | None:
    try:
        return checked_text(text, MAX_TEXT).encode()
    except UnicodeEncodeError:  # half a surrogate pair is no text
        return None


@lru_cache(maxsize=256)
def _compiled(constraint: Constraint) -> Grammar:
    source = _source(constraint)
    failed, messages = LLMatcher.validate_grammar_with_warnings(source, _tokenizer(), limits=LIMITS)
    if failed:
        raise _refused(constraint, messages[0])
    matcher = LLMatcher(_tokenizer(), source, log_level=0, limits=LIMITS)
    _try_out(matcher.deep_copy())
    return Grammar(constraint, matcher)


@cache
def _tokenizer() -> LLTokenizer:
    return LLTokenizer(TokenizerWrapper(_Bytes()), n_vocab=_END + 1, eos_token=_END, slices=[])


def _source(constraint: Constraint) -> str:
    if isinstance(constraint, JsonSchema):
        schema = prepared_schema(constraint.schema, check_pattern)
        return LLMatcher.grammar_from_json_schema(schema, overrides=JSON_OPTIONS)  # type: ignore[arg-type]
    if isinstance(constraint, Lark):
        if "x-guidance" in constraint.grammar:
            raise ConstraintRefused("E0506", "x-guidance would change what JSON schemas mean", "remove it")
        return LLMatcher.grammar_from_lark(_bounded(constraint.grammar, "grammar", MAX_GRAMMAR))
    if isinstance(constraint, Choice):
        return LLMatcher.grammar_from_regex(_bounded(alternatives(constraint), "choice", MAX_GRAMMAR))
    return LLMatcher.grammar_from_regex(_whole_pattern(constraint.pattern))


def _bounded(text: str, what: str, most: int) -> str:
    if len(text.encode("utf-8", "surrogatepass")) > most:
        raise ConstraintRefused("E0505", f"a {what} of more than {most} bytes", "make it smaller")
    if _encoded(text) is None:
        raise ConstraintRefused("E0504", f"a {what} with half a surrogate pair is no text")
    return text


def _whole_pattern(pattern: str) -> str:
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        raise ConstraintRefused(
            "E0504", "the pattern ends with a single backslash", r"\\ is a backslash", position=len(pattern) - 1
        )
    return _bounded(pattern, "pattern", MAX_PATTERN)


def alternatives(choice: Choice) -> str:
    """The pattern that matches exactly the options."""
    if not choice.options:
        raise ConstraintRefused("E0504", "a choice without options", "give at least one")
    return "|".join(map(escaped, choice.options))


def escaped(text: str) -> str:
    """The pattern that matches exactly this text."""
    return "".join(letter if letter.isalnum() and letter.isascii() else f"\\x{{{ord(letter):X}}}" for letter in text)


@lru_cache(maxsize=256)
def check_pattern(pattern: str) -> None:
    """Raise E0504 or E0505 for a pattern as JSON schemas have it: it may match anywhere in the text."""
    schema = {"type": "string", "pattern": _whole_pattern(pattern)}
    source = LLMatcher.grammar_from_json_schema(schema, overrides=JSON_OPTIONS)  # type: ignore[arg-type]
    failed, messages = LLMatcher.validate_grammar_with_warnings(source, _tokenizer(), limits=LIMITS)
    if failed:
        raise _bad_pattern(messages[0])


def _refused(constraint: Constraint, message: str) -> ConstraintRefused:
    """The library's words as an error of ours."""
    if isinstance(constraint, (Regex, Choice)):
        return _bad_pattern(message)
    lowered = message.lower()
    if "failed to generate regex" in lowered:
        return ConstraintRefused(
            "E0506", "numbers between bounds so far from 0 cannot be generated", "use smaller bounds"
        )
    if (why := why_nothing_fits(message)) is not None:
        return ConstraintRefused("E0504", f"no text at all fits the schema: {why}", "see what excludes what")
    if "retrieving it failed" in lowered:
        return ConstraintRefused("E0504", "bad schema: its $schema is no dialect that is known", "leave it out")
    if any(words in lowered for words in _UNSUPPORTED):
        return ConstraintRefused("E0506", f"the schema asks for what cannot be generated: {message}")
    kind = "schema" if isinstance(constraint, JsonSchema) else "grammar"
    if any(words in lowered for words in _TOO_COSTLY):
        return _too_costly(kind)
    return ConstraintRefused("E0504", f"bad {kind}: {message.strip()}")


def _bad_pattern(message: str) -> ConstraintRefused:
    caret = _CARET.search(message) if "regex parse error" in message else None
    reason = _REASON.search(message)
    words = reason[1] if reason else message.splitlines()[0]
    if "lookarounds not supported" in message:
        words = r"`^` and `$` inside it, and borders such as `\b`, are not supported"
    if any(cost in words.lower() for cost in _TOO_COSTLY):
        return _too_costly("pattern")
    position = len(caret[1]) - 4 if caret else None  # the library indents the pattern by four
    return ConstraintRefused("E0504", f"bad pattern: {words}", position=position)


def _too_costly(kind: str) -> ConstraintRefused:
    return ConstraintRefused("E0505", f"the {kind} needs more states or time than a constraint may", "make it smaller")


def _check_budget(matcher: LLMatcher) -> None:
    """Raise E0505 if the automaton gave up, which is not the same as a text that does not fit."""
    message = matcher.get_error()
    if message and "NoExtension" not in message:
        raise _too_costly("constraint")


def _try_out(start: LLMatcher) -> None:
    """Walk a few bytes into the grammar: what has no way on fits no text (E0504), what outgrows its budget is E0505."""
    for stride in (0, 7):
        matcher = start.deep_copy()
        for step in range(TRIAL_BYTES):
            allowed = _allowed(matcher.compute_bitmask())
            _check_budget(matcher)
            if not allowed:
                if step == 0 and not matcher.is_accepting():
                    raise ConstraintRefused("E0504", "no text at all fits the constraint", "see what excludes what")
                break
            matcher.consume_token(allowed[(step + 1) * stride % len(allowed)])
        _check_budget(matcher)


def _allowed(bitmask: bytes) -> list[int]:
    """The bytes whose bit is set; the end is none."""
    number = int.from_bytes(bitmask, "little")
    return [byte for byte in range(_END) if number >> byte & 1]
