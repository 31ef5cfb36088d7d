"""The command line in a real terminal: live branches, Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pexpect
import pytest

pytestmark = pytest.mark.processes

START = "from radixkv.cli.main import main; main()"
LONG = "user: Hi\nlet a = fork 2 { assistant gen t with max=1500, temp=1 } join all\nreturn a"


@pytest.fixture
def spawn(tiny_llama: Path, tmp_path: Path):
    children: list[pexpect.spawn] = []

    def run(*arguments: str, start: str = START) -> pexpect.spawn:
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        command = ["-c", start, *arguments, "--model", str(tiny_llama), "--dtype", "float32", "--kv-memory", "8MiB"]
        child = pexpect.spawn(
            sys.executable,
            command,
            env=environment,
            cwd=str(tmp_path),
            timeout=60,
            encoding="utf-8",
            dimensions=(24, 80),
        )
        children.append(child)
        return child

    yield run
    for child in children:
        child.close(force=True)


def finish(child: pexpect.spawn) -> tuple[int | None, str]:
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus, child.before or ""


def test_a_run_streams_branches_and_ends_with_its_cost(spawn) -> None:
    status, screen = finish(spawn("run", "-c", LONG.replace("1500", "12"), "--seed", "4"))
    assert status == 0
    assert "fork ×2" in screen
    assert "computed" in screen
    assert "seed 4" in screen


def test_a_drawn_seed_is_shown_to_who_sits_there(spawn) -> None:
    status, screen = finish(spawn("generate", "Hello", "--max-tokens", "4", "--temperature", "1"))
    assert status == 0
    assert re.search(r"seed \d+", screen)
    _, screen = finish(spawn("generate", "Hello", "--max-tokens", "4", "--temperature", "1", "--seed", "3"))
    assert "seed" not in screen
    _, screen = finish(spawn("generate", "Hello", "--max-tokens", "4"))
    assert "seed" not in screen, "greedy text has none"


def test_a_run_into_a_pipe_shows_its_drawn_seed_on_the_terminal(spawn, tmp_path: Path) -> None:
    """`run … > out`, stderr still the terminal."""
    start = f"import os; os.dup2(os.open('out', os.O_CREAT | os.O_WRONLY), 1); {START}"
    status, screen = finish(spawn("run", "-c", LONG.replace("1500", "4"), start=start))
    assert status == 0
    assert re.search(r"seed \d+", screen)
    assert len(json.loads((tmp_path / "out").read_text(encoding="utf-8"))) == 2


def test_ctrl_c_in_a_run_exits_130_without_a_traceback(spawn) -> None:
    child = spawn("run", "-c", LONG, "--seed", "4")
    child.expect(r"\[1\]")
    child.sendintr()
    status, screen = finish(child)
    assert status == 130
    assert "Traceback" not in screen
    assert "interrupted" in screen


def test_ctrl_c_in_generate_exits_130_and_keeps_what_was_printed(spawn) -> None:
    child = spawn("generate", "Hello", "--max-tokens", "1900", "--temperature", "1")
    child.expect(r"\w")
    child.sendintr()
    status, screen = finish(child)
    assert status == 130
    assert "Traceback" not in screen
