"""`--limit NAME=VALUE` of `radixkv run`: what one run may use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from frontend_lang import Limits

_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)(ms|s|m|h)?")


def read_limits(pairs: Sequence[str]) -> Limits:
    """Limits from pairs: `tokens=2000`, `wall=30s`. The others keep their defaults. Raises click.UsageError."""
    from frontend_lang import Limits

    known = {field.name.removesuffix("_s"): field.name for field in fields(Limits)}
    given: dict[str, float] = {}
    for pair in pairs:
        name, _, written = pair.partition("=")
        if name not in known:
            raise click.UsageError(f"--limit {pair}: expected one of {', '.join(known)}, then =VALUE")
        if known[name] in given:
            raise click.UsageError(f"--limit {pair}: given twice")
        given[known[name]] = _value(pair, written, timed=known[name].endswith("_s"))
    return Limits(**given)  # type: ignore[arg-type]


def _value(pair: str, written: str, *, timed: bool) -> float:
    match = _NUMBER.fullmatch(written)
    number = float(match.group(1)) if match else 0.0
    if match is None or number <= 0 or (not timed and not written.isdigit()):
        expected = "a duration such as 30s" if timed else "a whole number above 0"
        raise click.UsageError(f"--limit {pair}: expected {expected}")
    return number * _SECONDS[match.group(2) or ""] if timed else int(written)
