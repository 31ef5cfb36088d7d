"""The keywords, and terminals of the grammar in words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

ROLES = ("system", "user", "assistant")

STATEMENT_KEYWORDS = (
    *ROLES,
    *("param", "let", "text", "line", "gen", "select", "use", "set", "fork", "map", "if", "for", "repeat", "break"),
    *("continue", "return", "yield", "def", "tool", "type", "import", "assert", "check", "emit", "fail", "try", "test"),
)

# Where an expression can stand these are never names, so a variable of that name cannot be read.
EXPRESSION_KEYWORDS = ("if", "not", "true", "false", "none")

OTHER_KEYWORDS = (
    *("until", "from", "with", "as", "in", "by", "join", "keep", "elif", "else", "catch", "then", "or", "and"),
)

KEYWORDS = frozenset({*STATEMENT_KEYWORDS, *EXPRESSION_KEYWORDS, *OTHER_KEYWORDS})

# Habits from elsewhere -> what to write here.
FOREIGN_WORDS = {
    "while": "there is no `while`: write `repeat N { … }` with a `break`",
    "print": "there is no `print`: text goes to the context with `text …`; a result is given back with `return`",
    "function": "write `def`",
    "func": "write `def`",
    "fn": "write `def`",
    "var": "write `let`",
    "const": "write `let`",
    "generate": "write `gen`",
    "choose": "write `select`",
    "switch": "write `if … { } elif … { }`",
    "match": "write `if … { } elif … { }`",
    "except": "write `catch`",
    "include": "write `import`",
    **dict.fromkeys(("elsif", "elseif"), "write `elif`"),
}

# Values as other languages write them -> ours.
FOREIGN_VALUES = {
    **dict.fromkeys(("None", "null", "NULL", "nil", "undefined"), "none"),
    **dict.fromkeys(("True", "TRUE"), "true"),
    **dict.fromkeys(("False", "FALSE"), "false"),
}

# Words that go on a statement before them -> what that is.
CONTINUATIONS = {
    "else": "`else` follows the `}` of an `if`, as `elif` does",
    "elif": "`elif` follows the `}` of an `if`",
    "catch": "`catch` follows the `}` of a `try`",
    "join": "`join` follows the `}` of a fork",
}


def close_word(word: str, known: Iterable[str], likeness: float = 0.65) -> str | None:
    """The known word that a mistyped one is most like; letters that changed places count least."""
    candidates = [each for each in known if each != word]
    for each in candidates:
        if sorted(each) == sorted(word):
            return each
    return next(iter(difflib.get_close_matches(word, candidates, 1, likeness)), None)


def statement_hint(word: str) -> str | None:
    """For a name that stands where a statement begins: what was meant, if it is like a word of this or another
    language.
    """
    if word in CONTINUATIONS:
        return CONTINUATIONS[word]
    if word in KEYWORDS:
        return None
    close = word if word in FOREIGN_WORDS else close_word(word.lower(), _BEGIN_LINES) if len(word) > 1 else None
    return FOREIGN_WORDS.get(close) or f"did you mean `{close}`?" if close else None


_BEGIN_LINES = (*STATEMENT_KEYWORDS, *CONTINUATIONS, *FOREIGN_WORDS)

TEXT_TERMINALS = frozenset({"STRING", "RAW", "BLOCK", "RAWBLOCK"})
EXPRESSION_TERMINALS = TEXT_TERMINALS | {
    *(
        "NAME",
        "INT",
        "NUMBER",
        "DURATION",
        "REGEX",
        "TRUE",
        "FALSE",
        "NONE",
        "LPAR",
        "LSQB",
        "LBRACE",
        "MINUS",
        "NOT",
        "IF",
    ),
}
OPERATOR_TERMINALS = frozenset({"CMP", "ADD", "MUL", "IN", "NOT", "AND", "OR", "DOT", "LPAR", "LSQB"})
STATEMENT_TERMINALS = TEXT_TERMINALS | {"NAME", "SEMICOLON", *(word.upper() for word in STATEMENT_KEYWORDS)}

TERMINAL_WORDS = {
    "NAME": "a name",
    "INT": "a whole number",
    "NUMBER": "a number",
    "DURATION": "a duration",
    "REGEX": "a pattern re'…'",
    "REST": "`:` and text",
    "OPTMARK": "`?`",
    "$END": "the end",
}
