"""Constrained requests on the whole engine: what comes out, what it costs, how it ends."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from radixkv.constraint import Choice, Constraint, JsonSchema, Lark, Regex
from radixkv.engine import CompletionDelta, Engine
from radixkv.errors import ConstraintError, ConstraintKind, InvalidRequest, RequestFailed
from radixkv.request import Completion, FinishReason, SamplingParams

GREEDY = SamplingParams(temperature=0.0, max_tokens=60)
PERSON = JsonSchema(
    json.dumps(
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 8},
                "age": {"type": "integer", "minimum": 0, "maximum": 99},
                "kind": {"enum": ["friend", "foe"]},
            },
            "required": ["name", "age", "kind"],
            "additionalProperties": False,
        }
    )
)
CONSTRAINTS: list[Constraint] = [
    PERSON,
    Regex("[a-z]{3}-[0-9]{2,5}"),
    Choice(["north", "northeast", "south"]),
    Lark('start: "<" /[a-c]{2,6}/ ">"'),
]


def serve(
    engine: Engine, prompts: Sequence[str], constraints: Sequence[Constraint | None], sampling: SamplingParams = GREEDY
) -> list[Completion]:
    async def run() -> list[Completion]:
        pairs = zip(prompts, constraints, strict=True)
        return await asyncio.gather(*(engine.submit(p, sampling, constraint=c) for p, c in pairs))

    return asyncio.run(run())


def one(engine: Engine, constraint: Constraint, sampling: SamplingParams = GREEDY, prompt: str = "abc") -> Completion:
    return serve(engine, [prompt], [constraint], sampling)[0]


def test_each_kind_of_constraint_gives_a_text_that_satisfies_it(engine_of: Callable[..., Engine]) -> None:
    person, serial, choice, tag = serve(engine_of(), ["one", "two", "three", "four"], CONSTRAINTS)
    assert list(json.loads(person.text)) == ["name", "age", "kind"]
    assert re.fullmatch("[a-z]{3}-[0-9]{2,5}", serial.text)
    assert choice.text in {"north", "northeast", "south"}
    assert re.fullmatch("<[a-c]{2,6}>", tag.text)
    assert {completion.choices[0].finish_reason for completion in (person, serial, choice, tag)} == {FinishReason.STOP}


def test_constrained_greedy_tokens_do_not_depend_on_cache_batch_or_preemption(
    engine_of: Callable[..., Engine],
) -> None:
    prompts = [f"{index} is the number of a text that goes on and on" for index in range(12)]
    constraints = [CONSTRAINTS[index % 4] if index % 5 else None for index in range(12)]
    alone = [
        one_.choices[0].token_ids
        for prompt, constraint in zip(prompts, constraints, strict=True)
        for one_ in serve(engine_of(prefix_cache=False), [prompt], [constraint])
    ]
    warm = engine_of()
    small = engine_of(num_blocks=40, block_size=4)
    runs = {
        "cache off": serve(engine_of(prefix_cache=False), prompts, constraints),
        "cold": serve(warm, prompts, constraints),
        "warm": serve(warm, prompts, constraints),
        "small steps": serve(engine_of(step_tokens=8, max_running=8), prompts, constraints),
        "small pool": serve(small, prompts, constraints),
        "small pool, constraints compiled": serve(small, prompts, constraints),  # so all begin together
    }
    assert small.stats().scheduler.preemptions > 0
    assert warm.stats().scheduler.forced_tokens > 0
    for name, completions in runs.items():
        assert [completion.choices[0].token_ids for completion in completions] == alone, name


def test_forced_tokens_cost_no_step_and_count_as_output(engine_of: Callable[..., Engine]) -> None:
    engine = engine_of()
    completion = one(engine, Regex("abcdefgh[xy]ijklmnop[xy]"), SamplingParams(temperature=0.0, logprobs=2))
    stats = engine.stats().scheduler
    (choice,) = completion.choices
    assert re.fullmatch("abcdefgh[xy]ijklmnop[xy]", choice.text)
    assert stats.steps == 2, "one step for each choice that there was"
    assert stats.forced_tokens == 16
    assert completion.usage.completion_tokens == len(choice.token_ids) == 18
    assert completion.usage.prompt_tokens == completion.usage.computed_tokens == 3
    assert choice.logprobs is not None
    assert [entry.token_id for entry in choice.logprobs] == list(choice.token_ids)
    assert [entry.logprob for entry in choice.logprobs if not entry.top] == [0.0] * 16
    assert {len(entry.top) for entry in choice.logprobs} == {0, 2}, "what the constraint excludes is not listed"


def test_a_text_without_choice_is_there_after_the_prompt_alone(engine_of: Callable[..., Engine]) -> None:
    engine = engine_of()
    sampling = SamplingParams(n=3, max_tokens=20, logprobs=0, prompt_logprobs=0)
    completion = one(engine, Choice(["only this"]), sampling)
    assert engine.stats().scheduler.steps == 1
    assert [choice.text for choice in completion.choices] == ["only this"] * 3
    assert {choice.finish_reason for choice in completion.choices} == {FinishReason.STOP}
    assert {choice.logprobs and len(choice.logprobs) for choice in completion.choices} == {9}
    assert completion.usage.completion_tokens == 27
    assert completion.prompt_logprobs is not None
    assert len(completion.prompt_logprobs) == 3


@pytest.mark.parametrize("max_tokens", range(22))
def test_max_tokens_cuts_inside_forced_tokens(engine_of: Callable[..., Engine], max_tokens: int) -> None:
    whole = "abcdefgh?ijklmnop?"
    completion = one(engine_of(), Regex("abcdefgh[xy]ijklmnop[xy]"), SamplingParams(max_tokens=max_tokens, seed=1))
    (choice,) = completion.choices
    assert len(choice.token_ids) == len(choice.text) == min(max_tokens, 18)
    assert re.sub("[xy]", "?", choice.text) == whole[:max_tokens]
    assert choice.finish_reason is (FinishReason.STOP if max_tokens >= 18 else FinishReason.LENGTH)


@pytest.mark.parametrize("place", range(2, 40, 3))
def test_the_end_of_the_context_cuts_inside_forced_tokens(engine_of: Callable[..., Engine], place: int) -> None:
    engine = engine_of(max_context=64, block_size=4, num_blocks=16)
    completion = one(engine, Regex("a{30}[xy]b{30}"), SamplingParams(max_tokens=100), prompt="p" * place)
    (choice,) = completion.choices
    assert re.match("a{30}[xy]b*|a*", choice.text)
    assert len(choice.token_ids) == min(61, 64 - place)


@pytest.mark.parametrize(("stop", "text"), [("cde", "ab"), ("h", "abcdefg"), ("kl", "abcdefgh?ij"), ("a", "")])
def test_stop_strings_cut_inside_forced_tokens(engine_of: Callable[..., Engine], stop: str, text: str) -> None:
    completion = one(engine_of(), Regex("abcdefgh[xy]ijklmnop[xy]"), SamplingParams(stop=stop, seed=2))
    (choice,) = completion.choices
    assert re.sub("[xy]", "?", choice.text) == text
    assert (choice.finish_reason, choice.stopped_by) == (FinishReason.STOP, stop)


def test_a_stop_id_ends_the_output_where_it_is_forced(engine_of: Callable[..., Engine]) -> None:
    ends = SamplingParams(stop_token_ids=(ord("c"),))
    assert one(engine_of(), Regex("abcdef"), ends).text == "ab"
    assert one(engine_of(), Regex("[xy]abcdef"), ends).text[1:] == "ab"
    later = SamplingParams(stop_token_ids=(ord("c"),), min_tokens=4)
    assert one(engine_of(), Regex("abcdef"), later).text == "abcdef"


def test_choices_of_one_request_follow_the_grammar_each_by_itself(engine_of: Callable[..., Engine]) -> None:
    sampling = SamplingParams(n=6, temperature=1.5, seed=4, max_tokens=80)
    big = one(engine_of(), PERSON, sampling)
    small_engine = engine_of(num_blocks=22, block_size=4)
    small = one(small_engine, PERSON, sampling)
    assert small_engine.stats().scheduler.preemptions > 0
    assert [choice.token_ids for choice in small.choices] == [choice.token_ids for choice in big.choices]
    assert len({choice.text for choice in big.choices}) > 1
    for choice in big.choices:
        assert set(json.loads(choice.text)) == {"name", "age", "kind"}
    assert big.usage.prompt_tokens == 3, "all that the others compute for themselves is output"


def test_an_aborted_stream_leaves_nothing_and_disturbs_nobody(engine_of: Callable[..., Engine]) -> None:
    engine = engine_of()

    async def run() -> str:
        other = asyncio.create_task(engine.submit("abc", GREEDY, constraint=PERSON))
        deltas = engine.stream("abc", SamplingParams(max_tokens=500), constraint=Regex("[a-z]{400,}"))
        async for _delta in deltas:
            break
        await deltas.aclose()
        return (await other).text

    assert asyncio.run(run()) == one(engine_of(), PERSON).text


def test_streamed_pieces_are_the_text_and_forced_ones_come_together(engine_of: Callable[..., Engine]) -> None:
    engine = engine_of()

    async def run() -> list[CompletionDelta | Completion]:
        return [item async for item in engine.stream("abc", GREEDY, constraint=PERSON)]

    *deltas, completion = asyncio.run(run())
    assert isinstance(completion, Completion)
    assert all(isinstance(delta, CompletionDelta) for delta in deltas)
    assert "".join(delta.text for delta in deltas) == completion.text  # type: ignore[union-attr]
    assert len(deltas) < len(completion.choices[0].token_ids)


def test_eos_comes_only_where_the_grammar_accepts_even_if_it_is_the_likeliest(
    engine_of: Callable[..., Engine],
) -> None:
    engine = engine_of()
    eager = dict.fromkeys(engine.model.config.eos_token_ids, 100.0)
    sampling = SamplingParams(temperature=0.0, max_tokens=40, logit_bias=eager)
    assert re.fullmatch("[ab]{4}", one(engine, Regex("[ab]{4,30}"), sampling).text)


def test_ignored_eos_goes_on_while_the_grammar_lets_it_and_ends_with_it(engine_of: Callable[..., Engine]) -> None:
    engine = engine_of()
    eager = dict.fromkeys(engine.model.config.eos_token_ids, 100.0)
    sampling = SamplingParams(max_tokens=40, ignore_eos=True, logit_bias=eager)
    assert re.fullmatch("[ab]{9}", one(engine, Regex("[ab]{4,9}"), sampling).text)
    assert len(one(engine, Regex("[ab]+"), sampling).choices[0].token_ids) == 40


@pytest.mark.parametrize("bias", [{}, {10: 100.0, 32: 100.0, 9: 100.0, 13: 100.0}])
def test_r144_a_bias_to_whitespace_adds_none(engine_of: Callable[..., Engine], bias: dict[int, float]) -> None:
    schema = {
        "type": "object",
        "properties": {"age": {"type": "integer", "maximum": 1000, "minimum": 0}},
        "required": ["age"],
        "additionalProperties": False,
    }
    completion = one(engine_of(), JsonSchema(json.dumps(schema)), SamplingParams(max_tokens=64, logit_bias=bias))
    assert completion.choices[0].finish_reason is FinishReason.STOP
    assert not re.search(r"\s", completion.text)
    assert isinstance(json.loads(completion.text)["age"], int)


def test_r141_keys_come_in_the_order_of_the_schema(engine_of: Callable[..., Engine]) -> None:
    digit = {"type": "integer", "minimum": 0, "maximum": 9}
    schema = {
        "type": "object",
        "properties": {"z": digit, "a": digit, "m": digit},
        "required": ["a", "m", "z"],
        "additionalProperties": False,
    }
    text = one(engine_of(), JsonSchema(json.dumps(schema))).text
    assert list(json.loads(text)) == ["z", "a", "m"]


def test_what_bias_and_constraint_exclude_together_is_an_error_of_that_request(
    engine_of: Callable[..., Engine],
) -> None:
    engine = engine_of()
    with pytest.raises(RequestFailed, match="min_tokens is 30"):
        one(engine, Regex("[xy]{3}"), SamplingParams(min_tokens=30, max_tokens=40))
    with pytest.raises(InvalidRequest, match="min_tokens"):
        one(engine, Choice(["abc"]), SamplingParams(min_tokens=30, max_tokens=40))
    with pytest.raises(RequestFailed, match="no token is left"):
        one(engine, Regex("[xy]z"), SamplingParams(min_tokens=2, stop_token_ids=(ord("x"), ord("y"))))
    assert one(engine, Regex("[xy]z")).text in {"xz", "yz"}


def test_r136_what_does_not_compile_generates_nothing(engine_of: Callable[..., Engine]) -> None:
    engine = engine_of()
    for constraint, kind, words in (
        (JsonSchema('{"type": "string", "pattern": "^(?<bad$"}'), ConstraintKind.INVALID, "`pattern` at #"),
        (JsonSchema('{"properties": {"a": {"not": {}}}}'), ConstraintKind.UNSUPPORTED, "`not` at #/properties/a"),
        (Regex("[a"), ConstraintKind.INVALID, "character 1: unclosed character class"),
    ):
        with pytest.raises(ConstraintError, match=re.escape(words)) as failure:
            one(engine, constraint)
        assert failure.value.kind is kind
    assert engine.stats().steps == 0


def test_r146_a_hostile_regex_is_refused_while_another_stream_runs(engine_of: Callable[..., Engine]) -> None:
    engine = engine_of()

    async def hostile() -> list[str]:
        kinds = []
        for pattern in ("[", "(a", "a{99999}", "(a+)+$", "((a{1000}){1000}){10}", "a?" * 3000 + "a" * 500):
            try:
                completion = await engine.submit("x", SamplingParams(max_tokens=4), constraint=Regex(pattern))
                assert re.fullmatch("a{1,4}", completion.text)
                kinds.append("ran")
            except ConstraintError as error:
                kinds.append(error.kind.value)
        return kinds

    async def run() -> tuple[list[str], str]:
        stream = asyncio.create_task(
            engine.submit("abc", SamplingParams(temperature=0.0, max_tokens=300, ignore_eos=True))
        )
        kinds = await hostile()
        return kinds, (await stream).text

    kinds, text = asyncio.run(run())
    assert kinds[:2] == ["invalid", "invalid"]
    assert set(kinds[2:4]) <= {"ran", "budget"}
    assert set(kinds[4:]) == {"budget"}
    alone: Any = SamplingParams(temperature=0.0, max_tokens=300, ignore_eos=True)
    assert text == serve(engine_of(), ["abc"], [None], alone)[0].text
