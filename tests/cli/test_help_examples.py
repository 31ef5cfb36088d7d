"""Every example of a help text does what it says, typed as it stands there."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from radixkv.cli.commands import cli
from tiny_models import make_tiny_model

ROOT = Path(__file__).parents[2]


def help_texts(command: click.Command, context: click.Context | None = None) -> Iterator[str]:
    """Help of a command and of all below it."""
    yield command.help or ""
    if isinstance(command, click.Group):
        inner = click.Context(command, parent=context)
        for name in command.list_commands(inner):
            below = command.get_command(inner, name)
            assert below is not None
            yield from help_texts(below, inner)


def examples() -> list[str]:
    lines = [line.strip() for text in help_texts(cli) for line in text.splitlines()]
    return sorted({line for line in lines if line.startswith("radixkv ") or "| radixkv " in line})


@pytest.fixture(scope="module")
def long_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model whose context holds the essay, a byte a token."""
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "long", max_context=8192)


def test_each_command_that_runs_something_shows_an_example() -> None:
    shown = " ".join(examples())
    for command in ("run", "check", "explain", "trace", "generate", "models", "doctor"):
        assert f"radixkv {command}" in shown


@pytest.mark.parametrize(
    "example", [pytest.param(line, marks=pytest.mark.model) if " pull " in line else line for line in examples()]
)
def test_an_example_of_the_help_works(radixkv, long_llama: Path, monkeypatch, example: str) -> None:
    monkeypatch.chdir(ROOT)
    for name, value in {"MODEL": str(long_llama), "DTYPE": "float32", "KV_MEMORY": "16MiB"}.items():
        monkeypatch.setenv(f"RADIXKV_{name}", value)
    words = shlex.split(example)
    if "|" in words:
        assert words[0] == "echo"
        monkeypatch.setattr(sys, "stdin", io.StringIO(" ".join(words[1 : words.index("|")]) + "\n"))
        words = words[words.index("|") + 1 :]
    outcome = radixkv(*words[1:])
    assert outcome.code == 0, outcome.err
    assert outcome.out.strip()
    assert "error[" not in outcome.err
    assert "warning[" not in outcome.err
