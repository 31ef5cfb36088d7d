"""Parse, link and check in one call: what `radixkv check` says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from frontend_lang.diagnostics import Diagnostic, has_errors, render
from frontend_lang.modules import Module
from frontend_lang.sources import TextSource
from frontend_lang.syntax import ast
from frontend_lang.syntax.limits import MAX_ERRORS


@dataclass(frozen=True)
class WorstCase:
    """Upper bounds of a run: branches begun, tokens that gens produce. None: the program itself sets no bound."""

    branches: int | None
    tokens: int | None

    def __add__(self, other: WorstCase) -> WorstCase:
        return WorstCase(_add(self.branches, other.branches), _add(self.tokens, other.tokens))

    def times(self, count: int | None) -> WorstCase:
        """So much for each of `count` rounds."""
        return WorstCase(_times(self.branches, count), _times(self.tokens, count))

    def to_dict(self) -> dict[str, int | None]:
        """The form that goes into JSON."""
        return {"branches": self.branches, "tokens": self.tokens}

    def __str__(self) -> str:
        branches = "unbounded branches" if self.branches is None else _many(self.branches, "branch", "branches")
        tokens = "unbounded new tokens" if self.tokens is None else f"{self.tokens:,} new tokens".replace(",", " ")
        return f"worst case {branches}, {tokens}"


@dataclass(frozen=True)
class CheckReport:
    """All findings about a program and what it imports, the program's own first.

    `module` is None if the program does not parse. `sources` has the text of each file by the name that its
    diagnostics bear. `omitted` counts errors beyond the first `MAX_ERRORS`, which `diagnostics` leaves out.
    """

    module: Module | None
    diagnostics: tuple[Diagnostic, ...]
    omitted: int
    sources: Mapping[str, str]
    entry: str | None = None

    @property
    def program(self) -> ast.Program | None:
        """The program's own tree."""
        return None if self.module is None else self.module.program

    @property
    def ok(self) -> bool:
        """Whether there are warnings at most."""
        return not has_errors(self.diagnostics)

    @property
    def defs(self) -> int:
        """Defs of the program; 0 if it does not parse."""
        return len(self.module.defs) if self.module else 0

    @cached_property
    def worst_case(self) -> WorstCase | None:
        """Bounds on a run from the entry; None if there are errors."""
        from frontend_lang.checker import worst_case

        return worst_case(self.module, self.entry) if self.module is not None and self.ok else None

    def shown(self, diagnostic: Diagnostic) -> str:
        """One of the findings as lines for a terminal, with the line of the file that it is about."""
        return render(diagnostic, self.sources.get(diagnostic.file, ""))

    def summary(self) -> str:
        """The last line: `ok: 1 def · 0 errors · 1 warning · worst case …`."""
        errors = _errors(self.diagnostics)
        counts = [
            _many(self.defs, "def"),
            _many(errors + self.omitted, "error") + (f" ({self.omitted} more not shown)" if self.omitted else ""),
            _many(len(self.diagnostics) - errors, "warning"),
            *([str(self.worst_case)] if self.worst_case else []),
        ]
        return f"{'ok' if self.ok else 'failed'}: {' · '.join(counts)}"

    def to_dict(self) -> dict[str, object]:
        """The form that goes into JSON."""
        bounds = self.worst_case or WorstCase(None, None)
        found = [diagnostic.to_dict() for diagnostic in self.diagnostics]
        omitted = {"omitted": self.omitted} if self.omitted else {}
        return {"ok": self.ok, "diagnostics": found, **omitted, "worst_case": bounds.to_dict()}


def check_source(
    source: str,
    file: str = "<string>",
    entry: str | None = None,
    *,
    modules: TextSource | None = None,
    runnable: bool = False,
) -> CheckReport:
    """Parse and check a program and all that it imports through `modules`. Raises nothing.

    `entry` as for a run; `runnable`: that nothing says what to run is an error (E0306).
    """
    from frontend_lang.checker import check
    from frontend_lang.linking import link

    linked = link(source, file, modules)
    every = list(linked.diagnostics)
    if linked.module is not None:
        every += check(linked.module, entry, runnable=runnable)
    found = first_errors(_own_first(every, file))
    return CheckReport(linked.module, found, _errors(every) - _errors(found), linked.sources, entry)


def _own_first(diagnostics: Iterable[Diagnostic], file: str) -> list[Diagnostic]:
    """The program's own findings in source order, then those of each imported module, innermost imports first."""
    every = list(diagnostics)
    own = sorted((found for found in every if found.file == file), key=lambda found: (found.line, found.col))
    return [*own, *(found for found in every if found.file != file)]


def first_errors(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Findings up to the error number `MAX_ERRORS`: who has thousands made one mistake, not thousands."""
    places = [index for index, found in enumerate(diagnostics) if found.severity == "error"]
    return tuple(diagnostics[: places[MAX_ERRORS - 1] + 1] if len(places) > MAX_ERRORS else diagnostics)


def _errors(diagnostics: Sequence[Diagnostic]) -> int:
    return sum(found.severity == "error" for found in diagnostics)


def _many(count: int, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def _add(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _times(a: int | None, count: int | None) -> int | None:
    if a == 0 or count == 0:
        return 0
    return None if a is None or count is None else a * count
