"""How large the block pool and the longest context are, decided once at start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from radixkv.config import EngineConfig
from radixkv.errors import ConfigurationError

DEFAULT_SHARE: Final = 0.25  # of free memory
DEFAULT_LIMIT: Final = 4 << 30  # bytes


@dataclass(frozen=True)
class PoolPlan:
    """The pool of this engine. `notes` say what was capped and why, one line each."""

    num_blocks: int
    block_size: int
    bytes_per_block: int
    max_context: int
    notes: tuple[str, ...] = ()

    @property
    def num_bytes(self) -> int:
        """Bytes of KV memory."""
        return self.num_blocks * self.bytes_per_block


def plan_pool(config: EngineConfig, bytes_per_block: int, model_context: int, free_memory: int) -> PoolPlan:
    """Decide. Raises ConfigurationError for a context that the model or the pool cannot hold (R121, R123)."""
    num_blocks = config.num_blocks or _blocks_of_memory(config, bytes_per_block, free_memory)
    if num_blocks * bytes_per_block > free_memory:
        raise ConfigurationError(
            f"kv_memory: {_size(num_blocks * bytes_per_block)} asked, {_size(free_memory)} of memory free; "
            "lower --kv-memory"
        )
    capacity = num_blocks * config.block_size
    if config.max_context is not None:
        _check_context(config.max_context, config, bytes_per_block, num_blocks, model_context)
        return PoolPlan(num_blocks, config.block_size, bytes_per_block, config.max_context)
    if model_context <= capacity:
        return PoolPlan(num_blocks, config.block_size, bytes_per_block, model_context)
    note = (
        f"context capped to {capacity} tokens, what the KV memory of {_size(num_blocks * bytes_per_block)} holds; "
        f"the model's {model_context} need {_size(_bytes(model_context, config, bytes_per_block))}: raise --kv-memory"
    )
    return PoolPlan(num_blocks, config.block_size, bytes_per_block, capacity, (note,))


def _blocks_of_memory(config: EngineConfig, bytes_per_block: int, free_memory: int) -> int:
    memory = config.kv_memory or min(int(free_memory * DEFAULT_SHARE), DEFAULT_LIMIT)
    if memory < bytes_per_block:
        raise ConfigurationError(
            f"kv_memory: {_size(memory)} cannot hold one block of {config.block_size} tokens, "
            f"{_size(bytes_per_block)}; raise --kv-memory or lower --block-size"
        )
    return memory // bytes_per_block


def _check_context(
    max_context: int, config: EngineConfig, bytes_per_block: int, num_blocks: int, model_context: int
) -> None:
    if max_context > model_context:
        raise ConfigurationError(
            f"max_context: got {max_context}, the model was made for {model_context} tokens; lower --max-context"
        )
    capacity = num_blocks * config.block_size
    if max_context > capacity:
        needed, available = _bytes(max_context, config, bytes_per_block), num_blocks * bytes_per_block
        raise ConfigurationError(
            f"max_context: {max_context} tokens need {needed} bytes of KV ({_size(needed)}), {available} bytes "
            f"({_size(available)}) are available; the largest context that fits is {capacity} tokens: "
            "raise --kv-memory or lower --max-context"
        )


def _bytes(tokens: int, config: EngineConfig, bytes_per_block: int) -> int:
    return -(-tokens // config.block_size) * bytes_per_block


def _size(num_bytes: int) -> str:
    return f"{num_bytes / (1 << 20):,.1f} MiB"
