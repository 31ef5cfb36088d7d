"""What a host gives to a run, looked at before the run begins: each error says what was expected and how to give it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from frontend_lang.errors import ProgramError
from frontend_lang.running.limits import Limits
from frontend_lang.seeds import MAX_SEED


@dataclass(frozen=True)
class _Expected:
    """What one argument may be besides None."""

    fits: Callable[[object], bool]
    what: str
    hint: str

    def check(self, name: str, value: object) -> None:
        if value is not None and not self.fits(value):
            raise TypeError(f"{name}={value!r:.60}, expected {self.what}: {self.hint}")


def _has(verb: str) -> Callable[[object], bool]:
    """Whether something, which is no class, has this method."""
    return lambda value: not isinstance(value, type) and callable(getattr(value, verb, None))


_EXPECTED = {
    "runtime": _Expected(_has("generate"), "a runtime", "with radixkv.programs.local_runtime() as runtime: …"),
    "seed": _Expected(lambda value: type(value) is int, "an int", "seed=7"),
    "limits": _Expected(lambda value: isinstance(value, Limits), "Limits", "Limits(tokens=2000, wall_s=30)"),
    "on_event": _Expected(callable, "a function of an event", "on_event=print"),
    "data": _Expected(_has("open"), "a source of texts", "frontend_lang.sources.FolderSource(Path('data'))"),
}


def check_run_arguments(**given: object) -> None:
    """Raise TypeError for an argument of another type, E0401 for a seed that is out of range. None is no argument."""
    for name, value in given.items():
        _EXPECTED[name].check(name, value)
    seed = given.get("seed")
    if isinstance(seed, int) and not 0 <= seed <= MAX_SEED:
        raise ProgramError("E0401", f"seed={seed}", "a seed is 0 to 2**63-1")
