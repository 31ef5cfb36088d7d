"""A timeline as lines for a terminal: a line per branch, bars to scale, what became of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from radixkv.cli.terminal import visible

if TYPE_CHECKING:
    from frontend_lang.tracing import Span, Timeline, Track

MAX_TRACKS: Final = 200
NARROWEST: Final = 40
PREFILL, DECODE, SELECT, TOOL, ALIVE = "░", "█", "▒", "▓", "·"
_STYLES: Final = {PREFILL: "blue", DECODE: "cyan", SELECT: "yellow", TOOL: "magenta", ALIVE: "dim"}
LEGEND: Final = f"{PREFILL} until the first token  {DECODE} generates  {SELECT} selects  {TOOL} tool  {ALIVE} waits"


def timeline_lines(timeline: Timeline, width: int) -> Iterator[Text]:
    """Lines of at most `width` columns."""
    width = max(width, NARROWEST)
    yield _cut(Text(in_one_line(_head(timeline)), style="bold"), width)
    name_width = min(max((cell_len(_name(track)) for track in timeline.tracks), default=4), width // 3)
    notes = [_note(track) for track in timeline.tracks]
    note_width = min(max(map(cell_len, notes), default=0), width // 3)
    bar_width = width - name_width - note_width - 4
    yield _axis(timeline.wall_ms, name_width, bar_width)
    for track, note in list(zip(timeline.tracks, notes, strict=True))[:MAX_TRACKS]:
        yield _line(track, note, timeline.wall_ms, (name_width, bar_width, note_width))
    if len(timeline.tracks) > MAX_TRACKS:
        yield Text(f"… and {len(timeline.tracks) - MAX_TRACKS} more lines; --html shows all", style="dim")
    yield _cut(Text(LEGEND, style="dim"), width)
    for line in _totals(timeline):
        yield from map(Text, textwrap.wrap(in_one_line(line), width))


def _head(timeline: Timeline) -> str:
    info = timeline.info
    outcome = {"ok": "ok", "running": "never ended"}.get(timeline.status, f"ended with {timeline.status}")
    return f"run {timeline.run} · {info.get('model', 'model not told')} · seed {info.get('seed', '?')} · {outcome}"


def _axis(wall_ms: float, name_width: int, bar_width: int) -> Text:
    start, end = "0", milliseconds(wall_ms)
    return Text(" " * (name_width + 2) + start + end.rjust(bar_width - len(start)), style="dim")


def _line(track: Track, note: str, wall_ms: float, widths: tuple[int, int, int]) -> Text:
    name_width, bar_width, note_width = widths
    line = Text(_fitted(_name(track), name_width), style=_style(track))
    line.append("  ")
    for letter, run in groupby(_bar(track, wall_ms, bar_width)):
        line.append("".join(run), style=_STYLES.get(letter, ""))
    line.append("  ")
    line.append(_fitted(note, note_width).rstrip(), style=_style(track))
    line.rstrip()
    return line


def _style(track: Track) -> str:
    if track.won:
        return "bold green"
    return {"ok": "", "running": "", "cancelled": "dim"}.get(track.status, "red")


def _name(track: Track) -> str:
    together = f" ×{track.at_once}" if track.at_once > 1 else ""
    return "  " * track.depth + in_one_line(track.path) + together


def _bar(track: Track, wall_ms: float, width: int) -> str:
    """The track's life to scale; everything that happened has at least a column."""
    cells = [" "] * width

    def fill(start_ms: float, end_ms: float, letter: str) -> None:
        first = min(width - 1, int(start_ms / max(wall_ms, 1e-9) * width))
        last = min(width, max(first + 1, round(end_ms / max(wall_ms, 1e-9) * width)))
        cells[first:last] = letter * (last - first)

    fill(track.start_ms, track.end_ms, ALIVE)
    for span in track.spans:
        if span.kind == "gen":
            first_ms = span.end_ms if span.first_ms is None else span.first_ms
            fill(span.start_ms, first_ms, PREFILL)
            if span.first_ms is not None:
                fill(first_ms, span.end_ms, DECODE)
        else:
            fill(span.start_ms, span.end_ms, SELECT if span.kind == "select" else TOOL)
    return "".join(cells)


def _note(track: Track) -> str:
    """What became of the branch, or of the last thing on it."""
    parts = ["won"] if track.won else [] if track.status in ("ok", "running") else [track.status]
    if track.joins:
        joined = track.joins[-1].data
        winner = joined.get("winner")
        parts.append(f"join {joined.get('policy')}" + ("" if winner is None else f" → {winner}"))
    elif track.spans:
        parts.append(_span_note(track.spans[-1]))
    return in_one_line(" ".join(parts))


def in_one_line(text: str) -> str:
    """Text without anything that moves a cursor."""
    return visible(text).replace("\n", "⏎").replace("\t", " ")


def _span_note(span: Span) -> str:
    tokens = span.detail.get("tokens")
    counted = f" {tokens} tok" if isinstance(tokens, int) else ""
    value = f" {span.detail.get('value')!r}" if span.kind == "select" and "value" in span.detail else ""
    status = "" if span.status in ("ok", "cancelled") else f" {span.status}"
    return f"{span.name}{value}{status}{counted} {milliseconds(span.ms)}"


def _totals(timeline: Timeline) -> Iterator[str]:
    summary = timeline.summary()
    cancelled = f", {summary['cancelled']} cancelled" if summary["cancelled"] else ""
    usage = timeline.usage
    prompt = f"{usage.get('prompt_tokens', 0)} prompt tokens, {summary['saved_tokens']} of them cached"
    yield (
        f"{milliseconds(timeline.wall_ms)} · {summary['gens']} gens, {summary['selects']} selects · "
        f"{summary['branches']} branches{cancelled} · {prompt} · {usage.get('completion_tokens', 0)} generated"
    )
    path = " → ".join(str(site) for site in summary["critical_path"])  # type: ignore[attr-defined]
    yield f"critical path {milliseconds(float(str(summary['critical_path_ms'])))}: {path or 'nothing'}"
    if timeline.error is not None:
        where = f" at {timeline.error.get('file')}:{timeline.error.get('line')}" if timeline.error.get("line") else ""
        yield f"error[{timeline.error.get('code')}]{where}: {timeline.error.get('message')}"


def milliseconds(number: float) -> str:
    """A time as people write it."""
    if number >= 1000:
        return f"{number / 1000:.2f}s"
    return f"{number:.0f}ms" if number >= 10 else f"{number:.1f}ms"


def _fitted(text: str, width: int) -> str:
    if cell_len(text) > width:
        return set_cell_size(text, max(0, width - 1)) + "…"
    return set_cell_size(text, width)


def _cut(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    return text
