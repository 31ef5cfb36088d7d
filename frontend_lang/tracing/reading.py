"""Reading a trace: the JSON lines that `run --trace` writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from frontend_lang.events import EVENTS, Event

_HEAD = {"seq": int, "event": str, "run": str, "ctx": str, "path": str, "t_ms": (int, float)}


class TraceError(ValueError):
    """A file is no trace, or a broken one; `line` counts from 1."""

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(f"{file}:{line}: {message}")
        self.line = line


@dataclass(frozen=True)
class Trace:
    """The events of one or more runs as the file has them; `cut_line`: number of a last line that is incomplete."""

    events: tuple[Event, ...]
    cut_line: int | None = None

    def runs(self) -> list[tuple[Event, ...]]:
        """The events of each run."""
        found: dict[str, list[Event]] = {}
        for event in self.events:
            found.setdefault(event.run, []).append(event)
        return [tuple(events) for events in found.values()]


def read_trace(lines: Iterable[str], file: str = "<trace>") -> Trace:
    """Read all lines. A last line without an end, as a run leaves it that was killed, is left out.

    Raises TraceError with the line for anything that is no event.
    """
    events: list[Event] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            if not line.endswith("\n") and events:
                return Trace(tuple(events), number)
            raise TraceError(file, number, f"no JSON: {error}; a trace has one event per line") from None
        events.append(_event(record, file, number))
    if not events:
        raise TraceError(file, 1, "no events: the file is empty")
    if not any(event.event in EVENTS for event in events):
        raise TraceError(file, 1, f"no event of a run: `{events[0].event}`; `radixkv run --trace` writes traces")
    return Trace(tuple(events))


def _event(record: object, file: str, line: int) -> Event:
    if not isinstance(record, dict):
        raise TraceError(file, line, f"expected an event, found {type(record).__name__}")
    for name, kind in _HEAD.items():
        if not isinstance(record.get(name), kind) or isinstance(record.get(name), bool):  # type: ignore[arg-type]
            found = json.dumps(record[name])[:40] if name in record else "nothing"
            what = f"no event of a trace: `{name}` is {found}"
            raise TraceError(file, line, f"{what}; `radixkv run --trace` writes traces")
    if not 0 <= record["t_ms"] < inf:
        raise TraceError(file, line, f"`t_ms` is {record['t_ms']}: the milliseconds since the run began")
    data: Mapping[str, Any] = {name: value for name, value in record.items() if name not in _HEAD}
    head: Mapping[str, Any] = {name: record[name] for name in _HEAD}
    return Event(**head, data=data)
