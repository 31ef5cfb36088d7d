"""From a configuration to the parts of a running engine."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch

from radixkv.cache import PrefixCache
from radixkv.config import EngineConfig
from radixkv.constraints import ConstraintCompiler, ConstraintTable
from radixkv.engine.constraining import token_vocabulary
from radixkv.engine.machine import free_memory, usable_cores
from radixkv.engine.sizing import PoolPlan, plan_pool
from radixkv.errors import NotInThisVersion
from radixkv.models import LoadedModel, load_model, locate_model, with_native_decoder
from radixkv.request import Namespace
from radixkv.runner import AttentionChoice, AttentionShape, Runner, choose_attention
from radixkv.scheduler import Scheduler, SchedulerLimits
from radixkv.tokenizer import Tokenizer, load_tokenizer

ProgressReport = Callable[[float], None]
Notify = Callable[[str], None]

_LOG: Final = logging.getLogger("radixkv.engine")


@dataclass(frozen=True)
class EngineParts:
    """Everything that an engine drives, made to fit each other."""

    config: EngineConfig
    model: LoadedModel
    tokenizer: Tokenizer
    pool: PoolPlan
    attention: AttentionChoice
    cache: PrefixCache
    scheduler: Scheduler
    runner: Runner
    constraints: ConstraintTable
    threads: int

    def namespace(self, salt: str) -> Namespace:
        """What KV of this engine is shared under, for one tenant."""
        return Namespace(model=self.model.digest, kv_format=self.attention.kv_format, salt=salt)


def load_parts(
    config: EngineConfig, progress: ProgressReport | None = None, notify: Notify | None = None
) -> EngineParts:
    """Find and load the model, then fit the rest to it.

    `progress` gets the loaded fraction, `notify` a line of text before and after a download (left out: the log gets
    it). Raises ConfigurationError, ModelError.
    """
    refuse_unsupported(config)
    files = locate_model(config.model, progress=notify or _LOG.info)
    tokenizer = load_tokenizer(files)
    return fit_parts(config, load_model(files, config.dtype, progress=progress), tokenizer)


def fit_parts(config: EngineConfig, model: LoadedModel, tokenizer: Tokenizer) -> EngineParts:
    """Pool, cache, scheduler and runner for a loaded model; what was capped is logged as a warning.

    Raises ConfigurationError.
    """
    attention = pick_attention(config, AttentionShape.of(model.config), model.dtype)
    pool = plan_pool(config, attention.bytes_per_block, model.config.max_context, free_memory())
    cache = PrefixCache(pool.num_blocks, config.block_size, enabled=config.prefix_cache)
    limits = SchedulerLimits(max_context=pool.max_context, eos_token_ids=model.config.eos_token_ids)
    constraints = ConstraintTable(ConstraintCompiler(token_vocabulary(model, tokenizer)))
    _LOG.info("attention: %s, KV in %s, on %s", attention.backend, attention.kv_format, attention.device)
    for note in pool.notes:
        _LOG.warning("%s", note)
    if attention.backend == "cpu":
        model = with_native_decoder(model)
    return EngineParts(
        config,
        model,
        tokenizer,
        pool,
        attention,
        cache,
        Scheduler(config.scheduler, cache, limits),
        Runner(
            model.decoder,
            attention.build(pool.num_blocks),
            vocab_size=tokenizer.vocab_size,
            constraints=constraints,
        ),
        constraints,
        usable_threads(config),
    )


def pick_attention(config: EngineConfig, shape: AttentionShape, dtype: torch.dtype) -> AttentionChoice:
    """The attention backend that an engine of this configuration runs. Raises ConfigurationError."""
    refuse_unsupported(config)
    return choose_attention(shape, dtype, config.block_size, kv_format=config.kv_format, device=config.device)


def usable_threads(config: EngineConfig) -> int:
    """Threads that an engine of this configuration computes with."""
    return config.threads or usable_cores()


def refuse_unsupported(config: EngineConfig) -> None:
    """Raises NotInThisVersion for a setting that this version does not have, by name."""
    if config.deterministic:
        raise NotInThisVersion(
            "deterministic: not in this version: it needs kernels whose results do not depend on the batch; "
            "leave --deterministic out (float32 gives equal greedy tokens but for near ties)"
        )
    if config.weights != "auto":
        raise NotInThisVersion(f"weights: {config.weights} is not in this version; use --weights auto")
    if config.device == "cuda":
        raise NotInThisVersion("device: cuda is not in this version; use --device cpu")
