"""What a run returns."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Generic, cast

from frontend_lang.runtime import CallUsage
from frontend_lang.values import Value, to_json_safe

if TYPE_CHECKING:  # every type checker has it; the project need not
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")


@dataclass(frozen=True)
class Timing:
    """Seconds: of the whole run, and to the first generated text (None if there was none)."""

    wall_s: float
    ttft_s: float | None


@dataclass(frozen=True)
class RunResult(Generic[T]):
    """The end of a run that succeeded.

    `value` is what the entry returned, `vars` the names of the top level (empty for a def), `usage` the sum over all
    calls of the runtime. `deterministic` says whether the runtime gives equal tokens for an equal seed.
    """

    value: T
    vars: Mapping[str, Any]
    usage: CallUsage
    checks: tuple[Mapping[str, Any], ...]
    seed: int
    deterministic: bool
    model: str
    timing: Timing

    def __repr__(self) -> str:
        """In short: a value that shares its parts would be endless, and asyncio makes the repr of what a task gives."""
        return f"RunResult(value={_short(self.value)}, seed={self.seed}, model={self.model!r}, …)"

    def to_dict(self) -> dict[str, object]:
        """The object that `run --json` prints; nan and infinities, which JSON lacks, are none."""
        return {
            "value": to_json_safe(cast("Value", self.value)),
            "vars": to_json_safe(dict(self.vars)),
            "usage": asdict(self.usage),
            "timing": {"wall_s": round(self.timing.wall_s, 6), "ttft_s": self.timing.ttft_s},
            "checks": [dict(check) for check in self.checks],
            "seed": self.seed,
            "deterministic": self.deterministic,
            "model": self.model,
        }


def _short(value: object) -> str:
    words = reprlib.Repr()
    words.maxlevel, words.maxstring = 3, 80
    return words.repr(value)
