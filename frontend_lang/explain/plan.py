"""The plan of a run: one row per place that works, and totals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from frontend_lang.explain.counting import NONE, ONE, Certainty, Tokens, largest


@dataclass(frozen=True)
class PlannedSite:
    """One row: what happens at a site, in the branches that `path` names, `times` times in all.

    `prefix`: tokens of the context when the call begins; where rounds differ, from `prefix` to `prefix_most`.
    `new`: tokens that it appends at most. `prefill`: prompt tokens that it has to compute, once. `shared`: leading
    tokens that `shared_with`, a site, has computed before.
    """

    site: str
    op: str
    path: str
    prefix: Tokens
    prefix_most: Tokens
    new: Tokens = NONE
    notes: tuple[str, ...] = ()
    prefill: Tokens = NONE
    shared_with: str = ""
    shared: Tokens = NONE
    times: Tokens = ONE
    branches: Tokens | None = None  # of a fork

    @property
    def note(self) -> str:
        """What there is to say, in one line."""
        return " · ".join([*self._prefill_notes(), *self.notes])

    def _prefill_notes(self) -> list[str]:
        if self.branches is not None:
            once = self.prefix_most.times(self.branches)
            saved = "" if once.count is None else f", not {once}"
            return [f"prefill {self.prefix_most} once{saved}"]
        return [] if self.op == "open" or self.prefill.count == 0 else [f"prefill {self.prefill}"]

    def to_dict(self) -> dict[str, object]:
        """The form that goes into JSON."""
        numbers = ("prefix", "prefix_most", "new", "prefill", "shared", "times")
        return {
            "site": self.site,
            "op": self.op,
            "path": self.path,
            **{name: getattr(self, name).to_dict() for name in numbers},
            "shared_with": self.shared_with or None,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Totals:
    """Of a whole run, in tokens unless said otherwise: bounds, as a run cancels what turns out not to be needed.

    `prompt`: context lengths summed over all calls, as `usage` counts them. `prefill`: those that must be computed if
    nothing but this run fills the cache. `saved`: the others. `decode`: generated. `branches`: begun, of forks and
    maps. `gens`: calls of gen. `critical_path`: gens one after the other, the rest overlaps. `kv_peak`: held at once.
    """

    prompt: Tokens = NONE
    prefill: Tokens = NONE
    decode: Tokens = NONE
    branches: Tokens = NONE
    gens: Tokens = NONE
    kv_peak: Tokens = NONE
    critical_path: int = 0

    @property
    def saved(self) -> Tokens:
        """Prompt tokens that caching saves; of two bounds, the difference is an estimate."""
        saved = self.prompt - self.prefill
        return saved if saved.certainty is Certainty.EXACT else saved.about()

    def add(self, more: Totals, times: Tokens = ONE) -> Totals:
        """After `more`, `times` times; peaks do not add up."""
        summed = {
            name: getattr(self, name) + getattr(more, name).times(times)
            for name in ("prompt", "prefill", "decode", "branches", "gens")
        }
        peak = largest([self.kv_peak, more.kv_peak])
        return Totals(**summed, kv_peak=peak, critical_path=max(self.critical_path, more.critical_path))

    def bounds(self) -> Totals:
        """The same numbers, none said to be exact."""
        names = ("prompt", "prefill", "decode", "branches", "gens", "kv_peak")
        loose = {name: getattr(self, name).at_most() for name in names if getattr(self, name) != NONE}
        return replace(self, **loose)

    def to_dict(self) -> dict[str, object]:
        """The form that goes into JSON."""
        names = ("prompt", "prefill", "saved", "decode", "branches", "gens", "kv_peak")
        return {**{name: getattr(self, name).to_dict() for name in names}, "critical_path": self.critical_path}


def dearest(alternatives: Iterable[Totals]) -> Totals:
    """The worst of several ways, number by number."""
    sides = list(alternatives)
    names = ("prompt", "prefill", "decode", "branches", "gens", "kv_peak")
    worst = {name: largest([getattr(side, name) for side in sides]) for name in names}
    return Totals(**worst, critical_path=max(side.critical_path for side in sides))


@dataclass(frozen=True)
class Plan:
    """What a run would do. Rows are in the order in which a run would first reach them."""

    sites: tuple[PlannedSite, ...]
    totals: Totals
    missing: tuple[str, ...] = ()  # parameters without a value
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """The object that `explain --json` prints."""
        return {
            "sites": [site.to_dict() for site in self.sites],
            "totals": self.totals.to_dict(),
            "missing": list(self.missing),
            "warnings": list(self.warnings),
        }


@dataclass
class Rows:
    """Collects rows; what happens at one site on like paths becomes one row."""

    _rows: dict[tuple[str, str, str], PlannedSite] = field(default_factory=dict)

    def add(self, row: PlannedSite) -> None:
        """One more call, or several equal ones."""
        key = (row.site, row.op, row.path)
        before = self._rows.get(key)
        self._rows[key] = row if before is None else _together(before, row)

    def rows(self) -> tuple[PlannedSite, ...]:
        """All rows."""
        return tuple(self._rows.values())


def _together(a: PlannedSite, b: PlannedSite) -> PlannedSite:
    return replace(
        a,
        prefix=_smallest(a.prefix, b.prefix),
        prefix_most=_largest(a.prefix_most, b.prefix_most),
        new=_largest(a.new, b.new),
        prefill=_largest(a.prefill, b.prefill),
        shared=_largest(a.shared, b.shared),
        shared_with=a.shared_with or b.shared_with,
        times=a.times + b.times,
        notes=tuple(dict.fromkeys(a.notes + b.notes)),
    )


def _largest(a: Tokens, b: Tokens) -> Tokens:
    """The larger of two, with its own certainty; unknown beats all."""
    if a.count is None or b.count is None:
        return a if a.count is None else b
    return a if (a.count, a.certainty) >= (b.count, b.certainty) else b


def _smallest(a: Tokens, b: Tokens) -> Tokens:
    """The smaller of two known ones."""
    if a.count is None or b.count is None:
        return b if a.count is None else a
    return a if a.count <= b.count else b
