from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from cache_model import CheckedCache

MakeCache = Callable[..., CheckedCache]


@pytest.fixture
def make_cache() -> Iterator[MakeCache]:
    """Caches that are compared with the model and drained at the end of the test."""
    made: list[CheckedCache] = []

    def make(num_blocks: int, block_size: int = 4, *, enabled: bool = True) -> CheckedCache:
        made.append(CheckedCache(num_blocks, block_size, enabled=enabled))
        return made[-1]

    yield make
    for checked in made:
        checked.check()
        checked.finish()
