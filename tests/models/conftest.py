"""Each test of this area has a cache folder of its own, unless it wants the user's."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache_folder(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder in use; not the user's, except in tests of the real model."""
    folder = tmp_path / "cache"
    if "model" not in request.keywords:
        monkeypatch.setenv("RADIXKV_CACHE", str(folder))
    return folder
