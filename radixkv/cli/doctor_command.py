"""`radixkv doctor`: what this machine and this install offer, and what the engine would pick."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version

import click

KV_FORMAT_OF = {"torch.bfloat16": "bf16", "torch.float32": "fp32"}
PACKAGES = ("radixkv", "torch", "numpy", "tokenizers", "safetensors", "gguf", "lark", "rich", "flashinfer-python")


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """Report versions, processor, threads, the native module and the choice of attention backend."""
    report = collect()
    if as_json:
        click.echo(json.dumps(report, ensure_ascii=False))
        return
    for section, facts in report.items():
        click.echo(section)
        for name, fact in facts.items():
            click.echo(f"  {name:<22} {fact}")


def collect() -> dict[str, dict[str, object]]:
    """All facts, by section."""
    return {"versions": _versions(), "machine": _machine(), "engine": _engine(), "models": _models()}


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

    capability = torch.backends.cpu.get_cpu_capability()
    return {
        "platform": platform.platform(),
        "cores for this process": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "torch threads": torch.get_num_threads(),
        "vector instructions": capability,
        "cuda": "present" if torch.cuda.is_available() else "absent",
    }


def _engine() -> dict[str, object]:
    from radixkv.models import auto_dtype
    from radixkv_kernels.native import has_native
    from radixkv_kernels.selection import Wanted, choose_backend

    native = has_native()
    dtype = auto_dtype()
    # The shape of the default model's attention.
    choice = choose_backend(Wanted("cpu", KV_FORMAT_OF[str(dtype)], num_heads=9, num_kv_heads=3, head_dim=64))
    facts: dict[str, object] = {
        "native module": "built"
        if native
        else "absent: no compiler was found at install; reinstall with g++ for speed",
        "compute type": str(dtype).removeprefix("torch."),
        "attention backend": choice.backend,
    }
    facts |= {f"not {name}": reason for name, reason in choice.reasons.items()}
    return facts


def _models() -> dict[str, object]:
    from radixkv.models import known_models

    return {model.name: str(model.path) if model.path else "not fetched yet" for model in known_models()}
