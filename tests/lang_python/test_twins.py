"""Python prompts and the text programs that they repeat: the same prompts, the same values."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import frontend_lang
from frontend_lang import State, prompt, select
from frontend_lang.scripted import ScriptedCall, ScriptedRuntime

EXAMPLES = Path(frontend_lang.__file__).parents[1] / "examples"
SHOTS = [("Loved it", "positive"), ("Broke in a day", "negative"), ("Great sound, poor battery", "mixed")]
STEPS = [
    '{"thought":"Look it up.","act":"wiki","input":"Oslo"}',
    '{"thought":"Not there.","act":"wiki","input":"Atlantis"}',
    '{"thought":"Add.","act":"calc","input":"2*3"}',
    '{"thought":"Done.","act":"finish","input":"6"}',
]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    return load


Example = Callable[[str], ModuleType]


def both(
    text: Callable[..., Any], python: Callable[..., Any], answers: Any, *args: Any, decided_early: bool = False
) -> tuple[Any, Any]:
    """The value of each, once the prompts of all gens and the final texts of all contexts have proved equal.

    `decided_early`: how far the branches have come that a decided vote cancels is a matter of timing.
    """
    runtimes = [ScriptedRuntime(answers), ScriptedRuntime(answers)]
    values = [run(*args, runtime=runtime, seed=1) for run, runtime in zip((text, python), runtimes, strict=True)]
    assert set(runtimes[0].prompts) == set(runtimes[1].prompts)
    assert decided_early or sorted(runtimes[0].prompts) == sorted(runtimes[1].prompts)
    assert decided_early or set(runtimes[0].history) == set(runtimes[1].history)
    assert [runtime.live for runtime in runtimes] == [0, 0]
    return values[0], values[1]


def test_solve(example: Example) -> None:
    def answers(prompt: str, call: ScriptedCall) -> str:
        return "36" if prompt.endswith("Answer: ") else "Three times twelve. Answer: none"

    program = frontend_lang.load(EXAMPLES / "solve.rkv")
    text, python = both(program.solve, example("solve").solve, answers, "3 * 12?", decided_early=True)
    assert text == python == 36


def test_judge(example: Example) -> None:
    def answers(prompt: str, call: ScriptedCall) -> str:
        return " Fine enough.\n" if "score from" in prompt and "verdict" not in prompt else "A draft."

    text, python = both(frontend_lang.load(EXAMPLES / "judge.rkv").judge, example("judge").judge, answers, "An essay.")
    assert text == python
    assert python["marks"][2] == {"dim": "style", "score": 1, "why": "Fine enough."}


def test_react(example: Example) -> None:
    tools = example("react_tools")
    program = frontend_lang.load(EXAMPLES / "react.rkv", tools=[tools.wiki, tools.calc])
    text, python = both(program.react, example("react").react, STEPS, "What is 2 * 3?")
    assert text == python == {"answer": "6", "steps": 4}


@prompt
def sentiment(s: State, review: str) -> Any:
    s += "Label each review as positive, negative or mixed.\n"
    for text, label in SHOTS:
        s += f"Review: {text}\nLabel: {label}\n"
    s += f"Review: {review}\n"
    s += "Label:"
    s += select("label", [" positive", " negative", " mixed"])
    return {"label": s["label"].strip(), "probabilities": s.probs("label")}


def test_batch() -> None:
    text = frontend_lang.load(EXAMPLES / "sentiment.rkv").sentiment
    rows = [{"review": "Fine."}, {"review": "Bad."}]
    found, python = both(text.batch, sentiment.batch, (), rows)
    assert found == python
    assert [row["label"] for row in python] == ["positive"] * 2
