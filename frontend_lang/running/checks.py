"""What the `check`s of a run have found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from frontend_lang.seeds import Place
from frontend_lang.values import Value


@dataclass(frozen=True, slots=True)
class Check:
    """One `check` that was carried out: where it stands, in which branch and round it was, whether it held."""

    ok: bool
    message: str
    file: str
    line: int
    path: str
    place: Place


class Checks:
    """All checks of a run. Iterating gives them as records, in an order that no schedule changes.

    Checks of one line stand together, in the order of branches and rounds.
    """

    def __init__(self) -> None:
        self._checks: list[Check] = []

    def add(self, check: Check) -> None:
        """Record one."""
        self._checks.append(check)

    def __iter__(self) -> Iterator[Mapping[str, Value]]:
        for check in sorted(self._checks, key=_order):
            yield {
                "ok": check.ok,
                "message": check.message,
                "line": check.line,
                "file": check.file,
                "path": check.path,
            }


def _order(check: Check) -> tuple[object, ...]:
    return check.file, check.line, check.place.branches, check.place.loops
