"""Events of a run: what a terminal streams live and what `--trace` writes, one JSON line each.

Without a listener an `EventLog` does nothing: callers test `log.active` before they collect an event's data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from frontend_lang.values import Value, to_json_safe

EVENTS: Final = frozenset(
    (
        "run.start", "text", "gen.start", "gen.delta", "gen.end", "select.start", "select.end", "fork", "branch.end",
        "join", "tool.call", "tool.end", "emit", "check", "usage", "error", "run.end",
    )
)  # fmt: skip

Listener = Callable[["Event"], None]


@dataclass(frozen=True)
class Event:
    """One event. `ctx` is the context it concerns ("" = the run), `path` the branch path, `t_ms` since run.start."""

    seq: int
    event: str
    run: str
    ctx: str
    path: str
    t_ms: float
    data: Mapping[str, object]

    def to_dict(self) -> dict[str, object]:
        """The flat JSON object of a trace line; nan and infinities in it are null."""
        head = {"seq": self.seq, "event": self.event, "run": self.run, "ctx": self.ctx, "path": self.path}
        data = to_json_safe(cast("Value", dict(self.data)))
        return {**head, "t_ms": self.t_ms, **cast("dict[str, object]", data)}


class EventLog:
    """Numbers and times events and hands them to one listener. A listener that raises ends the run."""

    def __init__(self, run: str, listener: Listener | None) -> None:
        self.run = run
        self._listener = listener
        self.active = listener is not None
        self._seq = 0
        self._start = time.perf_counter()

    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._start

    def emit(self, event: str, data: Mapping[str, object], *, ctx: str = "", path: str = "") -> None:
        """Hand one event to the listener, if there is one."""
        if self._listener is None:
            return
        t_ms = round(self.elapsed_s() * 1000, 3)
        numbered = Event(self._seq, event, self.run, ctx, path, t_ms, data)
        self._seq += 1
        self._listener(numbered)
