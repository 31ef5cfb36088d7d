"""Keywords of gen, select, set and fork: one that is no option is an error that names the one that is meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

from frontend_lang.checker.options import BRANCH_OPTIONS, GEN_OPTIONS, meant
from frontend_lang.errors import ProgramError

P = ParamSpec("P")
T = TypeVar("T")

SET_KEYWORDS = GEN_OPTIONS
FORK_KEYWORDS = (*BRANCH_OPTIONS, *(name for name in GEN_OPTIONS if name not in BRANCH_OPTIONS))
_OF_ONE_GEN = {"type": 'gen("a", type=int)', "until": 'gen("a", until=lambda a: …)'}


def check_keywords(construct: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise E0303 for a keyword that is no option."""
    for name in given:
        if name not in known:
            hint = _OF_ONE_GEN.get(name) or meant(name, known)
            raise ProgramError("E0303", f"`{construct}` has no option `{name}`", hint)


def with_keywords(construct: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function check its keywords before anything else is said of its arguments."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        first, *options = inspect.signature(function).parameters

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> T:
            check_keywords(construct, [name for name in kwargs if name != first], options)
            return function(*args, **kwargs)

        return called

    return decorate
