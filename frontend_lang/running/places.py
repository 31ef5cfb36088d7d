"""Where in a program an error has happened, said by whoever knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Placed = Callable[[Exception], Exception]
"""Gives an error its place, if it has none: the same error, or the one to raise instead."""


@contextmanager
def placing(placed: Placed) -> Iterator[None]:
    """Give errors of the block their place."""
    try:
        yield
    except Exception as error:
        known = placed(error)
        if known is error:
            raise
        raise known from error
