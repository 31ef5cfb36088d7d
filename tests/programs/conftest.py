"""An engine on a tiny random model, as a runtime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from radixkv.config import EngineConfig
from radixkv.engine import Engine
from recording_runtime import RecordingRuntime
from tiny_models import make_tiny_model


@pytest.fixture(scope="session")
def long_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model for long contexts: a byte is a token here."""
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "long", max_context=8192)


@pytest.fixture
def runtime(long_llama: Path) -> Iterator[RecordingRuntime]:
    engine = Engine.start(EngineConfig(str(long_llama), dtype="float32", num_blocks=1024, threads=1))
    runtime = RecordingRuntime(engine)
    runtime.clear()
    yield runtime
    engine.check_integrity()
    assert engine.stats().cache.leases == 0
    assert not engine._contexts, "the run left contexts behind"
    engine.close_now()
