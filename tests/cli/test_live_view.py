"""What a terminal shows of a run: roles, branches, results; nothing that text could do to it."""

from __future__ import annotations

import io

from rich.console import Console

import frontend_lang
from frontend_lang.scripted import ScriptedRuntime
from radixkv.cli.live_view import ProgramView
from radixkv.cli.terminal import visible


def shown(source: str, answers: list[str], width: int = 60, **given: object) -> str:
    """The screen's text after a run, without colours."""
    stream = io.StringIO()
    view = ProgramView(Console(file=stream, width=width, force_terminal=False))
    frontend_lang.run(source, {}, runtime=ScriptedRuntime(answers=answers), on_event=view, seed=1, **given)
    view.close()
    return stream.getvalue()


def test_main_context_streams_with_its_roles() -> None:
    assert shown("user: Where?\nassistant gen place", ["In Oslo."]) == "user › Where?\nassistant › In Oslo.\n"


def test_a_try_after_a_rejected_one_begins_under_a_mark() -> None:
    screen = shown("user: Go\nassistant gen t with tries=3 until len(t) > 3", ["abc", "abcd"])
    assert screen == "user › Go\nassistant › abc\n↻ try 2\nabcd\n"


def test_branches_are_listed_in_order_at_the_join() -> None:
    source = "user: Colour?\nlet c = fork 2 { assistant gen t } join all"
    lines = shown(source, ["Red.", "Blue."]).splitlines()
    assert lines[1].startswith("fork ×2 · ")
    assert lines[2:] == ["[0] assistant › Red.", "[1] assistant › Blue.", "join all"]


def test_join_says_which_branch_wins() -> None:
    source = "user: Go\nlet c = fork 2 { assistant gen t; yield len(t) } join best by len(t)"
    assert shown(source, ["a", "abc"]).splitlines()[-1] == "join best · branch 1 wins"


def test_text_of_a_called_def_stays_out_of_the_branch_that_calls_it() -> None:
    called = "def f(x: str) -> str { user x; assistant gen y; return y }"
    source = f"{called}\nuser: Hi\nlet c = fork 1 {{ assistant gen t; yield f(t) }}"
    assert "secret" not in shown(source, ["plain", "secret"])


def test_what_is_emitted_and_what_tools_do_are_lines_of_their_own() -> None:
    source = (
        "tool half(n: int) -> int\nuser: Hi\nassistant gen t\nemit {t: t}\ntry { half(3) } catch e { }\nreturn half(4)"
    )
    assert shown(source, ["plain"], tools={"half": half}).splitlines() == [
        "user › Hi",
        "assistant › plain",
        'emit {"t": "plain"}',
        'tool half {"n": 3}',
        "tool `half` failed: odd",
        'tool half {"n": 4}',
    ]


def half(n: int) -> int:
    if n % 2:
        raise ValueError("odd")
    return n // 2


def test_long_prompts_are_cut_and_generated_text_is_not() -> None:
    prompt = "\\n".join(f"line {number}" for number in range(40))
    screen = shown(f'user "{prompt}"\nassistant gen t', ["\n".join(f"answer {number}" for number in range(40))])
    assert "… 35 more lines" in screen
    assert "answer 39" in screen


def test_model_output_is_neither_markup_nor_escape_sequences() -> None:
    screen = shown("user: Hi\nassistant gen t", ["[bold]x[/bold] \x1b[2J\x07 \u202e"])
    assert "[bold]x[/bold] ␛[2J␇ �" in screen


def test_visible_keeps_newlines_tabs_and_wide_characters() -> None:
    assert visible("a\n\tb 日本 😀") == "a\n\tb 日本 😀"


def test_a_narrow_terminal_gets_through() -> None:
    source = "user: Colour?\nlet c = fork 3 { assistant gen t } join all"
    assert "[2]" in shown(source, ["Red " * 30, "日本" * 30, "x" * 300], width=20)
