"""The sync face: what the README shows, from scripts, notebooks and threads, with Ctrl-C."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forked import in_a_forked_process
from radixkv import LLM, SamplingParams
from radixkv.errors import ConfigurationError, EngineClosed, InvalidRequest
from radixkv.tokenizer import Message

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


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda llm: llm.chat([{"role": "user"}]), "messages[0]"),
        (lambda llm: llm.chat([None]), "messages[0]"),
        (lambda llm: llm.chat([[{"role": "user", "content": "a"}]]), "messages[0]"),
        (lambda llm: llm.chat([{"role": "user", "content": None}]), "messages[0]"),
        (lambda llm: llm.chat([Message("user", "a"), "b"]), "messages[1]"),
        (lambda llm: llm.chat([]), "messages"),
        (lambda llm: llm.chat("Hi"), "messages"),
        (lambda llm: llm.chat(None), "messages"),
        (lambda llm: llm.generate(None), "prompts"),
        (lambda llm: llm.generate(b"text"), "prompts"),
        (lambda llm: llm.generate({"role": "user", "content": "a"}), "prompts"),
        (lambda llm: llm.generate([{"role": "user", "content": "a"}]), "prompts"),
        (lambda llm: llm.generate(["a", None]), "prompt"),
        (lambda llm: llm.generate("a", {"max_tokens": 3}), "sampling"),
        (lambda llm: llm.generate(["a"], [None]), "sampling"),
    ],
)
def test_what_is_no_prompt_and_no_message_is_refused_by_name(
    llm: LLM, call: Callable[[LLM], object], field: str
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        call(llm)
    assert refusal.value.field == field


def test_messages_given_as_prompts_are_pointed_to_chat(llm: LLM) -> None:
    with pytest.raises(InvalidRequest, match="`chat` takes messages"):
        llm.generate([Message("user", "a")])


def test_arrays_of_ids_are_one_prompt_or_several(llm: LLM) -> None:
    ids = np.array([[70, 71, 72], [80, 81, 82]])
    one, several = llm.generate(ids[0], FOUR), llm.generate(ids, FOUR)
    assert [completion.prompt_token_ids.tolist() for completion in several] == ids.tolist()
    assert one[0].text == several[0].text
    assert len(llm.generate([np.int64(70), 71], FOUR)) == 1


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


def threads_of_engines() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("radixkv-")}


def start(tiny_llama: Path) -> LLM:
    return LLM(str(tiny_llama), dtype="float32", num_blocks=256, threads=1)


def wait_until_running(llm: LLM) -> None:
    while not llm.engine.stats().scheduler.running:
        time.sleep(0.001)


def test_closing_answers_the_threads_that_are_in_a_call(tiny_llama: Path) -> None:
    llm = start(tiny_llama)
    long = SamplingParams(temperature=0.0, max_tokens=1500, ignore_eos=True)
    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(llm.generate, ["a", f"b{index}"], long) for index in range(3)]
        wait_until_running(llm)
        llm.close()
        assert all(isinstance(call.exception(timeout=10), EngineClosed) for call in calls)


def test_calls_and_closings_from_many_threads_all_end(tiny_llama: Path) -> None:
    for _ in range(5):
        llm = start(tiny_llama)
        with ThreadPoolExecutor(8) as pool:
            calls = [pool.submit(llm.generate, "a", FOUR) for _ in range(12)]
            closings = [pool.submit(llm.close) for _ in range(4)]
            calls += [pool.submit(llm.generate, "a", FOUR) for _ in range(4)]
            for closing in closings:
                closing.result(timeout=10)
            for call in calls:
                error = call.exception(timeout=10)
                assert error is None or isinstance(error, EngineClosed)


def test_an_engine_that_is_forgotten_ends_with_its_threads(tiny_llama: Path) -> None:
    before = threads_of_engines()
    llm = start(tiny_llama)
    llm.generate("a", FOUR)
    with pytest.raises(InvalidRequest):
        llm.generate([5000])
    own = threads_of_engines() - before
    assert len(own) == 2
    del llm
    gc.collect()
    for thread in own:
        thread.join(timeout=10)
    assert not any(thread.is_alive() for thread in own)


def test_the_engine_of_a_forgotten_llm_may_still_be_used(tiny_llama: Path) -> None:
    engine = start(tiny_llama).engine
    gc.collect()
    assert asyncio.run(engine.submit("a", FOUR)).usage.completion_tokens == 4
    engine.close_now()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # forking beside threads is what is tested
def test_in_a_forked_process_calls_are_refused_and_closing_is_harmless(llm: LLM) -> None:
    def work() -> str:
        try:
            llm.generate("a", FOUR)
        except EngineClosed as error:
            llm.close()
            return str(error)
        return "no error"

    assert "start one in this process" in in_a_forked_process(work)
    assert llm.generate("a", FOUR)[0].usage.completion_tokens == 4


@pytest.mark.parametrize("model", [None, "", 5])
def test_a_model_that_is_no_name_is_refused(model: Any) -> None:
    with pytest.raises(ConfigurationError, match="model: got"):
        LLM(model)


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
