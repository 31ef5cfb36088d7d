"""fork and its joins, branches in threads and on the loop."""

from __future__ import annotations

import asyncio
import json
from enum import Enum
from typing import Any

import pytest

from frontend_lang import Event, Limits, ProgramError, ScriptedRuntime, State, gen, prompt, select
from frontend_lang.scripted import ScriptedCall


def run(function: Any, answers: Any = (), *args: Any, **settings: Any) -> Any:
    runtime = settings.pop("runtime", None) or ScriptedRuntime(answers)
    try:
        return prompt(function)(*args, runtime=runtime, **settings)
    finally:
        assert runtime.live == 0


def last_word(text: str, call: ScriptedCall) -> str:
    return f"<{text.split()[-1]}>"


def over(items: list[str], join: Any, **options: Any) -> Any:
    def body(s: State) -> Any:
        def one(b: State, item: str) -> Any:
            b += f" {item}"
            b += gen("a")
            return b["a"]

        s += "Start"
        return join(s.fork_over(items, one, **options))

    return run(body, last_word)


@pytest.mark.parametrize(
    ("join", "value"),
    [
        (lambda fork: fork.all(), ["<x>", "<yy>", "<x>"]),
        (lambda fork: fork.vote(), "<x>"),
        (lambda fork: fork.vote(by=len), "<x>"),
        (lambda fork: fork.best(len), "<yy>"),
        (lambda fork: fork.concat("-"), "<x>-<yy>-<x>"),
        (lambda fork: fork.join(sorted), ["<x>", "<x>", "<yy>"]),
    ],
)
def test_joins(join: Any, value: Any) -> None:
    assert over(["x", "yy", "x"], join) == value


class Side(Enum):
    """Items that are no texts."""

    PRO = "pro"
    CON = "con"


@pytest.mark.parametrize("items", [["x", "yy"], [1, 2.5], [(1, "a"), (2, "b")], list(Side), [None, True], []])
def test_a_record_has_the_items_as_keys(items: list[Any]) -> None:
    events: list[Event] = []

    def body(s: State) -> Any:
        return s.fork_over(items, lambda b, item: [item]).record()

    assert run(body, on_event=events.append) == {item: [item] for item in items}
    assert json.loads(json.dumps([event.to_dict() for event in events]))[-1]["value"].keys() == set(map(str, items))


