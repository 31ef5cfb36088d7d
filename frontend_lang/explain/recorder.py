"""What a plan is collected in while the program is walked: rows, totals, how often, how much at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from frontend_lang.errors import ProgramError
from frontend_lang.explain.counting import NONE, ONE, OPAQUE, UNKNOWN, Tokens, largest
from frontend_lang.explain.plan import PlannedSite, Rows, Totals, dearest
from frontend_lang.explain.state import Place, State

_T = TypeVar("_T")
MAX_STEPS = 20_000
MIN_SHARED = 16  # tokens of a common head that are worth a word
MAYBE = "maybe"


@dataclass(frozen=True)
class Begun:
    """A call that begins: length of the context, tokens to compute, and whose KV the rest is."""

    prefix: Tokens
    prefill: Tokens
    shared_with: str
    shared: Tokens


class Recorder:
    """Rows and totals so far. `times`: how often what is walked now would run; `uncertain`: open conditions."""

    def __init__(self) -> None:
        self.rows = Rows()
        self.totals = Totals()
        self.times = ONE
        self.uncertain = 0
        self.warnings: list[str] = []
        self._steps = 0
        self._held = NONE
        self._heads: list[tuple[str, Sequence[int]]] = []

    def step(self) -> bool:
        """Count a statement or round; whether there is time for more."""
        self._steps += 1
        return self._steps <= MAX_STEPS

    @property
    def tired(self) -> bool:
        """Whether loops are walked once from now on, whatever their length."""
        return self._steps > MAX_STEPS

    @contextmanager
    def repeated(self, rounds: Tokens) -> Iterator[None]:
        """What is walked inside would run so many times."""
        before, self.times = self.times, self.times.times(rounds)
        try:
            yield
        finally:
            self.times = before

    @contextmanager
    def maybe(self) -> Iterator[None]:
        """What is walked inside may not run at all."""
        self.uncertain += 1
        try:
            yield
        finally:
            self.uncertain -= 1

    def one_of(self, ways: Sequence[Callable[[], _T]]) -> list[_T]:
        """Walk several ways of which a run takes one; the dearest counts. A way that fails drops out, if not all do."""
        before, totals, results = self.totals, [], []
        failure: ProgramError | None = None
        for way in ways:
            self.totals = before
            try:
                with self.maybe():
                    results.append(way())
            except ProgramError as error:
                failure = error
            totals.append(self.totals)
        self.totals = dearest(totals)
        if not results and failure is not None:
            raise failure
        return results

    @contextmanager
    def apart(self) -> Iterator[list[Tokens]]:
        """Collects the peak of what is walked inside by itself; the list has it at the end."""
        peak, held = self.totals.kv_peak, self._held
        self.totals, self._held = replace(self.totals, kv_peak=NONE), NONE
        found: list[Tokens] = []
        try:
            yield found
        finally:
            found.append(self.totals.kv_peak)
            self.totals, self._held = replace(self.totals, kv_peak=peak), held

    @contextmanager
    def frame(self) -> Iterator[None]:
        """What calls inside hold is given back at the end."""
        held = self._held
        try:
            yield
        finally:
            self._held = held

    def hold(self, tokens: Tokens) -> None:
        """A call that overlaps with what follows holds so many tokens."""
        self._held += tokens

    def peak(self, state: State, more: Tokens = NONE) -> None:
        """Note what is held now."""
        now = self._held + state.sketch.growth() + more
        self.totals = replace(self.totals, kv_peak=largest([self.totals.kv_peak, now]))

    def unbounded(self) -> None:
        """Nothing bounds what a run does here."""
        self.add(Totals(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN))

    def critical(self, gens: int) -> None:
        """A gen ends after so many, one after the other."""
        self.totals = replace(self.totals, critical_path=max(self.totals.critical_path, gens))

    def add(self, more: Totals) -> None:
        """Add to the totals, as often as this runs."""
        self.totals = self.totals.add(more, self.times)

    def begin(self, site: str, state: State, place: Place) -> Begun:
        """A call of the runtime begins: commit, and say what must be computed."""
        sketch = state.sketch
        prefix = sketch.commit()
        if not sketch.opened:
            self._open(prefix, state, place, site)
            begun = Begun(prefix, NONE, "", NONE)
        else:
            missing = sketch.uncomputed()
            prefill = ONE if missing.count == 0 else missing  # the last token is computed for its logits
            begun = Begun(prefix, prefill, sketch.source, sketch.with_kv())
            self.add(Totals(prefill=prefill))
        self.add(Totals(prompt=prefix))
        sketch.opened = True
        return begun

    def _open(self, prefix: Tokens, state: State, place: Place, site: str) -> None:
        """The first call of a fresh context: a common head with another context need not be computed again."""
        tokens = state.sketch.counter.tokens()
        owner, shared = self._shared_head(tokens)
        self._heads.append((site, tokens))
        prefill = prefix - Tokens(shared) if not shared else (prefix - Tokens(shared)).about()
        self._add_alike(prefill, prefix, Tokens(_common(tokens, tokens)))
        self.row(
            PlannedSite(
                "", "open", place.path, NONE, NONE, prefix, prefill=prefill, shared_with=owner, shared=Tokens(shared)
            )
        )

    def _add_alike(self, first: Tokens, prefix: Tokens, head: Tokens) -> None:
        """Of several contexts that are walked as one, the others share all that is known of the first one."""
        self.totals = self.totals.add(Totals(prefill=first))
        if self.times != ONE:
            others = (prefix - head).about() if (head.count or 0) >= MIN_SHARED else prefix
            self.totals = self.totals.add(Totals(prefill=others), self.times - ONE)

    def _shared_head(self, tokens: Sequence[int]) -> tuple[str, int]:
        best = ("", 0)
        for site, head in self._heads:
            common = _common(head, tokens)
            if common > best[1]:
                best = (site, common)
        return best if best[1] >= MIN_SHARED else ("", 0)

    def row(self, row: PlannedSite) -> None:
        """Add a row, as often as this runs."""
        notes = tuple(note for note in row.notes if note) + ((MAYBE,) if self.uncertain else ())
        self.rows.add(replace(row, notes=notes, times=self.times))


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    """Length of the common head, up to the first unknown text."""
    for at, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y or x == OPAQUE:
            return at
    return min(len(a), len(b))
