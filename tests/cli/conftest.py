"""A way to run the command line in this process, and its shared arguments for a tiny model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from radixkv.cli.main import main


@dataclass(frozen=True)
class Outcome:
    """What a command left: exit code and both streams."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def radixkv(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run `radixkv ARGUMENTS…` as its entry point does; with `terminal`, both streams say that they are one."""

    def run(*arguments: str, terminal: bool = False) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["radixkv", *arguments])
        for stream in (sys.stdout, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: terminal)
        with pytest.raises(SystemExit) as end:
            main()
        streams = capfd.readouterr()
        return Outcome(int(end.value.code or 0), streams.out, streams.err)

    return run


@pytest.fixture
def tiny(tiny_llama: Path) -> list[str]:
    """Arguments that name the tiny model, in float32."""
    return ["--model", str(tiny_llama), "--dtype", "float32", "--kv-memory", "4MiB"]
