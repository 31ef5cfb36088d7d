"""What was meant where the grammar gives up: misspelt keywords, statements as values, what was left out.

All of it is read off the text around the error, which is a guess; so it only chooses words, never what is an error.
"""

from __future__ import annotations

import re

from frontend_lang.syntax import words
from frontend_lang.syntax.positions import Problem
from frontend_lang.syntax.text import QUOTE_HINT, TextReader

_STATEMENT = "|".join(words.STATEMENT_KEYWORDS)
_QUOTED = re.compile(r''''[^'\n]*'|"{3,}|"(?:\\.|[^"\\\n])*"''')
_VALUE_BEGINS = r"(?:[=(\[,]|@\{|\b(?:return|yield|emit))[ \t]*"
_ROLE = r"system|user|assistant"
_AS_VALUE = re.compile(rf"{_VALUE_BEGINS}((?:(?:{_ROLE})[ \t]+)?(gen|select)[ \t]+([A-Za-z_]\w*))")
_TEXT_AS_VALUE = re.compile(rf"{_VALUE_BEGINS}({_ROLE}|text|line)[ \t]*$")
_HEAD = re.compile(r"[ \t]*(?:[{};][ \t]*)*([A-Za-z_]\w*)")
_TAIL = re.compile(r"[};][ \t]*([A-Za-z_]\w*)[ \t]*[^;}]*$")
_GOES_ON = re.compile(r"[ \t]*:|[ \t]+(?!(?:and|or|in)\b)[\w\"'{]")  # nothing that can follow a name on its line
_LEADS_STATEMENT = re.compile(rf"[ \t]*({_STATEMENT})\b")
_WANTS_VALUE = re.compile(
    r"(==|!=|<=|>=|//|[+*/%<=]|(?<![-])>|-|\b(?:and|or|not|in|then|assert|check|emit|fail|return|yield|until))$"
)
_PLAIN_TEXT = re.compile(r"[ \t]*(?:[{};][ \t]*)*(?:system|user|assistant|text|line)[ \t]*:")
_CHANGED = re.compile(r"[ \t]*(?:[{};][ \t]*)*([A-Za-z_]\w*)[ \t]*$")
_BOUNDED = re.compile(r"([A-Za-z_]\w*)[ \t]*\([^()]*$")
_BOUNDS = {
    "int": "int(min=1, max=5)",
    "float": "float(min=0, max=1)",
    "str": "str(max=80)",
    "list": "list(of=str, max=5)",
    "schema": "schema(file='x.json')",
}


def statement_as_value(source: str, start: int, end: int) -> Problem | None:
    """`let y = select m from …`: a `gen` or `select` where a value stands, in `source[start:end]` of one line."""
    line = _without_quoted(source[start:end])
    text = _TEXT_AS_VALUE.search(line) if source.startswith(":", end) else None
    if text:
        begin, message = start + text.start(1), f"`{text[1]}` is a statement, not a value"
        return Problem("E0205", begin, start + text.end(1), message, "write the text in quotes")
    found = _AS_VALUE.search(line)
    if found is None:
        return None
    begin = start + found.start(1)
    message = f"`{found[2]}` is a statement, not a value"
    hint = f"write `{found[1]}`; it binds {found[3]} itself"
    return Problem("E0205", begin, start + found.end(2), message, hint)


def missing_value(source: str, line_start: int, position: int) -> Problem | None:
    """A line that begins with a statement's keyword, after one that ends with an operator: `assert a ==`."""
    match = _LEADS_STATEMENT.match(source, line_start)
    if match is None or match.end() > position:
        return None
    wants = _wants_value(source, line_start)
    if wants is None:
        return None
    message = f"`{match[1]}` is a keyword: a value is missing before it"
    return Problem("E0205", match.start(1), match.end(1), message, f"finish the statement before: {wants}")


def _wants_value(source: str, line_start: int) -> str | None:
    """What is missing at the end of the last line of code before a line."""
    end = line_start - 1
    while end > 0:
        begin = source.rfind("\n", 0, end) + 1
        line = source[begin:end]
        code = _without_quoted(line).split("#")[0].rstrip()
        wants = None if _PLAIN_TEXT.match(line) else _WANTS_VALUE.search(code)
        if wants:
            return f"`{wants[1]}` on line {source.count(chr(10), 0, begin) + 1} needs a value"
        if code:
            return None
        end = begin - 1
    return None


def misspelt_keyword(source: str, line_start: int, position: int) -> Problem | None:
    """`imprt "x.rkv" as x`: a name that is no keyword, but begins a statement like one."""
    line = source[line_start:position]
    for match in (_TAIL.search(line), _HEAD.match(line)):
        if match is None or not _GOES_ON.match(source, line_start + match.end(1)):
            continue
        hint = words.statement_hint(match[1])
        if hint:
            begin = line_start + match.start(1)
            return Problem("E0201", begin, line_start + match.end(1), f"`{match[1]}` begins no statement", hint)
    return None


def text_ended_in_hole(source: str, line_start: int, position: int) -> Problem | None:
    """A text that a `"` inside its `@{…}` has ended, earlier on the line."""
    for match in _QUOTED.finditer(source, line_start, position):
        if match.group().startswith('"') and not match.group().startswith('"""'):
            problems: list[Problem] = []
            TextReader(source, problems).quoted(match.start(), match.end())
            for problem in problems:
                if problem.code == "E0104":
                    return Problem(problem.code, problem.start, problem.end, problem.message, QUOTE_HINT)
    return None


def changing_hint(line: str, operator: str, after: str) -> str | None:
    """`x += 1` and `x++`; `line` is what stands before the operator, `after` what follows it."""
    match = _CHANGED.match(line)
    if match is None or not after.startswith(("=", operator)):
        return None
    name = match[1]
    return f"write `{name} = {name} {operator} {'…' if after.startswith('=') else '1'}`"


def bounds_hint(line: str) -> str | None:
    """For a type whose bounds are not named; `line` is what stands before the error."""
    match = _BOUNDED.search(line)
    example = _BOUNDS.get(match[1]) if match else None
    return f"bounds are named: {example}" if example else None


def _without_quoted(line: str) -> str:
    """The line with quotes for what stands in quotes, of the same length."""
    return _QUOTED.sub(lambda match: '"' * len(match.group()), line)
