"""Join policies against brute force, and what `keep` does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend_lang.errors import ProgramError
from frontend_lang.running.joins import Best, Outcome, Vote
from frontend_lang.scripted import ScriptedRuntime
from scripted_programs import failure_of, run_on, value_of

KEYS = st.lists(st.sampled_from(["a", "b", " A ", "c"]), min_size=1, max_size=7)
ORDERS = st.randoms(use_true_random=False)


def vote_winner(keys: list[str]) -> int:
    """The definition: most frequent after strip and casefold; ties and representative by lowest index."""
    folded = [key.strip().casefold() for key in keys]
    return min(range(len(keys)), key=lambda index: (-folded.count(folded[index]), folded.index(folded[index])))


@given(KEYS, ORDERS)
def test_vote_is_the_same_in_every_order_and_never_decides_too_early(keys: list[str], random) -> None:  # type: ignore[no-untyped-def]
    order = list(range(len(keys)))
    random.shuffle(order)
    policy = Vote(len(keys))
    for index in order:
        policy.succeed(Outcome(index, keys[index], keys[index]))
        if policy.decided:
            break
    winner = policy.winner()
    assert winner is not None
    assert winner.index == vote_winner(keys)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_vote_decides_as_soon_as_no_completion_changes_the_winner(count: int) -> None:
    for keys in itertools.product("ab", repeat=count):
        for seen in range(count):
            policy = Vote(count)
            for index in range(seen):
                policy.succeed(Outcome(index, keys[index], keys[index]))
            completions = itertools.product("abcdefg"[: 2 + count], repeat=count - seen)
            winners = {vote_winner([*keys[:seen], *rest]) for rest in completions}
            assert policy.decided == (len(winners) == 1 and seen > 0)


@given(st.lists(st.floats(allow_nan=True) | st.integers(-3, 3), min_size=1, max_size=8), ORDERS)
def test_best_takes_the_largest_key_ties_to_the_lowest_index_and_nan_loses(keys: list[float], random) -> None:  # type: ignore[no-untyped-def]
    order = list(range(len(keys)))
    random.shuffle(order)
    policy = Best(len(keys))
    dropped = [policy.succeed(Outcome(index, index, keys[index])) for index in order]
    expected = min(range(len(keys)), key=lambda i: (math.isnan(keys[i]), 0.0 if math.isnan(keys[i]) else -keys[i], i))
    winner = policy.winner()
    assert winner is not None
    assert winner.index == expected
    assert sorted(index for index in dropped if index is not None) == sorted(set(order) - {expected})


@pytest.mark.parametrize(
    ("join", "value"),
    [
        ("", ["b", "a", "B "]),
        ("join all", ["b", "a", "B "]),
        ("join vote", "b"),
        ("join vote by len(x)", "b"),
        ("join best by i", "B "),
        ("join best by -i", "b"),
        ('join concat by "+"', "b+a+B "),
        ("join concat", "baB "),
        ("join pick", "3:B "),
    ],
)
def test_join_policies(join: str, value: object) -> None:
    source = f"""def pick(v: list[str]) -> str {{ return "@{{len(v)}}:@{{v[-1]}}" }}
let r = fork x in ["b", "a", "B "] as i {{ yield x }} {join}
return r"""
    assert value_of(source) == value


def test_custom_join_of_named_arms_gets_a_record() -> None:
    source = """def pick(r: json) -> str { return if len(r.pro) >= len(r.con) then r.pro else r.con }
