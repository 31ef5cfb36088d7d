"""Scores against brute force, for every norm and every place of the space between context and option."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radixkv.engine import Engine, Norm, RoleOpen, Scores, Text
from radixkv.engine.scoring import OptionTrie, ScoreMemo, normalise, softmax
from radixkv.models import LoadedModel
from radixkv.request import Namespace, SamplingParams
from radixkv.tokenizer import Tokenizer
from whole_sequence import continuation_logprobs

BY_ALL = list(Norm)


def score(engine: Engine, context: str, options: Sequence[str], norm: Norm = Norm.TOKENS) -> Scores:
    async def run() -> Scores:
        opened = await engine.open()
        await engine.append(opened, [Text(context)])
        scores = await engine.score(opened, options, norm)
        await engine.release(opened)
        return scores

    return asyncio.run(run())


def brute_force(
    model: LoadedModel, tokenizer: Tokenizer, context: str, options: Sequence[str], norm: Norm
) -> list[float]:
    """Scores by whole forwards over context and option, tokenised as one text; options share no first token here."""
    vocab_size = tokenizer.vocab_size
    texts = [tokenizer.encode(context + option).tolist() for option in options]
    shared = len(list(itertools.takewhile(lambda column: len(set(column)) == 1, zip(*texts, strict=False))))
    rows = [continuation_logprobs(model, text[:shared], text[shared:], vocab_size) for text in texts]
    tails = [text[shared:] for text in texts]
    match norm:
        case Norm.TOKENS:
            return [sum(row) / len(row) for row in rows]
        case Norm.SUM:
            return [sum(row) for row in rows]
        case Norm.PRIOR:
            start = [tokenizer.bos_id]
            alone = [continuation_logprobs(model, start, tail, vocab_size) for tail in tails]
            return [sum(row) - sum(base) for row, base in zip(rows, alone, strict=True)]
        case Norm.GREEDY:
            alive = list(range(len(rows)))
            rounds = [0] * len(rows)
            for depth in range(max(map(len, rows))):
                top = max((rows[index][depth] for index in alive if depth < len(rows[index])), default=None)
                if top is None:
                    break
                alive = [index for index in alive if depth >= len(rows[index]) or rows[index][depth] >= top - 1e-9]
                for index in alive:
                    rounds[index] += 1
            return [count + math.exp(sum(row) / len(row)) / 2 for count, row in zip(rounds, rows, strict=True)]


@pytest.mark.parametrize("norm", BY_ALL)
@pytest.mark.parametrize(
    ("context", "options"),
    [
        ("Review: it was fine. Label:", [" positive", " negative", " mixed"]),
        ("Review: it was fine. Label: ", ["positive", "negative", "mixed"]),
        ("Say", ["Hello", "Goodbye", "^*B"]),
        ("Say ", ["Hello", "Goodbye", "^*B"]),
        ("Mark:", [" 1", " 2", " 3", " 4", " 5"]),
        ("Caf", ["é!", "e", "és"]),
    ],
)
def test_r153_scores_equal_brute_force(
    padded: Any, make_engine: Any, context: str, options: list[str], norm: Norm
) -> None:
    engine = make_engine(padded)
    scores = score(engine, context, options, norm)
    expected = brute_force(padded, engine.tokenizer, context, options, norm)
    assert scores.scores == pytest.approx(expected, abs=2e-4)
    assert scores.best == expected.index(max(expected))
    assert sum(scores.probabilities) == pytest.approx(1.0)
    assert scores.usage.prompt_tokens == scores.usage.cached_tokens + scores.usage.computed_tokens


@pytest.mark.parametrize("norm", BY_ALL)
def test_r153_a_space_left_or_right_of_the_border_scores_the_same(padded: Any, make_engine: Any, norm: Norm) -> None:
    engine = make_engine(padded)
    left = score(engine, "the answer is ", ["good", "on", "the end"], norm)
    right = score(engine, "the answer is", [" good", " on", " the end"], norm)
    assert left.scores == pytest.approx(right.scores, abs=1e-4)
    assert left.best == right.best


def test_r155_select_agrees_with_greedy_generation(padded: Any, make_engine: Any) -> None:
    engine = make_engine(padded)

    async def run() -> None:
        for context in ("Key: ", "Key:", 'Key: "', "the"):
            answer = await engine.submit(context, SamplingParams(temperature=0.0, max_tokens=6, ignore_eos=True))
            options = ['"author"', answer.text, '"title"']
            opened = await engine.open()
            await engine.append(opened, [Text(context)])
            if engine.tokenizer.encode(context + answer.text) == engine.tokenizer.encode(
                context
            ) + engine.tokenizer.encode(answer.text):
                assert (await engine.score(opened, options, Norm.GREEDY)).best == 1

    asyncio.run(run())


def test_the_winner_appended_as_text_is_tokenised_with_the_re_opened_token(padded: Any, make_engine: Any) -> None:
    engine = make_engine(padded)

    async def run() -> None:
        context = await engine.open()
        await engine.append(context, [Text("look at ")])
        await engine.score(context, ["the", "in"])
        await engine.append(context, [Text("the end")])
        await engine.commit(context)
        assert await engine.tokens(context) == engine.tokenizer.encode("look at the end").tolist()

    asyncio.run(run())


def test_scoring_appends_nothing(padded: Any, make_engine: Any) -> None:
    engine = make_engine(padded)

    async def run() -> None:
        context = await engine.open()
        await engine.append(context, [Text("look at the")])
        await engine.commit(context)
        before = await engine.tokens(context)
        first = await engine.score(context, ["a", "b"])
        assert (await engine.score(context, ["a", "b"])).scores == first.scores
        await engine.commit(context)
        assert await engine.tokens(context) == before

    asyncio.run(run())


def test_sampled_tokens_and_role_borders_are_never_re_opened(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        sampled = await engine.open()
        await engine.append(sampled, [Text("so ")])
        async for _ in engine.generate(sampled, SamplingParams(seed=1, max_tokens=4)):
            pass
        border = await engine.open()
        await engine.append(border, [RoleOpen("assistant")])
        await engine.commit(border)
        for context in (sampled, border):
            before = await engine.tokens(context)
            await engine.score(context, [" a", " b"])
            assert await engine.tokens(context) == before

    asyncio.run(run())


def test_scoring_computes_the_context_once_and_each_beginning_once(make_engine: Any) -> None:
    engine = make_engine()
    context = "A context of more than one block, in fact."
    usage = score(engine, context, [" alpha", " alps", " beta"]).usage
    base = len(context + " ")  # one token a byte here; the space that all options begin with counts as context
    assert usage.prompt_tokens == base + len("alpha" + "alps" + "beta")
    assert usage.computed_tokens == base + len("alph") + len("bet"), "`alp` is computed once, last letters not at all"
    again = score(engine, context, [" alpha", " alps", " beta"]).usage
    assert again.computed_tokens == 0
    asyncio.run(engine.clear_cache())
    assert score(engine, context, [" alpha", " alps", " beta"]).usage.computed_tokens == usage.computed_tokens


OPTIONS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple), min_size=1, max_size=6, unique=True)


@given(OPTIONS)
def test_every_step_of_every_option_is_asked_once_in_row_order(options: list[tuple[int, ...]]) -> None:
    runs = OptionTrie(options).runs()
    steps = [(run.path[: step.depth], step.token_id) for run in runs for step in run.steps]
    assert len(steps) == len(set(steps))
    assert len({step.node for run in runs for step in run.steps}) == len(steps), "a node names one step"
    wanted = {(option[:depth], token_id) for option in options for depth, token_id in enumerate(option)}
    assert set(steps) == wanted
    for run in runs:
        positions = [target.position for target in run.targets(10)]
        assert positions == sorted(positions)
        assert all(9 <= position <= 9 + len(run.path) for position in positions)
    assert 0 in {step.depth for step in runs[0].steps}, "the first run scores the context's own last row"


@given(OPTIONS)
def test_the_paths_are_computed_by_no_two_runs_whole(options: list[tuple[int, ...]]) -> None:
    paths = [run.path for run in OptionTrie(options).runs()]
    assert len(set(paths)) == len(paths)
    assert all(path[: len(other)] != other for path, other in itertools.permutations(paths, 2))


def test_greedy_prefers_the_likeliest_token_over_the_best_mean() -> None:
    options = [(1, 5), (2, 6)]
    logprobs = [(-1.0, -9.0), (-2.0, -0.1)]
    greedy = normalise(Norm.GREEDY, options, logprobs, [])
    assert greedy[0] > greedy[1]
    means = normalise(Norm.TOKENS, options, logprobs, [])
    assert means[1] > means[0]


def test_softmax_of_equal_and_of_hopeless_scores() -> None:
    assert softmax([2.0, 2.0]) == (0.5, 0.5)
    assert softmax([-math.inf, -math.inf]) == (0.5, 0.5)
    assert softmax([0.0, -math.inf]) == (1.0, 0.0)


def test_the_memo_forgets_the_least_recently_used() -> None:
    memo = ScoreMemo(2)
    space = Namespace()
    memo.put(space, b"c", (1,), (-1.0,))
    memo.put(space, b"c", (2,), (-2.0,))
    assert memo.get(space, b"c", (1,)) == (-1.0,)
    memo.put(space, b"c", (3,), (-3.0,))
    assert len(memo) == 2
    assert memo.get(space, b"c", (2,)) is None
    assert memo.get(Namespace(salt="other"), b"c", (1,)) is None


@given(OPTIONS)
def test_the_logprobs_of_an_option_come_from_its_own_steps(options: list[tuple[int, ...]]) -> None:
    trie = OptionTrie(options)

    def logprob(before: tuple[int, ...], token_id: int) -> float:
        return -1.0 - sum(3**place * token for place, token in enumerate((*before, token_id), start=1))

    answers = {step.node: logprob(run.path[: step.depth], step.token_id) for run in trie.runs() for step in run.steps}
    for option in options:
        expected = tuple(logprob(option[:depth], token_id) for depth, token_id in enumerate(option))
        assert trie.logprobs(option, answers) == expected


def test_long_options_are_planned_without_a_copy_of_every_beginning() -> None:
    long = 20_000
    trie = OptionTrie([(1, *range(long)), (2, *range(long))])
    runs = trie.runs()
    assert [len(run.path) for run in runs] == [long, long]
    assert sum(len(run.steps) for run in runs) == 2 * (long + 1)
