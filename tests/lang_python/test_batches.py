"""How many rows of a batch run at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import frontend_lang
from frontend_lang import Limits, ProgramError, ScriptedRuntime, State, gen, prompt


@prompt
def ask(s: State, word: str) -> Any:
    s.user(word)
    s.assistant(gen("a"))
    return s["a"]


@pytest.fixture
def runtime() -> Iterator[ScriptedRuntime]:
    scripted = ScriptedRuntime()
    with frontend_lang.use_runtime(scripted):
        yield scripted
    assert scripted.live == 0


@pytest.mark.parametrize(
    ("width", "limits", "rows", "tasks"),
    [(2_000_000, None, 5, 5), (2_000_000, None, 200, 64), (100, Limits(live_branches=100), 200, 100), (3, None, 9, 3)],
)
def test_a_batch_has_no_more_tasks_than_rows_and_live_runs(
    runtime: ScriptedRuntime, width: int, limits: Limits | None, rows: int, tasks: int
) -> None:
    most = 0

    @prompt
    async def counting(s: State, n: int) -> int:
        nonlocal most
        most = max(most, len(asyncio.all_tasks()) - 1)
        await asyncio.sleep(0)
        return n

    assert counting.batch([{"n": n} for n in range(rows)], width=width, limits=limits) == list(range(rows))
    assert most <= tasks


@pytest.mark.parametrize(
    "wrong", [{"width": "3"}, {"width": 1.5}, {"width": -1}, {"width": True}, {"on_error": "stop"}]
)
def test_settings_of_a_batch_are_checked_before_it_begins(runtime: ScriptedRuntime, wrong: dict[str, Any]) -> None:
    with pytest.raises(ProgramError) as caught:
        ask.batch([{"word": "a"}], **wrong)
    assert (caught.value.code, runtime.prompts) == ("E0401", [])
    assert next(iter(wrong)) in caught.value.message
