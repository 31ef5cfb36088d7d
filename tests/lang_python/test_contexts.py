"""What the body of a prompt does with its context: text, roles, gens, names, promises."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest

import frontend_lang
from frontend_lang import Event, Int, ProgramError, Promise, ScriptedRuntime, State, gen, prompt, select
from frontend_lang.scripted import SCRIPTED_LOGPROB


def run(function: Any, answers: Any = (), *args: Any, **settings: Any) -> Any:
    """The value of a function as a prompt, on scripted answers; nothing may be left."""
    runtime = settings.pop("runtime", None) or ScriptedRuntime(answers, scores=settings.pop("scores", None))
    try:
        return prompt(function)(*args, runtime=runtime, **settings)
    finally:
        assert runtime.live == 0


def prompts_of(function: Any, answers: Sequence[str]) -> list[str]:
    runtime = ScriptedRuntime(answers)
    run(function, runtime=runtime)
    return runtime.prompts


def test_text_and_roles_make_the_prompt() -> None:
    def body(s: State) -> None:
        s.system("Be brief.")
        with s.user():
            s += "One "
            s += 2
        s.assistant("Well, ", gen("a"))
        s.user([1, {"k": None}])
        s.assistant(gen("b"))

    assert prompts_of(body, ["yes", "no"]) == [
        "<|system|>Be brief.<|end|><|user|>One 2<|end|><|assistant|>Well, ",
        "<|system|>Be brief.<|end|><|user|>One 2<|end|><|assistant|>Well, yes<|end|>"
        '<|user|>[1,{"k":null}]<|end|><|assistant|>',
    ]


def test_a_promise_is_appended_without_waiting_and_in_its_place() -> None:
    def body(s: State) -> Any:
        s += "Q: "
        s += gen("a")
        s += " and "
        s += s["a"]
        s += gen("b")
        return [s["a"], {"b": s["b"]}, (s.text(),)]

    assert run(body, ["x", "y"]) == ["x", {"b": "y"}, ("Q: x and xy",)]
    assert prompts_of(body, ["x", "y"]) == ["Q: ", "Q: x and x"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_select_and_what_gen_and_select_leave(asynchronous: bool) -> None:
    def body(s: State) -> Any:
        s += "Say "
        s += gen("a", max=2, logprobs=0)
        s += select("v", ["no", "yes"])
        kinds = (s.raw("a"), s.finish("a"), s.logprob("a"), s.tokens("a"))
        return [*kinds, s["v"], s.prob("v"), s.probs("v")]

    async def later(s: State) -> Any:
        return body(s)

    found = run(later if asynchronous else body, ["one two three"], scores={"yes": 0.0, "no": -1.0})
    assert found[:3] == ["one two", "length", 2 * SCRIPTED_LOGPROB]
    assert len(found[3]) == 2
    assert found[4] == "yes"
    assert found[5] == pytest.approx(1 / (1 + math.exp(-1)))
    assert list(found[6]) == ["no", "yes"]


def test_a_value_that_is_used_is_waited_for() -> None:
    def body(s: State) -> None:
        s += "n: "
        s += gen("n", type=int)
        s += gen("t")
        number, text = s["n"], s["t"]
        assert isinstance(number, Promise)
        assert (number + 1, 1 + number, number * 2, -number, int(number), float(number)) == (8, 8, 14, -7, 7, 7.0)
        assert number == 7
        assert number != 8
        assert number < 8 <= number + 1
        assert list(range(number))[-1] == 6
        assert (number // 2, number % 2, number / 2, 14 / number, 8 - number) == (3, 1, 3.5, 2.0, 1)
        assert f"{number:03}|{text}|{text!s:>5}" == "007|abc|  abc"
        assert (len(text), text[0], "b" in text, list(text), text.upper()) == (3, "a", True, ["a", "b", "c"], "ABC")
        assert text + "d" == "abcd"
        assert bool(text)
        assert {text.value: 1} == {"abc": 1}
        assert type(text.value) is str

    run(body, ["7", "abc"])


@dataclass
class Step:
    act: Literal["go", "stop"]
    count: int


def test_typed_gens_are_python_values() -> None:
    def body(s: State) -> Any:
        s += "step: "
        s += gen("step", type=Step)
        s += gen("score", type=Int(1, 5))
        return [s["step"].act, s["step"], s["score"]]

    act, step, score = run(body, ['{"act":"go","count":3}', "4"])
    assert (act, step, score) == ("go", Step("go", 3), 4)


def test_a_text_that_does_not_fit_its_type_is_an_error_with_the_line_of_the_caller() -> None:
    def body(s: State) -> Any:
        s += "n: "
        s += gen("n", type=int, max=1)
        return s["n"]

    with pytest.raises(ProgramError) as caught:
        run(body, lambda text, call: "-")
    assert caught.value.code in ("E0609", "E0601")
    assert caught.value.file == __file__
    assert caught.value.span is not None
    assert caught.value.span.line == body.__code__.co_firstlineno + 2
    assert f"{__file__}:{caught.value.span.line}" in str(caught.value)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_until_tries_again_from_the_same_place(asynchronous: bool) -> None:
    async def later(text: str) -> bool:
        return len(text) > 2

    def body(s: State) -> Any:
        s += "Say: "
        s += gen("a", until=later if asynchronous else lambda text: len(text) > 2, tries=3)
        return s.text()

    assert run(body, ["a", "ab", "abc"]) == "Say: abc"
    with pytest.raises(ProgramError) as caught:
        run(body, ["a", "b", "c"])
    assert caught.value.code == "E0603"


def test_set_gives_defaults_to_the_gens_that_follow() -> None:
    def body(s: State) -> None:
        s.set(temp=0, max=7)
        s += "a"
        s += gen("a")
        s += gen("b", max=3)

    runtime = ScriptedRuntime(["x", "y"])
    run(body, runtime=runtime)
    assert [(call.params.temperature, call.params.max_tokens) for call in runtime.generations] == [(0, 7), (0, 3)]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (lambda s: s.__iadd__(gen("a", temp=-1)), "E0401"),
        (lambda s: s.__iadd__(select("a", [])), "E0607"),
        (lambda s: s.set(tempo=1), "E0303"),
        (lambda s: s["nothing"], "E0301"),
        (lambda s: s.__iadd__(object()), "E0402"),
        (lambda s: s.user(gen("a", max=5000)), "E0401"),
        (lambda s: s.raw("nothing"), "E0301"),
        (lambda s: s.fork(-1, lambda b: None), "E0402"),
        (lambda s: s.fork(2, lambda b: None, on_error="ignore"), "E0401"),
        (lambda s: s.fork(2, lambda b: None, temper=1), "E0303"),
    ],
)
def test_a_mistake_is_raised_where_it_is_made(body: Any, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run(body)
    assert caught.value.code == code


def test_a_role_inside_a_role_is_refused_and_an_exception_closes_the_role() -> None:
    def nested(s: State) -> None:
        with s.user():
            s.assistant("x")

    def recovered(s: State) -> None:
        with pytest.raises(ValueError, match="oh"), s.user():
            raise ValueError("oh")
        s.user("Go on.")
        s.assistant(gen("a"))

    with pytest.raises(ProgramError) as caught:
        run(nested)
    assert caught.value.code == "E0316"
    assert prompts_of(recovered, ["x"]) == ["<|user|><|end|><|user|>Go on.<|end|><|assistant|>"]


def test_in_an_async_body_a_value_that_is_not_there_says_await() -> None:
    async def body(s: State) -> str:
        s += "a"
        s += gen("a")
        with pytest.raises(ProgramError) as caught:
            str(s["a"])
        assert (caught.value.code, "await" in (caught.value.hint or "")) == ("E0810", True)
        value = await s["a"]
        assert str(s["a"]) == value == "x"
        return value

    assert run(body, ["x"]) == "x"


def test_a_body_that_has_caught_an_error_goes_on() -> None:
    def body(s: State) -> Any:
        s += "Say: "
        s += gen("a", until=lambda text: False, tries=1)
        try:
            str(s["a"])
        except ProgramError as error:
            s += f"({error.code}) "
        s += gen("b")
        return s.text()

    assert run(body, ["x", "y"]) == "Say: (E0603) y"


def test_an_error_that_nobody_was_told_of_is_the_error_of_the_run() -> None:
    def body(s: State) -> str:
        s += "Say: "
        s += gen("a", until=lambda text: False, tries=1)
        return "done"

    with pytest.raises(ProgramError) as caught:
        run(body, ["x"])
    assert caught.value.code == "E0603"


def test_a_run_without_a_value_has_the_names() -> None:
    @prompt
    def body(s: State) -> None:
        s += "Say: "
        s += gen("a")

    result = body.run(runtime=ScriptedRuntime(["x"]), seed=5)
    assert (result.value, dict(result.vars), result.seed) == (None, {"a": "x"}, 5)
    assert result.to_dict()["vars"] == {"a": "x"}


def test_a_context_belongs_to_its_body() -> None:
    kept: list[State] = []

    def body(s: State) -> None:
        def branch(b: State) -> None:
            s.user("from inside")

        kept.append(s)
        s.fork(1, branch).all().value  # noqa: B018 - waits

    with pytest.raises(ProgramError) as caught:
        run(body)
    assert caught.value.code == "E0702"
    with pytest.raises(ProgramError):
        kept[0].user("after the run")


def events_of(function: Any, answers: Any) -> list[Event]:
    events: list[Event] = []
    run(function, answers, on_event=events.append)
    return events


def test_events_are_those_of_a_text_program() -> None:
    def body(s: State) -> Any:
        s.user("Q")
        s.assistant(gen("a"))
        s += s["a"]
        return s["a"]

    text: list[Event] = []
    source = 'def body() -> str { user "Q"\nassistant gen a\ntext a\nreturn a }'
    runtime = ScriptedRuntime(["x"])
    frontend_lang.run(source, runtime=runtime, on_event=text.append)
    python = events_of(body, ["x"])
    assert [(event.event, event.path) for event in python] == [(event.event, event.path) for event in text]
    assert [event.data.get("text") for event in python] == [event.data.get("text") for event in text]


def test_seeds_depend_on_names_and_order_and_not_on_the_schedule() -> None:
    def body(s: State) -> Any:
        def branch(b: State) -> None:
            b += "x"
            b += gen("a")
            b += gen("a")

        s += "start"
        return s.fork(3, branch).all()

    def seeds(delay: Any) -> list[int]:
        runtime = ScriptedRuntime(lambda text, call: "y", delay=delay)
        run(body, runtime=runtime, seed=1)
        return sorted(call.params.seed for call in runtime.generations)

    first = seeds(None)
    assert len(set(first)) == 6
    assert first == seeds(lambda verb, context: 0.01 if context == "c2" else 0)


def test_sync_calls_inside_a_loop_name_the_async_twin() -> None:
    @prompt
    def body(s: State) -> None:
        s += "x"

    async def main() -> None:
        for call in (body, body.run, lambda: body.batch([]), body.stream):
            with pytest.raises(ProgramError) as caught:
                call()
            assert caught.value.code == "E0810"
            assert "body.a" in (caught.value.hint or "")
        await body.a(runtime=ScriptedRuntime())

    asyncio.run(main())
