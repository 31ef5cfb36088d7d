"""Every program in examples/, run from its file on scripted answers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import frontend_lang
from frontend_lang.scripted import ScriptedCall, ScriptedRuntime
from frontend_lang.sources import FolderSource

EXAMPLES = Path(frontend_lang.__file__).parents[1] / "examples"
TWELVE = [
    "chat",
    "sentiment",
    "invoice",
    "solve",
    "tot",
    "skeleton",
    "judge",
    "react",
    "summarise",
    "interview",
    "eval",
    "debate",
]


def run(name: str, answers: Any = (), *, scores: Any = None, tools: Any = (), **args: Any) -> frontend_lang.RunResult:
    runtime = ScriptedRuntime(answers, scores=scores)
    file, folder = EXAMPLES / f"{name}.rkv", FolderSource(EXAMPLES)
    try:
        return frontend_lang.run(
            file.read_text(encoding="utf-8"),
            args,
            runtime=runtime,
            file=file.name,
            modules=folder,
            data=folder,
            tools=tools,
        )
    finally:
        assert runtime.live == 0


def by_prompt(**answers: str) -> Callable[[str, ScriptedCall], str]:
    """The answer whose key (underscores are spaces) stands in the prompt, the last one that does."""

    def answer(prompt: str, call: ScriptedCall) -> str:
        return answers[max(answers, key=lambda key: prompt.rfind(key.replace("_", " ")))]

    return answer


def test_the_twelve_programs_of_the_specification_are_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.rkv")} >= set(TWELVE)


def test_chat() -> None:
    assert run("chat", ["Fjords."], city="Oslo").value == "Fjords."


def test_sentiment_is_what_scores_best() -> None:
    value = run("sentiment", scores={" positive": -2.0, " negative": -0.1, " mixed": -3.0}, review="Meh").value
    assert value["label"] == "negative"
    assert sum(value["probabilities"].values()) == pytest.approx(1)


def test_invoice_comes_back_as_a_record() -> None:
    text = '{"vendor":"A","date":"2025-05-03","total":3.5,"currency":"EUR","items":[{"name":"x","qty":2,"price":1.75}]}'
    invoice = run("invoice", [text]).value
    assert (invoice["total"], invoice["items"][0]["qty"]) == (3.5, 2)


def test_invoice_of_a_wrong_shape_is_no_value() -> None:
    with pytest.raises(frontend_lang.ProgramError) as caught:
        run("invoice", ['{"vendor":"A","date":"yesterday"}'])
    assert caught.value.code in ("E0601", "E0609")


def test_solve_takes_the_majority() -> None:
    attempts = iter(["7", "12", "12", "9", "12", "12", "12", "1"])

    def answer(prompt: str, call: ScriptedCall) -> str:
        return next(attempts) if prompt.endswith("Answer: ") else "Let me see."

    assert run("solve", answer).value == 12


def test_tot_goes_on_from_the_best_step() -> None:
    value = run("tot", lambda prompt, call: "step" if "Final" not in prompt else " 24", task="Make 24", depth=2).value
    assert value == "24"


def test_skeleton_writes_every_point() -> None:
    answers = by_prompt(Give_3_to_6="- one\n\n- two\n", Write_two_sentences="Two. Sentences.")
    assert run("skeleton", answers, question="Why?").value == "## - one\nTwo. Sentences.\n\n## - two\nTwo. Sentences."


def test_judge_marks_every_dimension() -> None:
    answers = by_prompt(score_from="Clear.", verdict="Fine.")
    value = run("judge", answers, essay="An essay.", dims=["clarity", "style"]).value
    assert value["mean"] == 1
    assert [mark["dim"] for mark in value["marks"]] == ["clarity", "style"]


def test_react_calls_tools_until_it_finishes() -> None:
    asked: list[str] = []

    def calc(expr: str) -> float:
        asked.append(expr)
        return 84.0

    def wiki(q: str) -> str:
        raise LookupError("nothing")

    steps = [
        '{"thought":"Look.","act":"wiki","input":"12*7"}',
        '{"thought":"Compute.","act":"calc","input":"12*7"}',
        '{"thought":"Done.","act":"finish","input":"84"}',
    ]
    assert run("react", steps, tools={"calc": calc, "wiki": wiki}).value == {"answer": "84", "steps": 3}
    assert asked == ["12*7"]


def test_react_has_tools_that_work() -> None:
    sys.path.insert(0, str(EXAMPLES))
    try:
        import react_tools
    finally:
        sys.path.remove(str(EXAMPLES))
    steps = ['{"thought":"Compute.","act":"calc","input":"12*(3+4)"}', '{"thought":"","act":"finish","input":"84"}']
    result = run("react", steps, tools=[react_tools.calc, react_tools.wiki])
    assert result.value == {"answer": "84", "steps": 2}


def test_summarise_notes_every_part() -> None:
    answers = by_prompt(Summarise_in_three="- a note", Merge_into_one="All of it.")
    runtime_calls = run("summarise", answers, doc="word " * 1000, size=300)
    assert runtime_calls.value == "All of it."
    assert runtime_calls.usage.completion_tokens == 4 * 3 + 3


def test_interview_grows_turn_by_turn() -> None:
    value = run("interview", ["One.", "Two."], questions=["a?", "b?"]).value
    assert value == [{"q": "a?", "a": "One."}, {"q": "b?", "a": "Two."}]


def test_eval_counts_hits_over_a_file() -> None:
    value = run("eval", scores={" positive": 0.0, " negative": -1.0, " mixed": -1.0}).value
    assert value == {"n": 12, "accuracy": pytest.approx(4 / 12)}


def test_debate_lets_the_longer_side_win() -> None:
    answers = by_prompt(Argue_for_it="Because.", Argue_against_it="Because of the children.")
    assert run("debate", answers, claim="x").value == "Because of the children."