def test_a_record_of_a_count_has_indexes_and_lacks_what_was_dropped() -> None:
    def body(s: State) -> Any:
        return s.fork(3, lambda b, index: 6 // (index - 1), on_error="drop").record()

    assert run(body) == {0: -6, 2: 6}


def test_items_that_are_promises_are_their_values_in_a_record() -> None:
    def body(s: State) -> Any:
        s += gen("a")
        return s.fork_over([s["a"]], lambda b, item: item + "!").record()["x"]

    assert run(body, ["x"]) == "x!"


@pytest.mark.parametrize(
    ("items", "code", "words"),
    [
        (["x", "yy", "x"], "E0401", "two are 'x'"),
        ([1, 1.0], "E0401", "two are 1.0"),
        ([["a"]], "E0402", "['a'], a list"),
        ([{"k": 1}, {"k": 2}], "E0402", "{'k': 1}, a dict"),
    ],
)
def test_a_record_of_items_that_cannot_be_its_keys_is_refused_before_it_begins(
    items: list[Any], code: str, words: str
) -> None:
    begun: list[Any] = []

    def body(s: State) -> Any:
        forking = s.fork_over(items, lambda b, item: begun.append(item))
        with pytest.raises(ProgramError) as caught:
            forking.record()
        assert (caught.value.code, words in caught.value.message, begun) == (code, True, [])
        assert "`all`" in (caught.value.hint or "")
        return forking.join(len)

    assert run(body) == len(items)


def test_first_takes_the_fastest_and_releases_the_others() -> None:
    def body(s: State) -> Any:
        def one(b: State, item: str) -> Any:
            b += item
            b += gen("a")
            return b["a"]

        return s.fork_over(["slow", "fast"], one).first()

    runtime = ScriptedRuntime(last_word, delay=lambda verb, context: 5 if verb == "delta" and context == "c2" else 0)
    assert run(body, runtime=runtime) == "<fast>"


def test_a_branch_without_a_value_has_the_text_it_appended() -> None:
    def body(s: State) -> Any:
        def one(b: State, index: int) -> None:
            b += f"{index}:"
            b += gen("a", max=1)

        return s.fork(2, one).all()

    assert run(body, lambda text, call: "x") == ["0:x", "1:x"]


def test_named_arms_give_a_dict_and_custom_joins_get_it() -> None:
    def body(s: State) -> Any:
        arms = {"pro": lambda b: "for", "con": lambda b: "against it"}
        return [s.fork(arms).all(), s.fork(arms).record(), s.fork(arms).join(lambda found: max(found, key=found.get))]

    both = {"pro": "for", "con": "against it"}
    assert run(body) == [both, both, "pro"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_keep_adopts_the_winner_or_appends_the_values(asynchronous: bool) -> None:
    def branch(b: State, index: int) -> Any:
        b += f" option {index}"
        b += gen("a")
        return index

    async def later(b: State, index: int) -> Any:
        return branch(b, index)

    def body(s: State) -> Any:
        each = later if asynchronous else branch
        s += "Start"
        best = s.fork(3, each).best(lambda index: (index == 1 and 5) or 0, keep=True)
        s += "; "
        s.fork(2, each).all(keep=True)
        s += gen("end")
        return [best, s.text()]

    runtime = ScriptedRuntime(lambda text, call: "!" if "option" in text[-9:] else "end")
    assert run(body, runtime=runtime) == [1, "Start option 1!; 01end"]
    assert runtime.prompts[-1] == "Start option 1!; 01"


def test_a_fork_that_is_not_joined_runs_all_the_same() -> None:
    seen: list[int] = []

    def body(s: State) -> None:
        s.fork(2, lambda b, index: seen.append(index))
        s += "x"
        s.fork(2, lambda b, index: seen.append(index))

    run(body)
    assert sorted(seen) == [0, 0, 1, 1]


def test_branches_overlap_and_forks_nest() -> None:
    together: set[int] = set()

    def body(s: State) -> Any:
        def inner(b: State, index: int) -> Any:
            b += gen("a")
            return b["a"]

        def outer(b: State, index: int) -> Any:
            b += f"{index}"
            return b.fork(4, inner).vote()

        s += "Start "
        return s.fork(4, outer).all()

    def answers(text: str, call: ScriptedCall) -> str:
        return text[-1]

    runtime = ScriptedRuntime(answers, delay=lambda verb, context: together.add(runtime.live) or 0.001)  # type: ignore[func-returns-value]
    assert run(body, runtime=runtime) == ["0", "1", "2", "3"]
    assert max(together) > 8


@pytest.mark.parametrize("live", [1, 2])
def test_few_slots_do_not_block_threads_that_wait_for_one_another(live: int) -> None:
    @prompt
    def leaf(s: State) -> Any:
        s += "leaf "
        s += gen("a")
        return s["a"]

    def body(s: State) -> Any:
        def outer(b: State, index: int) -> Any:
            return [leaf(), b.fork(2, lambda c, deeper: leaf()).all()]

        return s.fork(3, outer).all()

    assert run(body, last_word, limits=Limits(live_branches=live)) == [["<leaf>", ["<leaf>"] * 2]] * 3


class Broken(Exception):
    """A host's own exception."""


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_exception_of_a_branch_comes_out_as_itself_and_cancels_the_siblings(asynchronous: bool) -> None:
    ended: list[str] = []

    def branch(b: State, index: int) -> Any:
        b += "x"
        if index == 0:
            raise Broken("zero")
        b += gen("a")
        try:
            return b["a"].value
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def later(b: State, index: int) -> Any:
        if index == 0:
            raise Broken("zero")
        b += "x"
        b += gen("a")
        try:
            return await b["a"]
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    def body(s: State) -> Any:
        try:
            return s.fork(3, later if asynchronous else branch).all().value
        except Broken as error:
            return f"{error}!"

    runtime = ScriptedRuntime(lambda text, call: "y", delay=lambda verb, context: 5 if verb == "delta" else 0)
    assert run(body, runtime=runtime) == "zero!"
    with pytest.raises(Broken, match="zero") as caught:
        run(lambda s: s.fork(1, branch).all())
    assert caught.traceback[-1].name == "branch"
    assert caught.value.__context__ is None


def test_on_error_leaves_failed_branches_out_or_makes_them_none() -> None:
    def branch(b: State, index: int) -> Any:
        if index == 1:
            raise Broken
        return index

    def body(s: State) -> Any:
        return [s.fork(3, branch, on_error="drop").all(), s.fork(3, branch, on_error="none").all()]

    assert run(body) == [[0, 2], [0, None, 2]]


def test_fork_options_are_defaults_of_the_gens_in_branches() -> None:
    def body(s: State) -> None:
        s += "x"
        s.fork(2, lambda b: b.assistant(gen("a")), temp=0, width=1).all()

    runtime = ScriptedRuntime(lambda text, call: "y")
    run(body, runtime=runtime)
    assert {call.params.temperature for call in runtime.generations} == {0}


def test_a_fork_that_takes_too_long_is_an_error() -> None:
    def body(s: State) -> Any:
        s += "x"

        def branch(b: State) -> Any:
            b += gen("a")
            return b["a"]

        return s.fork(2, branch, timeout=0.05).all()

    with pytest.raises(ProgramError) as caught:
        run(body, runtime=ScriptedRuntime(lambda text, call: "y", delay=lambda verb, context: 5 * (verb == "delta")))
    assert caught.value.code == "E0803"


def test_a_branch_reads_the_names_around_it_and_their_promises_are_edges() -> None:
    def body(s: State) -> Any:
        s += "Say: "
        s += gen("a")

        def branch(b: State) -> Any:
            b += " again: "
            b += b["a"]
            b += select("v", ["y", "n"])
            return b.text()

        return s.fork(1, branch).all()

    assert run(body, ["word"]) == [" again: wordy"]


def test_limits_hold_for_python_bodies_too() -> None:
    def wide(s: State) -> Any:
        return s.fork(5, lambda b: 1).all()

    def deep(s: State) -> Any:
        return recursive()

    @prompt
    def recursive(s: State) -> Any:
        return recursive()

    for body, limits, code in [(wide, Limits(branches=4), "E0807"), (deep, Limits(call_depth=5), "E0806")]:
        with pytest.raises(ProgramError) as caught:
            run(body, limits=limits)
        assert caught.value.code == code
