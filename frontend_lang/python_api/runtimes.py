"""What a call of a prompt runs on, and with which settings."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.events import Listener
from frontend_lang.host_arguments import check_run_arguments
from frontend_lang.running.limits import Limits
from frontend_lang.runtime import Runtime
from frontend_lang.sources import TextSource

_RUNTIME: ContextVar[Runtime | None] = ContextVar("frontend_lang_runtime", default=None)


@contextmanager
def use_runtime(runtime: Runtime) -> Iterator[Runtime]:
    """Prompts that are called in the block, and in tasks that it begins, run on this runtime unless told otherwise;
    threads that it begins are told by `runtime=`. Raises TypeError for what is no runtime.
    """
    check_run_arguments(runtime=runtime)
    token = _RUNTIME.set(runtime)
    try:
        yield runtime
    finally:
        _RUNTIME.reset(token)


@dataclass(frozen=True)
class RunOptions:
    """Keywords that every call of a prompt takes besides the prompt's own parameters.

    `seed` is drawn if not given. `on_event` is called for every event, on the event loop. `data` has the files that a
    text program may read.
    """

    runtime: Runtime | None = None
    seed: int | None = None
    limits: Limits | None = None
    on_event: Listener | None = None
    data: TextSource | None = None

    @property
    def chosen_runtime(self) -> Runtime:
        """The runtime of the call, else that of `use_runtime`. Raises ProgramError."""
        runtime = _RUNTIME.get() if self.runtime is None else self.runtime
        if runtime is None:
            raise ProgramError("E0702", "no runtime to run on", _how_to_choose())
        return runtime


def _how_to_choose() -> str:
    if threading.current_thread() is threading.main_thread():
        return "with frontend_lang.use_runtime(runtime): …"
    return "`use_runtime` holds for the thread that it is in: call with `runtime=`, or `use_runtime` in this thread"


RUN_OPTIONS = tuple(item.name for item in fields(RunOptions))


def taken_options(named: dict[str, Any]) -> RunOptions:
    """The options among keyword arguments, which loses them."""
    return RunOptions(**{name: named.pop(name) for name in RUN_OPTIONS if name in named})
