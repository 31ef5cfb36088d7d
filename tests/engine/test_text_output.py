"""Text of a stream: whole characters, stop strings cut and held back only while they may still come."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from radixkv.engine import CompletionDelta, Engine
from radixkv.engine.choice_text import ChoiceText
from radixkv.request import Choice, Completion, FinishReason, SamplingParams
from radixkv.tokenizer import StopMatcher, Tokenizer


async def collect(engine: Engine, prompt: str, sampling: SamplingParams) -> tuple[list[str], Choice]:
    """Non-empty deltas of a stream, and the finished choice."""
    deltas, last = [], None
    async for item in engine.stream(prompt, sampling):
        if isinstance(item, CompletionDelta) and item.text:
            deltas.append(item.text)
        last = item
    assert isinstance(last, Completion)
    return deltas, last.choices[0]


def greedy(**settings: Any) -> SamplingParams:
    return SamplingParams(temperature=0.0, **settings)


@pytest.mark.parametrize("batch", [1, 4])
def test_r001_characters_of_several_tokens_stay_whole_in_any_batch(forced: Any, batch: int) -> None:
    text = "a😀ž—é"
    prompts = ["q" * (index + 1) for index in range(batch)]
    for prompt in prompts:
        forced.say(prompt, text)
    sampling = greedy(max_tokens=len(text.encode()))

    async def run() -> None:
        streamed = await asyncio.gather(*(collect(forced.engine, prompt, sampling) for prompt in prompts))
        whole = await asyncio.gather(*(forced.engine.submit(prompt, sampling) for prompt in prompts))
        for deltas, _ in streamed:
            assert deltas == list(text)
        assert [completion.text for completion in whole] == [text] * batch

    asyncio.run(run())


@pytest.mark.parametrize(
    ("pieces", "end", "text", "reason"),
    [
        (["ple", "as"], True, "pleas", FinishReason.STOP),
        (["x", "assi"], True, "xassi", FinishReason.STOP),
        (["x", "assi"], False, "xassi", FinishReason.LENGTH),
    ],
)
def test_r005_text_held_back_for_a_stop_string_comes_when_the_answer_ends(
    forced: Any, pieces: Sequence[str], end: bool, text: str, reason: FinishReason
) -> None:
    forced.say("q", "".join(pieces), end=end)
    sampling = greedy(stop=("assistant",), max_tokens=len(text) + end)
    deltas, choice = asyncio.run(collect(forced.engine, "q", sampling))
    assert ("".join(deltas), choice.text, choice.finish_reason) == (text, text, reason)


@pytest.mark.parametrize(("said", "shown"), [("ABCDEFGHIJK", "ABC"), ("ABCDEFGHIX", "ABCDEFGHIX")])
def test_r007_no_part_of_a_stop_string_is_shown_and_nothing_else_is_lost(forced: Any, said: str, shown: str) -> None:
    forced.say("q", said)
    deltas, choice = asyncio.run(collect(forced.engine, "q", greedy(stop=("DEFGHIJ",), max_tokens=len(said))))
    assert ("".join(deltas), choice.text) == (shown, shown)
    assert choice.stopped_by == ("DEFGHIJ" if shown == "ABC" else None)


def test_r009_text_that_begins_no_stop_string_comes_at_once(forced: Any) -> None:
    letters = "abcdefghijklmnopqrst"
    forced.say("q", letters + "<|ve", end=True)
    sampling = greedy(stop=("<|very-long-stop-marker|>",), max_tokens=40)
    deltas, choice = asyncio.run(collect(forced.engine, "q", sampling))
    assert deltas == [*letters, "<|ve"]
    assert choice.text == letters + "<|ve"


def test_r015_stop_strings_wait_for_min_tokens(forced: Any) -> None:
    forced.say("q", "a\nb\nc\nd")
    deltas, choice = asyncio.run(collect(forced.engine, "q", greedy(stop=("\n",), min_tokens=5, max_tokens=10)))
    assert ("".join(deltas), choice.text, choice.finish_reason) == ("a\nb\nc", "a\nb\nc", FinishReason.STOP)


def test_a_stop_string_ends_the_sequence_in_its_step_and_can_be_kept(forced: Any) -> None:
    forced.say("q", "one two three")
    completion = asyncio.run(forced.engine.submit("q", greedy(stop=("two",), include_stop=True, max_tokens=200)))
    assert completion.text == "one two"
    assert completion.usage.completion_tokens == len("one two")
    assert forced.engine.stats().cache.leases == 0


def test_a_stop_string_wins_over_max_tokens_at_the_same_token(forced: Any) -> None:
    forced.say("q", "one two")
    choice = asyncio.run(forced.engine.submit("q", greedy(stop=("two",), max_tokens=7))).choices[0]
    assert (choice.text, choice.finish_reason, choice.stopped_by) == ("one ", FinishReason.STOP, "two")


def test_a_stop_token_is_neither_text_nor_an_id_of_the_answer(forced: Any) -> None:
    forced.say("q", "ab!cd")
    choice = asyncio.run(forced.engine.submit("q", greedy(stop_token_ids=(ord("!"),), max_tokens=5))).choices[0]
    assert (choice.text, choice.token_ids, choice.stopped_by) == ("ab", (97, 98), ord("!"))


def test_choices_of_a_request_share_the_automaton_of_its_stop_strings(
    make_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []

    def build(*arguments: Any) -> StopMatcher:
        built.append(arguments)
        return StopMatcher(*arguments)

    monkeypatch.setattr("radixkv.engine.choice_text.StopMatcher", build)
    engine = make_engine()
    sampling = SamplingParams(seed=3, n=6, max_tokens=12, stop=("e", "ab"))
    together = asyncio.run(engine.submit("some prompt", sampling))
    assert built == [(("e", "ab"), False)]
    free = asyncio.run(engine.submit("some prompt", SamplingParams(seed=3, n=6, max_tokens=12)))
    for choice, whole in zip(together.choices, free.choices, strict=True):
        cut = min((at for stop in ("e", "ab") if (at := whole.text.find(stop)) >= 0), default=None)
        assert choice.text == whole.text[:cut], "each choice has its own place in the automaton"


class TestCut:
    """Where a stop string cuts tokens that are longer than a character."""

    def text(self, tokenizer: Tokenizer, **settings: Any) -> ChoiceText:
        sampling = greedy(**settings)
        return ChoiceText(tokenizer.detokenizer(), StopMatcher(sampling.stop), sampling.min_tokens)

    def test_tokens_before_the_cut_stay_and_the_rest_of_a_split_token_is_text(self, tokenizer: Tokenizer) -> None:
        end_of_e = "é".encode()
        text = self.text(tokenizer, stop=("\n",))
        new = text.push([ord("a"), *end_of_e, ord("\n"), ord("b")])
        assert (new.text, new.used_ids) == ("aé", 4)
        assert new.cut is not None
        assert (new.cut.kept_tokens, new.cut.remainder) == (3, "")

    def test_a_cut_never_splits_a_character(self, tokenizer: Tokenizer) -> None:
        text = self.text(tokenizer, stop=("xé",))
        new = text.push([ord("a"), ord("x"), *"é".encode()])
        assert new.cut is not None
        assert (new.text, new.cut.kept_tokens, new.cut.remainder) == ("a", 1, "")
