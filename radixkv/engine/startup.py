"""From a configuration to the parts of a running engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from radixkv.cache import PrefixCache
from radixkv.config import EngineConfig
from radixkv.engine.machine import free_memory, usable_cores
from radixkv.engine.sizing import PoolPlan, plan_pool
from radixkv.errors import ConfigurationError
from radixkv.models import LoadedModel, load_model, locate_model
from radixkv.request import Namespace
from radixkv.runner import Runner
from radixkv.scheduler import Scheduler, SchedulerLimits
from radixkv.tokenizer import Tokenizer, load_tokenizer
from radixkv_kernels.protocols import KVLayout
from radixkv_kernels.reference import ReferenceAttention

ProgressReport = Callable[[float], None]


@dataclass(frozen=True)
class EngineParts:
    """Everything that an engine drives, made to fit each other."""

    config: EngineConfig
    model: LoadedModel
    tokenizer: Tokenizer
    pool: PoolPlan
    cache: PrefixCache
    scheduler: Scheduler
    runner: Runner
    kv_format: str
    threads: int

    def namespace(self, salt: str) -> Namespace:
        """What KV of this engine is shared under, for one tenant."""
        return Namespace(model=self.model.digest, kv_format=self.kv_format, salt=salt)


def load_parts(config: EngineConfig, progress: ProgressReport | None = None) -> EngineParts:
    """Find and load the model, then fit the rest to it. Raises ConfigurationError, ModelError."""
    refuse_unsupported(config)
    files = locate_model(config.model)
    tokenizer = load_tokenizer(files)
    return fit_parts(config, load_model(files, config.dtype, progress=progress), tokenizer)


def fit_parts(config: EngineConfig, model: LoadedModel, tokenizer: Tokenizer) -> EngineParts:
    """Pool, cache, scheduler and runner for a loaded model. Raises ConfigurationError."""
    refuse_unsupported(config)
    kv_format = str(model.dtype).removeprefix("torch.")
    _check_kv_format(config.kv_format, kv_format)
    shape = model.config
    one_block = KVLayout(shape.num_layers, 1, config.block_size, shape.num_kv_heads, shape.head_dim, model.dtype)
    pool = plan_pool(config, one_block.bytes_per_block, shape.max_context, free_memory())
    layout = replace(one_block, num_blocks=pool.num_blocks)
    cache = PrefixCache(pool.num_blocks, config.block_size, enabled=config.prefix_cache)
    limits = SchedulerLimits(max_context=pool.max_context, eos_token_ids=shape.eos_token_ids)
    return EngineParts(
        config,
        model,
        tokenizer,
        pool,
        cache,
        Scheduler(config.scheduler, cache, limits),
        Runner(model.decoder, ReferenceAttention(layout), vocab_size=tokenizer.vocab_size),
        kv_format,
        config.threads or usable_cores(),
    )


def refuse_unsupported(config: EngineConfig) -> None:
    """Raises ConfigurationError for a setting that this version does not have, by name."""
    if config.deterministic:
        raise ConfigurationError(
            "deterministic: not in this version: it needs kernels whose results do not depend on the batch; "
            "leave --deterministic out (float32 gives equal greedy tokens but for near ties)"
        )
    if config.weights != "auto":
        raise ConfigurationError(f"weights: {config.weights} is not in this version; use --weights auto")
    if config.device == "cuda":
        raise ConfigurationError("device: cuda is not in this version; use --device cpu")


_FORMATS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


def _check_kv_format(asked: str, have: str) -> None:
    if asked != "auto" and _FORMATS.get(asked, asked) != have:
        raise ConfigurationError(
            f"kv_format: {asked} is not in this version; KV is kept in the compute type: use --kv-format auto ({have})"
        )
