"""radixkv.toml: defaults of the settings, in this folder or where RADIXKV_CONFIG points.

A bad file or value is kept as a problem, not raised at once: a command that starts no engine need not care.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from radixkv.config import setting_names
from radixkv.errors import ConfigurationError

SETTINGS_FILE: Final = "radixkv.toml"
_KEY: Final = "radixkv.settings_file"


@dataclass
class SettingsFile:
    """The values of the file by the names of the options, the names that a command took from it, what is wrong."""

    path: Path
    values: dict[str, Any] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)
    problem: ConfigurationError | None = None

    def complain(self, message: str) -> None:
        """Keep the first problem."""
        self.problem = self.problem or ConfigurationError(f"{self.path}: {message}")


class SettingOption(click.Option):
    """An option whose default stands in the settings file, unless the command line or the environment gives it."""

    def consume_value(self, ctx: click.Context, opts: Any) -> tuple[Any, ParameterSource]:
        """As click's, with the file asked before the built-in default."""
        value, source = super().consume_value(ctx, opts)
        if source is not ParameterSource.DEFAULT or ctx.resilient_parsing or self.name is None:
            return value, source
        file = settings_file(ctx)
        if self.name not in file.values:
            return value, source
        try:
            given = self._checked(file.values[self.name], ctx)
        except click.UsageError as error:
            file.complain(f"`{self.name}`: {error.message}")
            return value, source
        file.used.append(self.name)
        return given, ParameterSource.DEFAULT_MAP

    def _checked(self, value: object, ctx: click.Context) -> object:
        """The value as the option takes it. Raises click.UsageError: nothing is converted that TOML can say itself."""
        expected = _expected(self)
        kinds = {"true or false": (bool,), "a whole number": (int,), "a size": (int, str), "text": (str,)}[expected]
        if not isinstance(value, kinds) or (isinstance(value, bool) and expected != "true or false"):
            raise click.UsageError(f"expected {expected}, found {_shown(value)}")
        if value == "":
            raise click.UsageError(f"expected {expected}, found an empty text")
        return self.type.convert(value, self, ctx)


def settings_file(ctx: click.Context) -> SettingsFile:
    """The file as this command sees it; read once."""
    found = ctx.meta.get(_KEY)
    if not isinstance(found, SettingsFile):
        found = ctx.meta[_KEY] = _read()
    return found


def _read() -> SettingsFile:
    named = os.environ.get("RADIXKV_CONFIG")
    file = SettingsFile(Path(named or SETTINGS_FILE))
    if not named and not file.path.exists():
        return file
    try:
        table = tomllib.loads(file.path.read_text(encoding="utf-8"))
    except OSError as error:
        file.complain(f"cannot be read: {error.strerror}" + (" (RADIXKV_CONFIG)" if named else ""))
        return file
    except (ValueError, RecursionError) as error:
        file.complain(f"not a TOML file: {error}")
        return file
    file.values = {name.replace("-", "_"): value for name, value in table.items()}
    known = (setting_names() - {"num_blocks", "age_weight", "max_prefix_wait"}) | {"model", "log_level"}
    unknown = [name for name in table if name.replace("-", "_") not in known]
    if unknown:
        file.complain(f"unknown setting `{unknown[0]}`; known: {', '.join(sorted(known))}")
    return file


def _expected(option: click.Option) -> str:
    if option.is_flag:
        return "true or false"
    if isinstance(option.type, click.types.IntRange):
        return "a whole number"
    return "a size" if option.type.name == "size" else "text"


def _shown(value: object) -> str:
    shown = repr(value)
    return f"{shown if len(shown) <= 60 else shown[:60] + '…'} ({type(value).__name__})"
