"""The verbs of contexts: what is tokenised when, what is computed once, what is shared, what is given back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, cast

import pytest

from polling import until
from radixkv.engine import Engine, Fork, Generation, Part, RoleClose, RoleOpen, Scores, Text
from radixkv.engine.context import Context
from radixkv.errors import ChatTemplateError, InvalidRequest, RequestFailed
from radixkv.request import FinishReason, SamplingParams, Usage
from radixkv.tokenizer import Message
from radixkv.tokens import token_array

ESSAY = "It was a bright cold day in April, and the clocks were striking thirteen. " * 3


def greedy(max_tokens: int, **settings: Any) -> SamplingParams:
    return SamplingParams(temperature=0.0, max_tokens=max_tokens, **settings)


async def open_with(engine: Engine, *parts: Part | str) -> str:
    context = await engine.open()
    await engine.append(context, [Text(part) if isinstance(part, str) else part for part in parts])
    return context


async def generate(engine: Engine, context: str, sampling: SamplingParams) -> Generation:
    *_, last = [item async for item in engine.generate(context, sampling)]
    assert isinstance(last, Generation)
    return last


def turn(role: str, text: str) -> tuple[Part, ...]:
    return RoleOpen(role), Text(text), RoleClose()


def test_a_conversation_has_the_tokens_of_the_chat_template(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        context = await open_with(engine, *turn("system", "Be brief."), *turn("user", "Hi, <|im_end|> you."))
        await engine.append(context, [RoleOpen("assistant")])
        await engine.commit(context)
        answer = await generate(engine, context, greedy(6, ignore_eos=True))
        await engine.append(context, [RoleClose(), *turn("user", "And?"), RoleOpen("assistant")])
        length = await engine.commit(context)
        messages = [Message("system", "Be brief."), Message("user", "Hi, <|im_end|> you.")]
        messages += [Message("assistant", answer.text), Message("user", "And?")]
        rendered = engine.tokenizer.chat_template.render(messages, add_generation_prompt=True)
        expected = engine.tokenizer.chat_ids(rendered).tolist()
        assert await engine.tokens(context) == expected
        assert length == len(expected)

    asyncio.run(run())


def test_text_between_two_commits_is_tokenised_together(padded: Any, make_engine: Any) -> None:
    engine = make_engine(padded)

    async def run() -> None:
        context = await open_with(engine, "one", " t", "he", " an", "d")
        await engine.commit(context)
        assert await engine.tokens(context) == engine.tokenizer.encode("one the and").tolist()
        assert await engine.count("one the and") == len(await engine.tokens(context))

    asyncio.run(run())


def test_generated_ids_stay_what_they_are(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        context = await open_with(engine, "A story: ")
        before = await engine.commit(context)
        answer = await generate(engine, context, SamplingParams(seed=4, max_tokens=12, temperature=3.0))
        assert (await engine.tokens(context))[before:] == list(answer.token_ids)

    asyncio.run(run())


def test_the_end_of_sequence_id_is_no_part_of_the_context(forced: Any) -> None:
    async def run() -> None:
        forced.say("q", "hi", end=True)
        context = await open_with(forced.engine, "q")
        answer = await generate(forced.engine, context, greedy(9))
        assert (answer.text, answer.finish_reason, answer.usage.completion_tokens) == ("hi", FinishReason.STOP, 2)
        assert await forced.engine.tokens(context) == list(b"qhi")

    asyncio.run(run())


def test_text_from_a_stop_string_on_is_cut_from_the_context(forced: Any) -> None:
    async def run() -> None:
        forced.say("q", "one\ntwo")
        context = await open_with(forced.engine, "q")
        answer = await generate(forced.engine, context, greedy(30, stop=("\nt",)))
        assert (answer.text, answer.finish_reason) == ("one", FinishReason.STOP)
        assert bytes(await forced.engine.tokens(context)) == b"qone"
        forced.say("qone!", "x")
        await forced.engine.append(context, [Text("!")])
        again = await generate(forced.engine, context, greedy(1))
        assert again.usage == Usage(5, 4, 1, 0, 1), "what was computed before the cut is used again"

    asyncio.run(run())


def test_a_token_that_the_cut_splits_goes_back_as_text(padded: Any, make_engine: Any) -> None:
    engine = make_engine(padded)
    the = engine.tokenizer.encode("the").tolist()
    assert len(the) == 1

    async def run() -> None:
        context = await open_with(engine, "so")
        answer = await generate(engine, context, greedy(2, stop=("he",), logit_bias={the[0]: 100.0}))
        assert (answer.text, answer.token_ids) == ("t", ())
        await engine.append(context, [Text("hen")])
        await engine.commit(context)
        before, after = (engine.tokenizer.encode(text).tolist() for text in ("so", "then"))
        assert await engine.tokens(context) == before + after

    asyncio.run(run())


def test_closing_a_generation_rolls_back_to_where_it_began(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        context = await open_with(engine, "A story: ")
        length = await engine.commit(context)
        async with aclosing(engine.generate(context, greedy(300, ignore_eos=True))) as items:
            async for _ in items:
                break
        assert len(await engine.tokens(context)) == length
        answer = await generate(engine, context, greedy(3, ignore_eos=True))
        assert answer.usage.completion_tokens == 3
        await engine.release(context)

    asyncio.run(run())
    assert engine.stats().cache.leases == 0


def test_releasing_cancels_what_runs_and_frees_it(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        context = await open_with(engine, "A story: ")
        running = asyncio.create_task(generate(engine, context, greedy(1000, ignore_eos=True)))
        await until(lambda: engine.stats().scheduler.running)
        with pytest.raises(InvalidRequest, match="nothing runs"):
            await engine.commit(context)
        await engine.release(context)
        await engine.release(context)
        assert (await running).finish_reason is FinishReason.ABORT
        with pytest.raises(InvalidRequest, match="open context"):
            await engine.commit(context)

    asyncio.run(run())
    stats = engine.stats()
    assert (stats.cache.leases, stats.scheduler.holds, stats.live_requests) == (0, 0, 0)
    assert stats.steps < 900


def test_a_fork_computes_the_prefix_once_and_shares_it(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        context = await open_with(engine, ESSAY)
        fork = await engine.fork(context, 8)
        length = len(engine.tokenizer.encode(ESSAY))
        assert fork == Fork(fork.children, Usage(length, 0, length, forks=8), length)
        for child in fork.children:
            await engine.append(child, [Text(f" Child {child}:")])
        answers = await asyncio.gather(*(generate(engine, child, greedy(4)) for child in fork.children))
        assert all(answer.usage.cached_tokens >= length for answer in answers)
        blocks = engine.stats().cache.held_blocks
        assert blocks <= length // 16 + 1 + 8 * 3, "children hold the prefix together"
        again = await engine.fork(context, 2)
        assert again.usage == Usage(length, length, forks=2), "what is held is not computed again"
        for left in (context, *fork.children, *again.children):
            await engine.release(left)

    asyncio.run(run())
    assert engine.stats().cache.leases == 0


def test_r150_fork_before_any_text(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        for parts in ((), ("",)):
            context = await open_with(engine, *parts)
            fork = await engine.fork(context, 3)
            assert (fork.shared_tokens, fork.usage) == (0, Usage(forks=3))
            for index, child in enumerate(fork.children):
                await engine.append(child, [Text(f"n={index}")])
            answers = await asyncio.gather(*(generate(engine, child, greedy(2)) for child in fork.children))
            assert [answer.usage.completion_tokens for answer in answers] == [2, 2, 2]
            assert await engine.tokens(context) == []

    asyncio.run(run())


def test_adopting_a_child_computes_nothing(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        context = await open_with(engine, *turn("user", ESSAY), RoleOpen("assistant"))
        fork = await engine.fork(context, 2)
        await engine.append(fork.children[1], [Text("Well, ")])
        answer = await generate(engine, fork.children[1], greedy(5, ignore_eos=True))
        ids = await engine.tokens(fork.children[1])
        computed = engine.stats().scheduler.computed_tokens
        await engine.adopt(context, fork.children[1])
        assert engine.stats().scheduler.computed_tokens == computed
        assert await engine.tokens(context) == ids
        with pytest.raises(InvalidRequest, match="open context"):
            await engine.tokens(fork.children[1])
        await engine.append(context, [RoleClose(), *turn("user", "Go on.")])
        more = await generate(engine, context, greedy(2))
        assert more.usage.cached_tokens == len(ids) - 1, f"all but the last sampled token of {answer.token_ids}"
        await engine.release(context)
        await engine.release(fork.children[0])

    asyncio.run(run())
    assert engine.stats().cache.leases == 0


def test_truncating_forgets_tokens_roles_and_buffer(make_engine: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        context = await open_with(engine, *turn("user", "Hello"))
        length = await engine.commit(context)
        tokens = await engine.tokens(context)
        await engine.append(context, [RoleOpen("assistant")])
        await engine.commit(context)
        await engine.append(context, [Text("never seen")])
        await engine.truncate(context, length)
        assert await engine.tokens(context) == tokens
        await engine.append(context, [RoleOpen("user")])  # no role is open any more
        with pytest.raises(InvalidRequest, match="length"):
            await engine.truncate(context, 10_000)

    asyncio.run(run())


def test_truncating_to_where_a_generation_began_restores_text_that_it_re_opened() -> None:
    context = Context("c", cast("Any", None), cast("Any", None), token_array([1, 2, 3, 4]), text_start=1)
    for length, expected in ((4, [1, 2, 3, 4]), (3, [1, 2, 3]), (2, [1, 2])):
        context.settle(2, [8, 9, 9], "")
        assert context.tokens.tolist() == [1, 2, 8, 9, 9]
        context.truncate(length)
        assert (context.tokens.tolist(), context.text_start) == (expected, 1)
    context.settle(2, [8, 9, 9], "")
    context.truncate(5)
    assert context.tokens.tolist() == [1, 2, 8, 9, 9]


def test_a_hold_covers_nothing_that_came_after_a_truncation(make_engine: Any) -> None:
    engine = make_engine(block_size=4)

    async def run() -> None:
        context = await open_with(engine, "A" * 100)
        first = await engine.fork(context, 1)
        await engine.truncate(context, 20)
        await engine.append(context, [Text("B" * 80)])
        assert await engine.commit(context) == first.shared_tokens, "as long as before"
        second = await engine.fork(context, 3)
        assert 80 <= second.usage.computed_tokens <= 84
        assert second.usage.prompt_tokens == first.shared_tokens
        ends = await asyncio.gather(*(generate(engine, child, greedy(2)) for child in second.children))
        assert all(1 <= end.usage.computed_tokens <= 2 for end in ends)
        untouched = await engine.fork(first.children[0], 1)
        assert untouched.usage.computed_tokens == 0, "the hold of the others is what it was"

    asyncio.run(run())


def test_a_hold_covers_no_token_that_scoring_took_back(padded: Any, make_engine: Any) -> None:
    engine = make_engine(padded)

    async def run() -> None:
        context = await open_with(engine, "look at the")
        await engine.score(context, ["a", "b"])  # now remembered: scoring again computes nothing
        length = await engine.commit(context)
        await engine.fork(context, 1)
        assert engine._context(context).held_tokens == length
        await engine.score(context, ["a", "b"])
        assert engine._context(context).held_tokens == length - 1

    asyncio.run(run())


def test_contexts_of_different_namespaces_share_nothing(make_engine: Any) -> None:
    engine = make_engine()

    async def computed(namespace: str) -> int:
        context = await engine.open(namespace)
        await engine.append(context, [Text(ESSAY)])
        return (await generate(engine, context, greedy(1))).usage.computed_tokens

    async def run() -> list[int]:
        return [await computed(name) for name in ("a", "b", "a")]

    length = len(engine.tokenizer.encode(ESSAY))
    assert asyncio.run(run()) == [length, length, 1]


def test_a_revoked_hold_costs_time_and_nothing_else(make_engine: Any) -> None:
    engine = make_engine(num_blocks=16)
    sampling = greedy(4, ignore_eos=True)

    async def run(between: Callable[[], Awaitable[object]]) -> tuple[int, ...]:
        context = await open_with(engine, ESSAY[:100])
        await engine.fork(context, 1)
        await between()
        return (await generate(engine, context, sampling)).token_ids

    async def nothing() -> None:
        pass

    undisturbed = asyncio.run(run(nothing))
    revoked = engine.stats().cache.revoked_leases
    disturbed = asyncio.run(run(lambda: engine.submit("Something else. " * 14, greedy(20, ignore_eos=True))))
    assert engine.stats().cache.revoked_leases > revoked
    assert disturbed == undisturbed


def test_a_failed_generation_leaves_the_context_as_it_was(forced: Any) -> None:
    async def run() -> None:
        context = await open_with(forced.engine, "ab")
        forced.decoder.fail_at = (1, ord("b"))
        with pytest.raises(RequestFailed):
            await generate(forced.engine, context, greedy(3))
        forced.decoder.fail_at = None
        assert (await generate(forced.engine, context, greedy(3, ignore_eos=True))).usage.completion_tokens == 3

    asyncio.run(run())


def test_misuse_is_refused_by_name(make_engine: Any, tiny: Any) -> None:
    engine = make_engine()

    async def run() -> None:
        context = await engine.open()
        for verb in (engine.score(context, ["a"]), generate(engine, context, greedy(1))):
            with pytest.raises(InvalidRequest, match="some text before"):
                await verb
        with pytest.raises(InvalidRequest, match="an open role"):
            await engine.append(context, [RoleClose()])
        await engine.append(context, [RoleOpen("user")])
        with pytest.raises(InvalidRequest, match="`user` to be closed"):
            await engine.append(context, [RoleOpen("assistant")])
        with pytest.raises(InvalidRequest, match="model"):
            await engine.open(model="another")
        with pytest.raises(InvalidRequest, match="n: got 0, expected an integer from 1"):
            await engine.fork(context, 0)
        with pytest.raises(InvalidRequest, match="options"):
            await engine.score(context, ["a", ""])

    asyncio.run(run())


def test_roles_without_a_chat_template_are_refused(tmp_path: Any, make_engine: Any) -> None:
    from radixkv.models import load_model, locate_model
    from tiny_models import make_tiny_model

    plain = load_model(locate_model(str(make_tiny_model(tmp_path, chat_template=None))), "float32")
    engine = make_engine(plain)

    async def run() -> None:
        context = await engine.open()
        with pytest.raises(ChatTemplateError, match="no chat template"):
            await engine.append(context, [RoleOpen("user")])

    asyncio.run(run())


class Judges:
    """The shape of examples/judge.rkv: an essay, branches that select a mark and say why, a verdict."""

    def __init__(self, engine: Engine, count: int) -> None:
        self.engine = engine
        self.count = count
        self.usages: list[Usage] = []
        self.text_tokens = 0
        self.option_tokens = 0

    async def add(self, context: str, parts: Sequence[Part]) -> None:
        """Append, and count the tokens that it adds."""
        before = await self.engine.commit(context)
        await self.engine.append(context, parts)
        self.text_tokens += await self.engine.commit(context) - before

    async def judge(self, context: str, index: int) -> None:
        await self.add(context, [*turn("user", f"Judge aspect {index}."), RoleOpen("assistant"), Text("Score: ")])
        options = [" 1", " 2", " 3", " excellent", " exceptional"]
        scores = await self.engine.score(context, options)
        assert isinstance(scores, Scores)
        self.usages.append(scores.usage)
        self.option_tokens += sum(len(self.engine.tokenizer.encode(" " + option)) for option in options)
        await self.add(context, [Text(options[scores.best] + "\nBecause")])
        self.usages.append((await generate(self.engine, context, SamplingParams(seed=index, max_tokens=10))).usage)

    async def run(self) -> list[Usage]:
        context = await self.engine.open()
        await self.add(context, [*turn("system", "You are a strict editor."), *turn("user", ESSAY)])
        fork = await self.engine.fork(context, self.count)
        self.usages.append(fork.usage)
        await asyncio.gather(*(self.judge(child, index) for index, child in enumerate(fork.children)))
        await self.add(context, [*turn("user", "Now a verdict."), RoleOpen("assistant")])
        self.usages.append((await generate(self.engine, context, greedy(10))).usage)
        for left in (context, *fork.children):
            await self.engine.release(left)
        return self.usages


@pytest.mark.parametrize("count", [3, 12])
def test_judges_compute_the_essay_once(make_engine: Any, count: int) -> None:
    engine = make_engine()
    judges = Judges(engine, count)
    usages = asyncio.run(judges.run())
    computed = sum(usage.computed_tokens for usage in usages)
    calls = len(usages) - 1  # gens and selects
    budget = judges.text_tokens + judges.option_tokens + 2 * calls
    print(
        f"{count} judges: {computed} computed, at most {budget}; {sum(u.prompt_tokens for u in usages)} prompt tokens"
    )
    assert computed <= budget
    assert all(usage.prompt_tokens == usage.cached_tokens + usage.computed_tokens for usage in usages)
    again = asyncio.run(Judges(engine, count).run())
    print(f"again: {[usage.computed_tokens for usage in again]}")
    assert max(usage.computed_tokens for usage in again) <= 2
    engine.check_integrity()
    assert engine.stats().cache.leases == 0
