"""Settings of the engine: frozen, checked when made, never written again."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, get_args

from radixkv.errors import ConfigurationError

DEFAULT_MODEL: Final = "smollm2"
DType = Literal["auto", "float32", "bfloat16", "float16"]
Device = Literal["auto", "cpu", "cuda"]
Weights = Literal["auto", "int8", "int4"]

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?i?b?)", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_size(text: str) -> int:
    """Bytes of a size such as `512MiB`, `4G` or `1000000`; k, m, g and t are powers of 1,024.

    Raises ConfigurationError.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ConfigurationError(f"size: got {text!r}, expected a number with an optional unit, such as 512MiB or 4G")
    return int(float(match[1]) * _UNITS[match[2].lower().rstrip("b").rstrip("i")])


@dataclass(frozen=True)
class SchedulerConfig:
    """Bounds of a step and of waiting.

    `step_tokens`: tokens computed in one forward at most. `max_running`: sequences in a forward at most.
    `age_weight`: tokens of saved work that one step of waiting is worth, which bounds starvation.
    `max_prefix_wait`: steps a request waits at most for blocks that another one is computing.
    """

    max_running: int = 64
    step_tokens: int = 1024
    age_weight: float = 16.0
    max_prefix_wait: int = 64

    def __post_init__(self) -> None:
        _check_positive("max_running", self.max_running)
        _check_positive("step_tokens", self.step_tokens)
        _check_positive("max_prefix_wait", self.max_prefix_wait)
        weight = self.age_weight
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
            raise ConfigurationError(f"age_weight: got {weight!r}, expected a finite number above 0")


@dataclass(frozen=True)
class EngineConfig:
    """Everything an engine is started with.

    `kv_memory` in bytes (None: a quarter of free memory, at most 4 GiB); `num_blocks` overrides it.
    `threads` None: all cores this process may use; never more than the machine's logical CPUs.
    `max_context` None: what the model was made for, capped by the pool.
    """

    model: str = DEFAULT_MODEL
    dtype: DType = "auto"
    kv_format: str = "auto"
    kv_memory: int | None = None
    num_blocks: int | None = None
    block_size: int = 16
    prefix_cache: bool = True
    deterministic: bool = False
    weights: Weights = "auto"
    threads: int | None = None
    device: Device = "auto"
    max_context: int | None = None
    seed: int | None = None
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)

    def __post_init__(self) -> None:
        _check_name("model", self.model)
        _check_name("kv_format", self.kv_format)
        for name, allowed in (("dtype", DType), ("weights", Weights), ("device", Device)):
            _check_choice(name, getattr(self, name), get_args(allowed))
        for name in ("prefix_cache", "deterministic"):
            _check_choice(name, getattr(self, name), (True, False))
        _check_positive("block_size", self.block_size)
        for name in ("kv_memory", "num_blocks", "threads", "max_context"):
            value = getattr(self, name)
            if value is not None:
                _check_positive(name, value)
        if self.seed is not None:
            _check_at_least("seed", self.seed, 0)
        if not isinstance(self.scheduler, SchedulerConfig):
            raise ConfigurationError(f"scheduler: got {self.scheduler!r}, expected a SchedulerConfig")
        _check_threads(self.threads)


def setting_names() -> frozenset[str]:
    """Names of all settings, those of the scheduler included: what `engine_config` takes beside the model."""
    return frozenset(field.name for field in (*fields(EngineConfig), *fields(SchedulerConfig))) - {"model", "scheduler"}


def engine_config(model: str | os.PathLike[str], settings: Mapping[str, Any]) -> EngineConfig:
    """EngineConfig from flat settings; `model` may be a path object, `kv_memory` text such as "2GiB".

    Raises ConfigurationError for an unknown name or a bad value.
    """
    unknown = sorted(settings.keys() - setting_names())
    if unknown:
        raise ConfigurationError(f"unknown setting `{unknown[0]}`; known: {', '.join(sorted(setting_names()))}")
    of_scheduler = {field.name for field in fields(SchedulerConfig)} & settings.keys()
    scheduler = SchedulerConfig(**{name: settings[name] for name in of_scheduler})
    chosen = {name: value for name, value in settings.items() if name not in of_scheduler}
    if isinstance(chosen.get("kv_memory"), str):
        chosen["kv_memory"] = parse_size(chosen["kv_memory"])
    name = os.fspath(model) if isinstance(model, os.PathLike) else model
    return EngineConfig(model=name, scheduler=scheduler, **chosen)


def _check_positive(name: str, value: object) -> None:
    _check_at_least(name, value, 1)


def _check_at_least(name: str, value: object, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ConfigurationError(f"{name}: got {value!r}, expected an integer of at least {low}")


def _check_name(name: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"{name}: got {value!r}, expected a text that is not empty")


def _check_choice(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Equal is not enough: 1 is no True."""
    if not any(type(value) is type(each) and value == each for each in allowed):
        raise ConfigurationError(f"{name}: got {value!r}, expected {', '.join(map(str, allowed))}")


def _check_threads(threads: int | None) -> None:
    """More threads than CPUs only wait for each other, and very many end the process."""
    cpus = os.cpu_count() or 1
    if threads is not None and threads > cpus:
        raise ConfigurationError(f"threads: got {threads}, this machine has {cpus} logical CPUs; lower --threads")
