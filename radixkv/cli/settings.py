"""Settings shared by the commands that run a model: flags, RADIXKV_ environment variables, radixkv.toml."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import click

from radixkv.cli.log import show_log
from radixkv.cli.settings_file import SettingOption, settings_file
from radixkv.config import DEFAULT_MODEL, EngineConfig, engine_config, parse_size, setting_names
from radixkv.errors import ConfigurationError, RadixKVError

Function = TypeVar("Function", bound=Callable[..., Any])


class Size(click.ParamType[int]):
    """A number of bytes such as 512MiB or 4G."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes."""
        if isinstance(value, int):
            return value
        try:
            return parse_size(str(value))
        except ConfigurationError as error:
            self.fail(str(error), param, ctx)


def _setting(name: str, **attributes: Any) -> Callable[[Function], Function]:
    variable = "RADIXKV_" + name.removeprefix("--").split("/")[0].replace("-", "_").upper()
    return click.option(name, cls=SettingOption, envvar=variable, show_envvar=True, **attributes)


def _show_log(_ctx: click.Context, _parameter: click.Parameter, level: str) -> str:
    """At once, so that whatever goes wrong from here on is logged."""
    show_log(level)
    return level


_POSITIVE = click.IntRange(min=1)

_SETTINGS = (
    _setting("--model", default=DEFAULT_MODEL, show_default=True, help="A name, a .gguf file or a safetensors folder."),
    _setting(
        "--dtype",
        type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
        default="auto",
        help="Type to compute in; auto: bfloat16 where the CPU has units for it.",
    ),
    _setting("--kv-format", default="auto", help="Format of the KV cache; auto: the compute type."),
    _setting(
        "--kv-memory", type=Size(), help="Memory of the KV cache, e.g. 2GiB; default: 25 % of free, at most 4 GiB."
    ),
    _setting("--block-size", type=_POSITIVE, default=16, show_default=True, help="Tokens in a KV block."),
    _setting("--prefix-cache/--no-prefix-cache", default=True, help="Reuse KV of equal prefixes."),
    _setting("--deterministic", is_flag=True, help="Results independent of the batch; not in this version."),
    _setting(
        "--weights",
        type=click.Choice(["auto", "int8", "int4"]),
        default="auto",
        help="Format of the weights; int8 and int4: not in this version.",
    ),
    _setting("--threads", type=_POSITIVE, help="CPU threads; default: all that this process may use."),
    _setting(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        help="Where to compute; cuda: not in this version.",
    ),
    _setting("--max-context", type=_POSITIVE, help="Longest prompt plus output, in tokens; default: the model's."),
    _setting("--max-running", type=_POSITIVE, default=64, show_default=True, help="Sequences computed at once."),
    _setting("--step-tokens", type=_POSITIVE, default=1024, show_default=True, help="Tokens computed in one step."),
    _setting(
        "--seed", type=click.IntRange(min=0, max=2**63 - 1), help="Seed of all sampling; default: drawn, and shown."
    ),
    _setting(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="warning",
        callback=_show_log,
        help="What the engine logs to stderr.",
    ),
)


def engine_settings(function: Function) -> Function:
    """Add the shared options to a command, which receives them as keyword arguments."""
    for add_option in reversed(_SETTINGS):
        function = add_option(function)
    return function


def model_setting(function: Function) -> Function:
    """Add `--model` alone: for commands that need a model's files but no engine."""
    return _SETTINGS[0](function)


def config_of(settings: Mapping[str, Any]) -> EngineConfig:
    """The engine's configuration from a command's options, of which others are left aside."""
    return engine_config(settings["model"], {name: settings[name] for name in settings.keys() & setting_names()})


def check_settings_file() -> None:
    """Raises ConfigurationError if the settings file of the running command is no good."""
    problem = settings_file(click.get_current_context()).problem
    if problem is not None:
        raise problem


@contextlib.contextmanager
def naming_the_settings_file() -> Iterator[None]:
    """An error inside gets a note that names the settings file, if the command took values from it."""
    try:
        yield
    except RadixKVError as error:
        file = settings_file(click.get_current_context())
        if file.used:
            error.add_note(f"settings from {file.path}: {', '.join(file.used)}")
        raise
