"""An engine in this process, for as long as a block lasts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from radixkv.config import DEFAULT_MODEL, engine_config
from radixkv.engine import Engine
from radixkv.engine.startup import Notify, ProgressReport
from radixkv.programs.runtime import EngineRuntime


@contextmanager
def local_runtime(
    model: str | os.PathLike[str] = DEFAULT_MODEL,
    *,
    progress: ProgressReport | None = None,
    notify: Notify | None = None,
    **settings: Any,
) -> Iterator[EngineRuntime]:
    """Start an engine and close it at the end of the block, whatever runs then.

    `settings` are those of EngineConfig and SchedulerConfig by name, as for `radixkv.LLM`. The runtime serves sync
    calls, async code and several threads at once. Raises ConfigurationError and ModelError.
    """
    engine = Engine.start(engine_config(model, settings), progress=progress, notify=notify)
    try:
        yield EngineRuntime(engine)
    finally:
        engine.close_now()
