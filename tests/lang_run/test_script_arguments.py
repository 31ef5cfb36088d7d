"""A scripted runtime says at once what it cannot be made of."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest

from frontend_lang import ProgramError, run
from frontend_lang.scripted import ScriptedRuntime


async def late(prompt: str, call: object) -> str:
    return "a"


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ("abc", "answers='abc', expected a list of texts, or a function of prompt and call: one answer is ['abc']"),
        (b"abc", "expected a list of texts"),
        (3, "one answer is ['3']"),
        (None, "answers=None, expected a list of texts"),
        ({"a": "x"}, "does not know the names of gens; a program's tests do: test … with mock={…}"),
        ({"a", "b"}, "expected a list of texts"),
        (iter(["a"]), "expected a list of texts"),
        ([3], "answers[0]=3, expected a text: a model would write '3'"),
        (["a", 1.5], "answers[1]=1.5, expected a text"),
        ([{"a": 1}], """a model would write '{"a": 1}'"""),
        ((True,), "a model would write 'true'"),
        ([None], "answers[0]=None"),
        ([b"a"], "answers[0]=b'a', expected a text: what a model would write"),
        (lambda prompt: "a", "answers cannot be called with prompt, call"),
        (late, "answers is an async function"),
    ],
)
def test_answers_that_are_no_texts_are_refused_with_a_way_out(answers: Any, words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        ScriptedRuntime(answers)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"scores": ["a"]}, "scores=['a'], expected a dict of numbers by option"),
        ({"scores": {"a": "1"}}, "scores['a']='1', expected a number"),
        ({"scores": {"a": True}}, "scores['a']=True, expected a number"),
        ({"scores": lambda prompt: [1]}, "scores cannot be called with prompt, options"),
        ({"delay": 3}, "delay=3, expected a function of verb and context"),
        ({"on_call": 1}, "on_call=1, expected a function of count and verb"),
    ],
)
def test_scores_and_hooks_that_cannot_be_used_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        ScriptedRuntime(**given)


def test_what_can_answer_is_taken() -> None:
    def answer(extra: str, prompt: str, call: object) -> str:
        return extra

    for answers in (
        ["a"],
        ("a",),
        lambda *given: "a",
        functools.partial(answer, "a"),
        lambda prompt, call, more=1: "a",
    ):
        assert run("gen x\nreturn x", runtime=ScriptedRuntime(answers)).value == "a"


def test_functions_that_give_something_else_fail_at_the_gen_or_select() -> None:
    wrong: Any = lambda prompt, call: 3  # noqa: E731
    with pytest.raises(ProgramError, match="the script gave 3 to generation 1, expected a text") as caught:
        run("gen x", runtime=ScriptedRuntime(wrong))
    assert (caught.value.code, caught.value.span and caught.value.span.line) == ("E0601", 1)
    for scores in (lambda prompt, options: [1.0], lambda prompt, options: ["a", "b"], lambda prompt, options: None):
        with pytest.raises(ProgramError, match="expected 2 numbers, one for each option") as caught:
            run('select x from ["a", "b"]', runtime=ScriptedRuntime(scores=scores))  # type: ignore[arg-type]
        assert caught.value.code == "E0601"
