"""Traces of runs: reading them, timelines, a page that shows them, running a program again from one."""

from __future__ import annotations

from frontend_lang.tracing.page import trace_page
from frontend_lang.tracing.reading import Trace, TraceError, read_trace
from frontend_lang.tracing.replay import Replay, replay
from frontend_lang.tracing.timeline import Segment, Span, Timeline, Track, timeline

__all__ = [
    "Replay",
    "Segment",
    "Span",
    "Timeline",
    "Trace",
    "TraceError",
    "Track",
    "read_trace",
    "replay",
    "timeline",
    "trace_page",
]
