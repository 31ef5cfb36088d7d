"""What cannot fit is refused with the numbers; the pool is sized from memory; what is not built is named."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from radixkv.config import EngineConfig, engine_config
from radixkv.engine import fit_parts, load_parts, startup
from radixkv.engine import machine as machine_module
from radixkv.engine.machine import free_memory, usable_cores
from radixkv.engine.sizing import PoolPlan, plan_pool
from radixkv.errors import ConfigurationError, RequestTooLarge
from radixkv.models import ModelFiles, locate_model
from radixkv.request import FinishReason, SamplingParams

MIB = 1 << 20


@pytest.mark.parametrize("prefix_cache", [True, False])
def test_r076_r093_a_prompt_that_never_fits_is_refused_and_others_run(make_engine: Any, prefix_cache: bool) -> None:
    engine = make_engine(num_blocks=16, block_size=4, prefix_cache=prefix_cache)
    sampling = SamplingParams(temperature=0.0, max_tokens=5, ignore_eos=True)

    async def run() -> None:
        with pytest.raises(RequestTooLarge, match=r"70.*63 tokens") as refusal:
            await engine.submit(list(range(70)), sampling)
        assert (refusal.value.needed, refusal.value.available) == (70, 63)
        assert (await engine.submit(list(range(40, 45)), sampling)).usage.completion_tokens == 5

    asyncio.run(run())


def test_r096_a_lone_request_that_exhausts_the_pool_ends_with_its_text(make_engine: Any) -> None:
    engine = make_engine(num_blocks=8, block_size=4)
    sampling = SamplingParams(temperature=0.0, max_tokens=100, ignore_eos=True)

    async def run() -> None:
        completion = await engine.submit("abc", sampling)
        assert completion.choices[0].finish_reason is FinishReason.LENGTH
        assert completion.usage.completion_tokens == 32 - 3
        assert len(completion.text) > 0
        assert (await engine.submit("next", SamplingParams(temperature=0.0, max_tokens=5))).text

    asyncio.run(run())


def plan(free: int = 100 * MIB, model_context: int = 2048, **settings: Any) -> PoolPlan:
    return plan_pool(EngineConfig(**settings), bytes_per_block=MIB, model_context=model_context, free_memory=free)


def test_the_pool_takes_a_quarter_of_free_memory_and_at_most_four_gib() -> None:
    assert plan(free=1000 * MIB).num_blocks == 250
    assert plan(free=1 << 40).num_bytes == 4 << 30
    assert plan(free=1000 * MIB, kv_memory=10 * MIB + 5).num_blocks == 10
    assert plan(num_blocks=7).num_blocks == 7


def test_r121_a_context_larger_than_the_pool_is_refused_with_the_numbers() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        plan(kv_memory=MIB, max_context=2000)
    for fact in (f"{125 * MIB} bytes", f"{MIB} bytes", "fits is 16 tokens", "--kv-memory", "--max-context"):
        assert fact in str(refusal.value)


def test_r123_the_context_is_capped_by_the_pool_and_the_cap_is_noted() -> None:
    capped = plan(num_blocks=2, model_context=1024)
    assert capped.max_context == 32
    assert "capped to 32 tokens" in capped.notes[0]
    assert "--kv-memory" in capped.notes[0]
    with pytest.raises(ConfigurationError, match="fits is 32 tokens"):
        plan(num_blocks=2, model_context=1024, max_context=1024)
    assert plan(num_blocks=64, model_context=1024) == PoolPlan(64, 16, MIB, 1024)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_context": 4096}, "made for 2048"),
        ({"kv_memory": 200 * MIB}, "of memory free"),
        ({"num_blocks": 200}, "of memory free"),
        ({"kv_memory": 1000}, "cannot hold one block"),
    ],
)
def test_sizes_that_cannot_be_met_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        plan(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"deterministic": True}, "deterministic: not in this version"),
        ({"weights": "int8"}, "int8 is not in this version"),
        ({"device": "cuda"}, "cuda is not in this version"),
        ({"kv_format": "fp8_e4m3"}, r"'fp8_e4m3' not in this version.*What works: KV format fp32, bf16, fp16"),
    ],
)
def test_what_is_not_built_is_refused_by_name(make_engine: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_engine(**settings)


def test_the_backend_is_the_one_that_the_selection_picks(make_engine: Any) -> None:
    engine = make_engine()
    assert (engine.attention.backend, engine.attention.kv_format) == ("cpu", "fp32")
    unbuilt = dict.fromkeys(("flashinfer", "triton"), "not in this version")
    assert engine.attention.reasons == unbuilt | {"reference": "cpu comes first"}
    assert engine.pool.bytes_per_block == engine.attention.bytes_per_block


def test_kv_may_be_kept_in_another_plain_format(make_engine: Any) -> None:
    plain, small = make_engine(kv_format="fp32"), make_engine(kv_format="bf16")
    assert small.attention.bytes_per_block * 2 == plain.attention.bytes_per_block
    assert small._parts.namespace("") != plain._parts.namespace("")
    sampling = SamplingParams(temperature=0.0, max_tokens=1, logprobs=0)
    one, other = (asyncio.run(engine.submit("a text of some length", sampling)) for engine in (plain, small))
    assert one.choices[0].logprobs[0].logprob == pytest.approx(other.choices[0].logprobs[0].logprob, abs=0.05)
    assert one.choices[0].logprobs[0].logprob != other.choices[0].logprobs[0].logprob


def test_what_was_capped_is_logged_as_a_warning(make_engine: Any, caplog: pytest.LogCaptureFixture) -> None:
    engine = make_engine(num_blocks=8)
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == list(engine.pool.notes)
    assert "capped to 128 tokens" in caplog.text


def test_news_of_a_download_go_to_who_asked(monkeypatch: pytest.MonkeyPatch, tiny_llama: Path) -> None:
    files = locate_model(str(tiny_llama))

    def fetch(_name: str, *, progress: Any) -> ModelFiles:
        progress("fetching a model (98 MB)")
        return files

    monkeypatch.setattr(startup, "locate_model", fetch)
    heard: list[str] = []
    load_parts(EngineConfig("a-name", dtype="float32", num_blocks=4), notify=heard.append)
    assert heard == ["fetching a model (98 MB)"]


def test_flat_settings_reach_engine_and_scheduler_and_unknown_ones_are_named() -> None:
    config = engine_config("m", {"kv_memory": "2MiB", "max_running": 3})
    assert (config.model, config.kv_memory, config.scheduler.max_running) == ("m", 2 * MIB, 3)
    with pytest.raises(ConfigurationError, match=r"`kv_memry`.*kv_memory"):
        engine_config("m", {"kv_memry": 1})


@pytest.mark.parametrize(
    "setting",
    [
        {"device": "gpu"},
        {"device": 3},
        {"dtype": "int3"},
        {"weights": None},
        {"kv_format": ""},
        {"seed": "x"},
        {"seed": -1},
        {"seed": 1.5},
        {"prefix_cache": 1},
        {"prefix_cache": "no"},
        {"deterministic": None},
        {"age_weight": float("nan")},
        {"age_weight": float("inf")},
        {"age_weight": "16"},
        {"age_weight": True},
        {"block_size": 16.0},
        {"threads": 100_000},
        {"threads": (os.cpu_count() or 1) + 1},
    ],
)
def test_a_setting_of_a_wrong_type_or_range_is_refused_by_name(setting: dict[str, Any]) -> None:
    (name,) = setting
    with pytest.raises(ConfigurationError, match=f"^{name}: got"):
        engine_config("m", setting)


def test_threads_are_bounded_by_the_machine_and_the_bound_is_named() -> None:
    cpus = os.cpu_count() or 1
    assert engine_config("m", {"threads": cpus}).threads == cpus
    with pytest.raises(ConfigurationError, match=f"{cpus} logical CPUs"):
        engine_config("m", {"threads": cpus + 1})


def test_a_model_may_be_a_path(tmp_path: Path) -> None:
    assert engine_config(tmp_path, {}).model == str(tmp_path)


def test_memory_and_cores_respect_the_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "_CGROUP", tmp_path)
    unlimited = free_memory()
    assert unlimited > 0
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("2500000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 100000\n")
    assert free_memory() == 600_000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 600_000
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    assert usable_cores() == 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert usable_cores() >= 1


def test_the_engine_thread_computes_with_the_threads_asked(tiny: Any, tokenizer: Any) -> None:
    settings = {"num_blocks": 8, "threads": 2}
    assert fit_parts(engine_config("m", settings), tiny, tokenizer).threads == 2
    assert fit_parts(engine_config("m", {"num_blocks": 8}), tiny, tokenizer).threads == usable_cores()


def test_no_thread_is_left_behind(make_engine: Any) -> None:
    engine = make_engine()
    assert any(thread.name == "radixkv-engine" for thread in threading.enumerate())
    engine.close_now()
    assert not any(thread.name == "radixkv-engine" for thread in threading.enumerate())
