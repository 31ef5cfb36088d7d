"""A plan as a table for a person: aligned columns, notes below where the terminal is too narrow for them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    from frontend_lang.explain import Plan, PlannedSite, Tokens

HEADINGS = ("site", "op", "path", "prefix", "new", "shared with")
RIGHT = frozenset({"prefix", "new"})
WIDEST = {"op": 34, "path": 28, "site": 22, "shared with": 22}
NOTE_INDENT = 4


def plan_lines(plan: Plan, width: int | None) -> Iterator[str]:
    """Lines of at most `width` columns; None: as long as they are."""
    rows = [_cells(site) for site in plan.sites]
    widths = [max(cell_len(row[at]) for row in (HEADINGS, *rows)) for at in range(len(HEADINGS))]
    if width is not None:
        widths = [min(widths[at], WIDEST.get(name, widths[at])) for at, name in enumerate(HEADINGS)]
    yield from _row(HEADINGS, "note" if any(site.note for site in plan.sites) else "", widths, width)
    for site, row in zip(plan.sites, rows, strict=True):
        yield from _row(row, site.note, widths, width)
    yield from _wrapped(totals_line(plan), width)
    for name in plan.missing:
        yield from _wrapped(f"not given: {name}; what depends on it is shown as ?", width)
    for warning in plan.warnings:
        yield from _wrapped(f"warning: {warning}", width)


def totals_line(plan: Plan) -> str:
    """All totals in a line."""
    totals = plan.totals
    branches = [] if totals.branches.count == 0 else [f"branches {totals.branches}"]
    parts = [
        f"prefill {totals.prefill} of {totals.prompt} prompt tokens",
        f"caching saves {totals.saved}",
        f"decode {totals.decode}",
        *branches,
        f"gens {totals.gens}",
        f"critical path {totals.critical_path} {'gen' if totals.critical_path == 1 else 'gens'}",
        f"KV peak {totals.kv_peak} tokens",
    ]
    return " · ".join(parts)


def _cells(site: PlannedSite) -> tuple[str, ...]:
    shared = f"{site.shared_with} {site.shared}" if site.shared_with and site.shared.count != 0 else "-"
    times = "" if site.times.count == 1 else f"{site.times}× "
    new = "" if site.new.count == 0 else str(site.new)
    return (site.site or "-", times + site.op, site.path, _span(site.prefix, site.prefix_most), new, shared)


def _span(low: Tokens, high: Tokens) -> str:
    return str(high) if low == high or low.count is None else f"{low}…{high}"


def _row(cells: Sequence[str], note: str, widths: Sequence[int], width: int | None) -> Iterator[str]:
    padded = [_padded(cell, room, name in RIGHT) for cell, room, name in zip(cells, widths, HEADINGS, strict=True)]
    line = "  ".join(padded).rstrip()
    full = "  ".join([*padded, note]).rstrip()
    if width is None or cell_len(full) <= width:
        yield full
        return
    if cell_len(line) > width:
        line = set_cell_size(line, width - 1) + "…"
    yield line
    if note and cells is not HEADINGS:
        yield from textwrap.wrap(note, width, initial_indent=" " * NOTE_INDENT, subsequent_indent=" " * NOTE_INDENT)


def _padded(cell: str, room: int, to_the_right: bool) -> str:
    if cell_len(cell) > room:
        return set_cell_size(cell, room - 1) + "…"
    space = " " * (room - cell_len(cell))
    return space + cell if to_the_right else cell + space


def _wrapped(line: str, width: int | None) -> list[str]:
    return [line] if width is None else textwrap.wrap(line, width)
