"""What happened when: a trace as tracks, one per branch or call, and spans on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from frontend_lang.events import Event

RUNNING, OK, CANCELLED = "running", "ok", "cancelled"


@dataclass
class Span:
    """One gen, select or tool call. Times are milliseconds since run.start; `first_ms`: the first text of a gen.

    `status`: ok, cancelled, running (the trace ends before it does), or what went wrong. `detail`: what its end said.
    """

    kind: str
    name: str
    site: str
    start_ms: float
    end_ms: float
    first_ms: float | None = None
    status: str = RUNNING
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ms(self) -> float:
        """How long it took."""
        return self.end_ms - self.start_ms


@dataclass
class Segment:
    """Text of one context: what the program wrote, or what the model did."""

    role: str | None
    text: str
    source: str  # "text", or the name of the gen or select


@dataclass
class Track:
    """What runs on one path; `joins` and `forks` are the events of forks of it."""

    path: str
    depth: int
    start_ms: float
    end_ms: float
    status: str = RUNNING
    won: bool = False
    spans: list[Span] = field(default_factory=list)
    forks: list[Event] = field(default_factory=list)
    joins: list[Event] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)

    @property
    def at_once(self) -> int:
        """How many of its spans ran side by side at most: calls that overlap have one path."""
        steps = sorted(step for span in self.spans for step in ((span.start_ms, 1), (span.end_ms, -1)))
        return max(accumulate(change for _, change in steps), default=0)


@dataclass
class Timeline:
    """One run. `tracks` are in the order of the tree; `status` is ok, an error's code, or running: it never ended."""

    run: str
    info: Mapping[str, Any]
    wall_ms: float
    status: str
    value: Any
    error: Mapping[str, Any] | None
    usage: Mapping[str, int]
    tracks: list[Track]
    notes: list[Event]  # emit and check

    def spans(self, kind: str | None = None) -> list[Span]:
        """All spans, or those of one kind."""
        return [span for track in self.tracks for span in track.spans if kind in (None, span.kind)]

    def critical_path(self) -> list[Span]:
        """Spans one after the other that lead to the end: each is the last to end before the next one begins."""
        chain: list[Span] = []
        before = self.wall_ms
        for span in sorted(self.spans(), key=lambda span: -span.end_ms):
            if span.end_ms <= before + 1e-6:
                chain.append(span)
                before = span.start_ms
        return chain[::-1]

    def summary(self) -> dict[str, object]:
        """The numbers of `trace --json`."""
        ended = [track.status for track in self.tracks if track.path.endswith("]")]
        return {
            "run": self.run,
            "model": self.info.get("model"),
            "seed": self.info.get("seed"),
            "status": self.status,
            "wall_ms": self.wall_ms,
            "gens": len(self.spans("gen")),
            "selects": len(self.spans("select")),
            "tools": len(self.spans("tool")),
            "branches": len(ended),
            "cancelled": ended.count(CANCELLED),
            "usage": dict(self.usage),
            "saved_tokens": self.usage.get("cached_tokens", 0),
            "critical_path_ms": round(sum(span.ms for span in self.critical_path()), 3),
            "critical_path": [span.site or span.name for span in self.critical_path()],
            "error": None
            if self.error is None
            else {"code": self.error.get("code"), "message": self.error.get("message")},
        }


def timeline(events: Sequence[Event]) -> Timeline:
    """The timeline of one run; events may be missing at its end. Cost: O(events) + O(paths · depth)."""
    builder = _Builder(events)
    for event in events:
        builder.add(event)
    return builder.finished()


