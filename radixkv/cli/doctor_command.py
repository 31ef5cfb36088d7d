"""`radixkv doctor`: what this machine and this install offer, and what the engine would pick."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import click

from radixkv.cli.settings import config_of, engine_settings
from radixkv.cli.settings_file import SettingsFile, settings_file
from radixkv.cli.terminal import print_json, say
from radixkv.config import EngineConfig
from radixkv.errors import ConfigurationError, ModelError

if TYPE_CHECKING:
    from radixkv.runner import AttentionShape

PACKAGES = ("radixkv", "torch", "numpy", "tokenizers", "safetensors", "gguf", "lark", "rich", "flashinfer-python")


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@engine_settings
def command(as_json: bool, **settings: Any) -> None:
    """Report versions, processor, threads, the native module, and what the engine would pick with these settings.

    \b
    radixkv doctor
    radixkv doctor --dtype float32 --kv-format bf16
    """
    report = collect(config_of(settings)) | _settings_file()
    if as_json:
        print_json(report)
        return
    for section, facts in report.items():
        say(section)
        for name, fact in facts.items():
            say(f"  {name:<22} {fact}")


def collect(config: EngineConfig) -> dict[str, Mapping[str, object]]:
    """All facts, by section."""
    return {"versions": _versions(), "machine": _machine(), "engine": _engine(config), "models": _models()}


def _settings_file() -> dict[str, Mapping[str, object]]:
    """The settings file, if there is one: what is taken from it, or what is wrong with it."""
    file = settings_file(click.get_current_context())
    if not file.values and file.problem is None:
        return {}
    return {"settings file": {"path": str(file.path), "problem" if file.problem else "gives": _verdict(file)}}


def _verdict(file: SettingsFile) -> str:
    return str(file.problem) if file.problem else ", ".join(file.used) or "nothing: options or variables say otherwise"


def _versions() -> dict[str, object]:
    facts: dict[str, object] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    return facts


def _machine() -> dict[str, object]:
    import torch

    from radixkv.engine.machine import free_memory, usable_cores

    return {
        "platform": platform.platform(),
        "cores for this process": usable_cores(),
        "free memory": f"{free_memory() >> 20} MiB",
        "vector instructions": torch.backends.cpu.get_cpu_capability(),
        "cuda": "present" if torch.cuda.is_available() else "absent",
    }


def _engine(config: EngineConfig) -> dict[str, object]:
    """What an engine of this configuration would run with, as the engine itself decides it."""
    from radixkv.engine.startup import pick_attention, usable_threads
    from radixkv.models import resolve_dtype
    from radixkv.runner import has_native

    native = "built" if has_native() else "absent: no compiler was found at install; reinstall with g++ for speed"
    dtype = resolve_dtype(config.dtype)
    facts: dict[str, object] = {
        "native module": native,
        "threads": usable_threads(config),
        "compute type": str(dtype).removeprefix("torch."),
    }
    try:
        shape, of = _shape(config.model)
        attention = pick_attention(config, shape, dtype)
    except (ConfigurationError, ModelError) as error:
        return facts | {"attention backend": f"none: {error}"}
    facts |= {"for": of, "attention backend": attention.backend, "kv format": attention.kv_format}
    return facts | {f"not {name}": reason for name, reason in attention.reasons.items()}


def _shape(model: str) -> tuple[AttentionShape, str]:
    """What the model asks of attention, and how that is known; nothing is fetched."""
    from radixkv.models import is_present, known_models, locate_model, read_config
    from radixkv.runner import AttentionShape

    if any(known.name == model for known in known_models()) and not is_present(model):
        return AttentionShape(
            num_layers=1, num_heads=8, num_kv_heads=8, head_dim=64
        ), f"any model ({model} is not here)"
    return AttentionShape.of(read_config(locate_model(model, download=False))), model


def _models() -> dict[str, object]:
    from radixkv.models import known_models

    return {model.name: str(model.path) if model.path else "not fetched yet" for model in known_models()}
