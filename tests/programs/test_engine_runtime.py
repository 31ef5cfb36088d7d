"""Programs on the engine: what they compute, what they leave behind, how errors arrive."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import frontend_lang
from frontend_lang import runtime as language
from frontend_lang.errors import ProgramError
from polling import until
from radixkv.programs import EngineRuntime
from recording_runtime import RecordingRuntime

EXAMPLES = Path(__file__).parents[2] / "examples"
ESSAY = (EXAMPLES / "essay.txt").read_text(encoding="utf-8")[:700]
DIMENSIONS = [f"aspect {index}" for index in range(12)]


def run(runtime: EngineRuntime, source: str, file: str = "<string>", **args: Any) -> frontend_lang.RunResult:
    return frontend_lang.run(source, args, runtime=runtime, seed=7, file=file)


@pytest.mark.parametrize("judges", [3, 12])
def test_judges_share_the_essay_and_a_second_run_computes_next_to_nothing(
    runtime: RecordingRuntime, judges: int
) -> None:
    source = (EXAMPLES / "judge.rkv").read_text(encoding="utf-8")
    first = run(runtime, source, essay=ESSAY, dims=DIMENSIONS[:judges])
    budget = runtime.budget()
    assert first.usage.computed_tokens == sum(usage.computed_tokens for usage in runtime.usages)
    assert first.usage.computed_tokens <= budget
    assert first.usage.prompt_tokens == first.usage.cached_tokens + first.usage.computed_tokens
    assert first.usage.forks == judges
    calls = len(runtime.usages)
    runtime.clear()
    second = run(runtime, source, essay=ESSAY, dims=DIMENSIONS[:judges])
    assert second.value == first.value
    assert len(runtime.usages) == calls
    assert max(usage.computed_tokens for usage in runtime.usages) <= 2
    print(f"{judges} judges: {first.usage.computed_tokens} computed, at most {budget}")


def test_r150_fork_before_any_text(runtime: RecordingRuntime) -> None:
    source = 'return fork 3 as b { "n=@{b}"; gen x with max=2; yield x } join all'
    assert len(run(runtime, source).value) == 3


def test_r153_a_choice_at_the_start_of_the_turn_does_not_depend_on_the_border(runtime: RecordingRuntime) -> None:
    source = """
    def pick(lead: str) -> str { user "Hi!@{lead}"; assistant select v from ["Hello", "Goodbye", "^*B"]; return v }
    return [pick(""), pick(" ")]
    """
    for choice in run(runtime, source).value:
        assert choice in {"Hello", "Goodbye", "^*B"}


@pytest.mark.parametrize("norm", ["tokens", "sum", "greedy", "prior"])
def test_r155_spaces_left_or_right_of_the_border_choose_the_same(runtime: RecordingRuntime, norm: str) -> None:
    left = f'"Key: "; select k from ["author", "title"] with norm="{norm}"; return [k, probs(k)["title"]]'
    right = f'"Key:"; select k from [" author", " title"] with norm="{norm}"; return [strip(k), probs(k)[" title"]]'
    (one, p), (other, q) = run(runtime, left).value, run(runtime, right).value
    assert one == other
    assert p == pytest.approx(q, abs=1e-4)


@pytest.mark.parametrize("example", ["chat", "sentiment", "skeleton", "tot", "demo"])
def test_the_examples_run(runtime: RecordingRuntime, example: str) -> None:
    args = {
        "chat": {"city": "Oslo"},
        "sentiment": {"review": "It was fine."},
        "skeleton": {"question": "Why is the sky blue?"},
        "tot": {"task": "Sort three numbers.", "depth": 1},
        "demo": {},
    }[example]
    file = EXAMPLES / f"{example}.rkv"
    result = run(runtime, file.read_text(encoding="utf-8"), file.name, **args)
    assert result.usage.prompt_tokens > 0


def test_until_starts_each_attempt_from_the_same_place(runtime: RecordingRuntime) -> None:
    source = 'user "Hi"; assistant gen a with max=4, tries=2 until len(a) > 1000'
    with pytest.raises(ProgramError) as failure:
        run(runtime, source)
    assert failure.value.code == "E0603"
    assert runtime.usages[0].prompt_tokens == runtime.usages[1].prompt_tokens


def test_attempts_under_a_constraint_start_from_the_same_text_and_leave_it_as_it_was(runtime: RecordingRuntime) -> None:
    source = 'user "Hi"\ntext "n= "\n%s\ntext "1"'
    run(runtime, source % "try { gen n: int with max=3, tries=3 until n == 0 - 5000 } catch e { }")
    tried, first = runtime.finished[-1], [usage.prompt_tokens for usage in runtime.usages]
    assert len(first) == 3
    assert len(set(first)) == 1
    run(runtime, source % "")
    assert tried == runtime.finished[-1]


def test_losing_branches_die_and_the_winner_is_adopted(runtime: RecordingRuntime) -> None:
    source = """
    user "Once upon a time, in a land far away, there was"
    assistant {
      fork 4 with temp=1 { gen t with max=6; "." } join best by len(t) keep
      gen end with max=2
    }
    """
    run(runtime, source)
    *_, last = runtime.usages
    assert last.computed_tokens <= 2, "the winner's KV was not computed again"


@pytest.mark.parametrize("steps", [0, 1, 5, 40, 120])
def test_a_cancelled_run_releases_every_context(runtime: RecordingRuntime, steps: int) -> None:
    source = """
    user "A beginning"
    let marks = fork 4 as i {
      assistant { gen t with max=200; select v from ["yes", "no"] }
      fork 2 { assistant gen u with max=200 } join all
    } join all
    """

    async def cancel() -> None:
        task = asyncio.create_task(frontend_lang.run_async(source, {}, runtime=runtime, seed=1))
        await until(lambda: runtime.engine.stats().steps >= steps)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert not runtime.engine._contexts


class TestErrors:
    """What the engine refuses arrives under the language's codes."""

    def code(self, runtime: EngineRuntime, source: str) -> str:
        with pytest.raises(ProgramError) as failure:
            run(runtime, source)
        return failure.value.code

    def test_a_context_that_does_not_fit(self, runtime: RecordingRuntime) -> None:
        assert self.code(runtime, f'"{"long " * 2000}"; gen a') == "E0606"

    def test_generation_from_nothing(self, runtime: RecordingRuntime) -> None:
        assert self.code(runtime, "gen a") == "E0702"

    def test_another_model(self, runtime: RecordingRuntime) -> None:
        async def ask() -> None:
            await runtime.open(model="another")

        with pytest.raises(language.RuntimeFailure, match="another") as failure:
            asyncio.run(ask())
        assert failure.value.code == "E0601"

    def test_a_timeout(self, runtime: RecordingRuntime) -> None:
        async def ask() -> None:
            context = await runtime.open()
            await runtime.append(context, [language.Text("a")])
            params = language.GenParams(max_tokens=1500, timeout_s=0.05)
            try:
                async for _ in runtime.generate(context, params):
                    pass
            finally:
                await runtime.release(context)

        with pytest.raises(language.RuntimeFailure) as failure:
            asyncio.run(ask())
        assert failure.value.code == "E0803"

    def test_a_closed_engine(self, tiny_llama: Path) -> None:
        from radixkv.config import EngineConfig
        from radixkv.engine import Engine

        engine = Engine.start(EngineConfig(str(tiny_llama), dtype="float32", num_blocks=8, threads=1))
        engine.close_now()
        assert self.code(EngineRuntime(engine), '"a"; gen b') == "E0801"


def test_the_runtime_says_what_it_is(runtime: RecordingRuntime) -> None:
    info = runtime.info
    assert (info.model, info.deterministic, info.details["dtype"]) == ("long", False, "float32")
    assert len(info.details["namespace"]) == 64
