"""The sync face: what the README shows, from scripts, notebooks and threads, with Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from radixkv import LLM, SamplingParams
from radixkv.errors import EngineClosed, InvalidRequest

FOUR = SamplingParams(temperature=0.0, max_tokens=4, ignore_eos=True)


@pytest.fixture(scope="module")
def llm(tiny_llama: Path) -> Iterator[LLM]:
    with LLM(str(tiny_llama), dtype="float32", num_blocks=128, threads=1) as llm:
        yield llm


def test_one_prompt_or_several(llm: LLM) -> None:
    one = llm.generate("The sky is", FOUR)
    several = llm.generate(["The sky is", [70, 71, 72]], FOUR)
    assert len(one) == 1
    assert one[0].text == several[0].text
    assert one[0].usage.completion_tokens == 4
    assert len(several[1].choices[0].token_ids) == 4
    assert llm.generate([70, 71, 72], FOUR)[0].text == several[1].text
    assert llm.generate([], FOUR) == []


def test_sampling_for_each_prompt(llm: LLM) -> None:
    two = SamplingParams(temperature=0.0, max_tokens=2, ignore_eos=True)
    assert [c.usage.completion_tokens for c in llm.generate(["a", "b"], [FOUR, two])] == [4, 2]
    with pytest.raises(InvalidRequest, match="sampling"):
        llm.generate(["a", "b"], [FOUR])


def test_chat_uses_the_template(llm: LLM) -> None:
    answer = llm.chat([{"role": "user", "content": "Hi"}], FOUR)
    prompt = llm.engine.tokenizer.decode(answer.prompt_token_ids, skip_special=False)
    assert prompt == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    with pytest.raises(InvalidRequest, match="messages"):
        llm.chat([{"role": "user"}])


def test_it_works_inside_a_running_event_loop(llm: LLM) -> None:
    async def notebook_cell() -> str:
        return llm.generate("The sky is", FOUR)[0].text

    assert asyncio.run(notebook_cell()) == llm.generate("The sky is", FOUR)[0].text


def test_one_bad_prompt_fails_the_call_and_aborts_the_others(llm: LLM) -> None:
    long = SamplingParams(temperature=0.0, max_tokens=1500, ignore_eos=True)
    with pytest.raises(InvalidRequest, match="prompt"):
        llm.generate(["fine", [5000]], long)
    assert llm.generate("a", FOUR)[0].text
    assert llm.engine.stats().live_requests == 0


def test_ctrl_c_aborts_all_and_leaves_the_engine_usable(llm: LLM) -> None:
    long = SamplingParams(temperature=0.0, max_tokens=1500, ignore_eos=True)
    steps = llm.engine.stats().steps
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        llm.generate(["one", "two", "three"], long)
    timer.join()
    assert llm.generate("a", FOUR)[0].usage.completion_tokens == 4
    assert llm.engine.stats().live_requests == 0
    assert llm.engine.stats().steps - steps < 1500


def test_closing_twice_is_harmless_and_later_calls_are_refused(tiny_llama: Path) -> None:
    llm = LLM(str(tiny_llama), dtype="float32", num_blocks=8, threads=1)
    llm.close()
    llm.close()
    with pytest.raises(EngineClosed):
        llm.generate("a", FOUR)


def test_progress_of_loading_is_reported(tiny_llama: Path) -> None:
    seen: list[float] = []
    with LLM(str(tiny_llama), dtype="float32", num_blocks=8, progress=seen.append):
        pass
    assert len(set(seen)) > 2, "not only the end"
    assert seen == sorted(seen), "it never falls"
    assert 0 < seen[0] < 1
    assert seen[-1] == 1.0


def test_unknown_settings_are_named(tiny_llama: Path) -> None:
    settings: dict[str, Any] = {"num_bloks": 3}
    with pytest.raises(Exception, match="num_bloks"):
        LLM(str(tiny_llama), **settings)