return fork { pro { gen t; yield t } con { "x"; gen t; yield t } } join pick"""
    assert value_of(source, lambda prompt, call: "a longer reply" if prompt else "short") == "a longer reply"


def test_first_is_the_first_to_succeed() -> None:
    runtime = ScriptedRuntime(
        lambda prompt, call: "no" if prompt == "0" else "7",
        delay=lambda verb, context: 0.03 if context != "c2" and verb == "delta" else 0.0,
    )
    source = 'return fork 3 as i { "@{i}"\ngen a\nlet n = int(a)\nyield [i, n] } join first'
    value = run_on(runtime, source).value
    assert value in ([1, 7], [2, 7])
    error = failure_of("return fork 2 { yield int('x') } join first")
    assert error.code == "E0605"
    assert "E0406" in (error.hint or "")


def test_best_by_is_evaluated_in_the_branch() -> None:
    source = """def score(task: str, step: str) -> float { user "@{task}:@{step}"
assistant select v from ["yes", "no"]
return probs(v)["yes"] }
let task = "T"
return fork s in ["bad", "good"] { let mine = s\nyield s } join best by score(task, mine)"""
    runtime = ScriptedRuntime(scores=lambda prompt, options: [2.0 if "T:good" in prompt else 0.0, 1.0])
    assert run_on(runtime, source).value == "good"


def test_best_needs_numbers() -> None:
    assert failure_of('return fork 2 { yield 1 } join best by "x"').code == "E0402"
    assert value_of('return fork x in ["nan", "1", "nan"] { yield x } join best by float(x)') == "1"


@pytest.mark.parametrize("join", ["best by i", "first", "vote"])
def test_keep_adopts_the_winners_context(join: str) -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "G" if prompt.endswith(" ") else "after")
    result = run_on(
        runtime, f'user "P"\nassistant {{ fork 3 as i {{ "s "\ngen a\n"t" }} join {join} keep\n"u"\ngen b }}'
    )
    assert runtime.generations[-1].prompt == "<|user|>P<|end|><|assistant|>s Gtu"
    assert runtime.history[-1] == "<|user|>P<|end|><|assistant|>s Gtuafter<|end|>"
    assert result.usage.forks == 3


@pytest.mark.parametrize(("join", "kept"), [("all", "abc"), ('concat by "-"', "a-b-c"), ("pick", "c!")])
def test_keep_of_other_joins_appends_the_outcome_as_text(join: str, kept: str) -> None:
    source = f"""def pick(v: list[str]) -> str {{ return v[-1] + "!" }}
"P:"
fork x in ["a", "b", "c"] {{ text x }} join {join} keep
gen g"""
    runtime = ScriptedRuntime(["."])
    run_on(runtime, source)
    assert runtime.prompts == ["P:" + kept]


def test_without_keep_the_parent_is_untouched() -> None:
    runtime = ScriptedRuntime(["."])
    run_on(runtime, '"P:"\nlet v = fork 3 as i { "x" yield i } join best by i\ngen g')
    assert runtime.prompts == ["P:"]


def test_vote_cancels_what_cannot_change_the_winner() -> None:
    runtime = ScriptedRuntime(
        lambda prompt, call: "x",
        delay=lambda verb, context: 30.0 if context in ("c5", "c6") and verb == "delta" else 0.0,
    )
    assert run_on(runtime, "return fork 5 { gen a\nyield a } join vote").value == "x"


def test_unknown_join_is_an_error() -> None:
    assert failure_of("fork 1 { } join nobody").code == "E0304"


def outcome_of(source: str, delays: Mapping[str, float]) -> object:
    runtime = ScriptedRuntime(
        lambda prompt, call: "x" if prompt.endswith(("0", "1", "2")) else "y",
        delay=lambda verb, context: delays.get(context, 0.0) if verb == "generate" else 0.0,
    )
    try:
        return run_on(runtime, source).value
    except ProgramError as error:
        return error.code


@pytest.mark.parametrize("failing", range(5))
def test_a_vote_that_a_failure_would_end_has_one_outcome_in_every_schedule(failing: int) -> None:
    """Decided by the branches before the failing one, or failed: never a matter of who is quicker."""
    source = f'return fork 5 as i {{ "b@{{i}}"; gen a; if i == {failing} {{ fail "no" }}; yield a }} join vote'
    orders = list(itertools.permutations(range(5)))[::7]
    found = {
        str(outcome_of(source, {f"c{2 + index}": 0.003 * place for index, place in enumerate(order)}))
        for order in orders
    }
    assert found == {"x" if failing > 2 else "E0610"}
