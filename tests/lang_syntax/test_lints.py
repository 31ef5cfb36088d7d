"""Warnings about text that says something else than it seems to."""

from __future__ import annotations

import pytest

from frontend_lang.checking import check_source
from frontend_lang.diagnostics import Diagnostic


def swallowed(source: str) -> list[Diagnostic]:
    return [found for found in check_source(source).diagnostics if found.code == "W0213"]


@pytest.mark.parametrize(
    ("line", "statement"),
    [
        ("user: Hi!  assistant gen reply with max=20", "assistant gen reply"),
        ("user: Hi! assistant gen reply with max=20", "assistant gen reply"),
        ("user: Hi; assistant gen x", "assistant gen x"),
        ("user: Hi;gen x", "gen x"),
        ("user: Hi! gen x with temp=0", "gen x with temp="),
        ("user: Hi?  assistant select x from options", "assistant select x"),
        ("text: Is it? select x from ['yes', 'no']", "select x from ["),
        ("system: Be terse.  user: Hello", "user:"),
        ("line: Hello; let x = 1", "let x ="),
        ("user: Hello; fork 3 { gen a }", "fork 3"),
        ("user: Hello; set temp=0", "set temp="),
    ],
)
def test_a_statement_in_the_rest_of_a_text_line_is_warned_of_at_its_place(line, statement):
    (found,) = swallowed(line)
    assert statement in found.message
    assert line[found.col - 1 : found.end_col - 1].startswith(statement)


@pytest.mark.parametrize(
    "line",
    [
        "user: Explain how the assistant can gen text; select the best and let me know.",
        "user: What does gen mean?  And select?",
        "user: The user said: hi",
        "user: Which is better; user stories or use cases?",
        "system: You are an assistant.  Users gen a lot of text.",
        "text: Let x = 3; find y.",
        "text: Set theory; set a and set b.",
        'user "Hi!  assistant gen reply with max=20"',
    ],
)
def test_ordinary_text_is_not_taken_for_a_statement(line):
    assert swallowed(line) == []