class _Builder:
    """Goes through the events once."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._last_ms = max(event.t_ms for event in events)
        self._run = events[0].run
        self._info: Mapping[str, Any] = {}
        self._end: Event | None = None
        self._error: Event | None = None
        self._usage: dict[str, int] = {}
        self._summed: dict[str, int] = {}
        self._tracks: dict[str, Track] = {}
        self._open: dict[tuple[str, str, str], Span] = {}
        self._notes: list[Event] = []

    def add(self, event: Event) -> None:
        """Take one event into account; unknown ones are passed over."""
        take = getattr(self, "_on_" + event.event.replace(".", "_"), None)
        if event.path:
            self._track(event)
        if take is not None:
            take(event)

    def _track(self, event: Event) -> Track:
        track = self._tracks.get(event.path)
        if track is None:
            track = self._tracks[event.path] = Track(event.path, 0, event.t_ms, event.t_ms)
        track.end_ms = max(track.end_ms, event.t_ms)
        return track

    def _on_run_start(self, event: Event) -> None:
        self._info = event.data

    def _on_run_end(self, event: Event) -> None:
        self._end = event
        self._usage = _numbers(event.data.get("usage"))

    def _on_usage(self, event: Event) -> None:
        self._usage = _numbers(event.data)

    def _on_error(self, event: Event) -> None:
        self._error = event

    def _on_emit(self, event: Event) -> None:
        self._notes.append(event)

    def _on_check(self, event: Event) -> None:
        self._notes.append(event)

    def _on_text(self, event: Event) -> None:
        self._add_text(event, str(event.data.get("text", "")), "text")

    def _add_text(self, event: Event, text: str, source: str) -> None:
        role = event.data.get("role")
        self._track(event).segments.append(Segment(None if role is None else str(role), text, source))

    def _begin(self, event: Event, kind: str, name: str, site: str) -> None:
        span = Span(kind, name, site, event.t_ms, event.t_ms)
        self._open[event.path, event.ctx, site or name] = span
        self._track(event).spans.append(span)

    def _finish(self, event: Event, kind: str, name: str, site: str) -> Span:
        span = self._open.pop((event.path, event.ctx, site or name), None)
        if span is None:
            took = event.data.get("ms")
            start = event.t_ms - took if isinstance(took, (int, float)) else event.t_ms
            span = Span(kind, name, site, max(0.0, start), event.t_ms)
            self._track(event).spans.append(span)
        span.end_ms, span.status, span.detail = event.t_ms, OK, event.data
        for name, number in _numbers(event.data.get("usage")).items():
            self._summed[name] = self._summed.get(name, 0) + number
        return span

    def _on_gen_start(self, event: Event) -> None:
        self._begin(event, "gen", _text(event, "name"), _text(event, "site"))

    def _on_gen_delta(self, event: Event) -> None:
        for (path, ctx, _), span in reversed(self._open.items()):
            if (path, ctx) == (event.path, event.ctx) and span.name == event.data.get("name"):
                span.first_ms = event.t_ms if span.first_ms is None else span.first_ms
                span.end_ms = event.t_ms
                return

    def _on_gen_end(self, event: Event) -> None:
        span = self._finish(event, "gen", _text(event, "name"), _text(event, "site"))
        self._add_text(event, str(event.data.get("value", "")), span.name)

    def _on_select_start(self, event: Event) -> None:
        self._begin(event, "select", _text(event, "name"), _text(event, "site"))

    def _on_select_end(self, event: Event) -> None:
        span = self._finish(event, "select", _text(event, "name"), _text(event, "site"))
        self._add_text(event, str(event.data.get("value", "")), span.name)

    def _on_tool_call(self, event: Event) -> None:
        self._begin(event, "tool", _text(event, "name"), _text(event, "call_id"))

    def _on_tool_end(self, event: Event) -> None:
        span = self._finish(event, "tool", _text(event, "name"), _text(event, "call_id"))
        span.status = str(event.data["error"]) if "error" in event.data else OK

    def _on_fork(self, event: Event) -> None:
        self._track(event).forks.append(event)

    def _on_join(self, event: Event) -> None:
        track = self._track(event)
        track.joins.append(event)
        winner = self._tracks.get(f"{event.path}[{event.data.get('winner')}]")
        if winner is not None:
            winner.won = True

    def _on_branch_end(self, event: Event) -> None:
        track = self._track(event)
        track.status = _text(event, "status")
        for key in [
            key for key in self._open if key[0] == event.path or key[0].startswith((event.path + "[", event.path + "."))
        ]:
            span = self._open.pop(key)
            span.end_ms, span.status = event.t_ms, track.status

    def finished(self) -> Timeline:
        """The whole; what has not ended is running, or cancelled where the run has ended."""
        over = self._end is not None or self._error is not None
        for span in self._open.values():
            span.end_ms, span.status = self._last_ms, CANCELLED if over else RUNNING
        tracks = _in_tree_order(list(self._tracks.values()))
        for track in tracks:
            if track.status == RUNNING and over and not track.path.endswith("]"):
                track.status = OK
        error = None if self._error is None else self._error.data
        status = OK if self._end is not None else str(error.get("code")) if error is not None else RUNNING
        value = None if self._end is None else self._end.data.get("value")
        usage = self._usage or self._summed
        return Timeline(self._run, self._info, self._last_ms, status, value, error, usage, tracks, self._notes)


def _in_tree_order(tracks: Sequence[Track]) -> list[Track]:
    """Parents before children, siblings as they came; depth counts from 0."""
    by_path = {track.path: track for track in tracks}
    below: dict[str, list[Track]] = {}
    for track in tracks:
        below.setdefault(_parent(track.path, by_path), []).append(track)
    ordered: list[Track] = []
    pending = [(track, 0) for track in reversed(below.get("", []))]
    while pending:
        track, track.depth = pending.pop()
        ordered.append(track)
        pending += [(child, track.depth + 1) for child in reversed(below.get(track.path, []))]
    return ordered


def _parent(path: str, known: Mapping[str, Track]) -> str:
    """The longest other path that this one goes on from."""
    cut = len(path)
    while (cut := max(path.rfind("[", 0, cut), path.rfind(".", 0, cut))) > 0:
        if path[:cut] in known:
            return path[:cut]
    return ""


def _text(event: Event, name: str) -> str:
    return str(event.data.get(name, ""))


def _numbers(usage: object) -> dict[str, int]:
    return {name: value for name, value in usage.items() if type(value) is int} if isinstance(usage, dict) else {}
