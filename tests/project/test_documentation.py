"""What the documents say is so: links lead somewhere, commands exist, code runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "tests" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON_OF_README = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8"))
    assert not [link for link in links if not (document.parent / link).exists()]


def test_make_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {name for pair in re.findall(r"^make (\w+)|`make (\w+)`", README, re.MULTILINE) for name in pair if name}
    assert targets >= {"demo", "test", "quick", "lint", "prove"}
    assert not [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)]


def test_files_named_in_commands_of_the_readme_exist() -> None:
    commands = [line for line in README.splitlines() if line.startswith(".venv/bin/radixkv")]
    names = [name for line in commands for name in re.findall(r"examples/[\w.]+", line)]
    assert len(commands) >= 4
    assert not [name for name in names if not (ROOT / name).exists()]


def test_every_test_folder_has_its_line() -> None:
    readme = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| (\w+) \|", readme, re.MULTILINE)) - {"folder"}
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name[0] not in "_."}
    assert listed == folders


def test_measured_numbers_of_the_readme_are_the_recorded_ones() -> None:
    runs = json.loads((ROOT / "benchmarks/results/judge_program.json").read_text(encoding="utf-8"))["runs"]
    for run in runs:
        usage = run["usage"]
        counts = (usage["prompt_tokens"], usage["computed_tokens"], usage["completion_tokens"])
        assert f"| {run['judges']} | " + " | ".join(f"{count:,}" for count in counts) + " |" in README


@pytest.mark.model
def test_six_lines_of_python_run(smollm2_files: object) -> None:
    printed = _printed_by(PYTHON_OF_README[0])
    assert "Paris" in printed
    assert printed.count("Usage(") == 2


@pytest.mark.model
def test_the_prompt_in_python_runs(smollm2_files: object) -> None:
    assert re.fullmatch(r"[1-5] \[[1-5], [1-5]\]\n", _printed_by(PYTHON_OF_README[1]))


def _printed_by(snippet: str) -> str:
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_report_that_a_test_names_is_listed() -> None:
    listed = set(re.findall(r"^\| (R\d{3}) \|", (ROOT / "docs" / "reports.md").read_text("utf-8"), re.MULTILINE))
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = {number.upper() for number in re.findall(r"(?<![A-Za-z0-9])([rR]\d{3})(?!\d)", sources)}
    assert named == listed
