"""A trace as one page: timeline, tree and texts, without any other file and without the network.

The data of the trace is JSON inside the page in which no `<` is left, and the page's script only ever sets text, so
nothing in a prompt can become markup or run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import cast

from frontend_lang.events import Event
from frontend_lang.tracing.timeline import Timeline, Track
from frontend_lang.values import Value, to_json_safe

_PLACE = "/*TRACE*/"


def trace_page(timelines: Sequence[Timeline], title: str) -> str:
    """The page of the runs of one trace."""
    data = {"title": title, "runs": [_run(timeline) for timeline in timelines]}
    text = json.dumps(to_json_safe(cast("Value", data)), ensure_ascii=True, allow_nan=False)
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    return template.replace(_PLACE, text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _run(timeline: Timeline) -> dict[str, object]:
    return {
        **timeline.summary(),
        "value": timeline.value,
        "tracks": [_track(track) for track in timeline.tracks],
        "notes": [_event(note) for note in timeline.notes],
    }


def _track(track: Track) -> dict[str, object]:
    shown = {name: value for name, value in vars(track).items() if name not in ("spans", "forks", "joins", "segments")}
    spans = [{**vars(span), "detail": dict(span.detail)} for span in track.spans]
    segments = [asdict(segment) for segment in track.segments]
    events = [_event(event) for event in (*track.forks, *track.joins)]
    return {**shown, "spans": spans, "segments": segments, "events": events}


def _event(event: Event) -> dict[str, object]:
    return {"event": event.event, "path": event.path, "t_ms": event.t_ms, "data": dict(event.data)}
