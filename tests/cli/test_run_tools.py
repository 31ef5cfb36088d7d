"""`radixkv run` with tools, data, imports and checks: what is refused before a model is loaded, and what comes out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = 'tool shout(q: str) -> str\nparam q: str = "a"\nreturn shout(q)'
TOOLS = '''
from dataclasses import dataclass

from beside import ENDING
from frontend_lang import tool


@dataclass
class Loud:
    ending: str


@tool
def shout(q: str) -> str:
    """Say it loudly."""
    return q.upper() + Loud(ENDING).ending
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "program.rkv").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "my_tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "beside.py").write_text('ENDING = "!"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # taken back after the test, with what the command adds
    return tmp_path


def test_tools_of_a_file_are_called(radixkv, folder: Path, tiny: list[str]) -> None:
    outcome = radixkv("run", "program.rkv", "--tools", "my_tools.py", *tiny)
    assert (outcome.code, outcome.out) == (0, "A!\n"), outcome.err


NOISY = """
import os, subprocess, sys
from frontend_lang import tool

def noise():
    print("printed")
    os.write(1, b"written\\n")
    subprocess.run([sys.executable, "-c", "print('by a child')"], check=True)

noise()

@tool
def shout(q: str) -> str:
    noise()
    return q.upper()
"""


def test_what_tools_print_stays_out_of_the_json(radixkv, folder: Path, tiny: list[str]) -> None:
    (folder / "my_tools.py").write_text(NOISY, encoding="utf-8")
    (folder / "tested.rkv").write_text(PROGRAM.replace("param", "let") + '\ntest "t" { assert shout("b") == "B" }')
    ran = radixkv("run", "program.rkv", "--tools", "my_tools.py", "--json", *tiny)
    tested = radixkv("test", "tested.rkv", "--tools", "my_tools.py", "--json")
    failed = radixkv("run", "program.rkv", "--tools", "my_tools.py", "--json", "-a", "p=1")
    assert (json.loads(ran.out)["value"], json.loads(tested.out)["ok"]) == ("A", True), tested.out
    assert json.loads(failed.out)["error"]["code"] == "E0307"
    for outcome, times in ((ran, 2), (tested, 2), (failed, 1)):
        assert all(outcome.err.count(line) == times for line in ("printed\n", "written\n", "by a child\n")), outcome
    assert "printed" in radixkv("run", "program.rkv", "--tools", "my_tools.py", *tiny).out


def test_missing_tool_is_refused_before_the_model_is_loaded(radixkv, folder: Path) -> None:
    outcome = radixkv("run", "program.rkv", "--model", "/nowhere")
    assert outcome.code == 2
    assert "error[E0318]: tool `shout` is declared, but the host does not provide it" in outcome.err
    assert "--> program.rkv:1:6" in outcome.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import nothing_of_this_name\n", "my_tools.py:1: ModuleNotFoundError: No module named"),
        ("\n\nx = 1 /\n", "my_tools.py:3: SyntaxError: invalid syntax"),
        ("def f():\n    raise ValueError('a\\nb')\nf()\n", "my_tools.py:2: ValueError: a b"),
        ("import sys\nsys.exit(3)\n", "my_tools.py:2: SystemExit: 3"),
        ("def shout(q):\n    return q\n", "has no tools; mark the functions that programs may call, such as shout"),
        ("x = 1\n", "has no tools: `from frontend_lang import tool`"),
        ("from frontend_lang import tool\nshout = tool(print)\n", "TypeError: tool print: parameter *args"),
        (
            "from frontend_lang import tool\na = tool(name='x')(lambda: 1)\nb = tool(name='x')(lambda: 2)\n",
            "two tools are named 'x'",
        ),
    ],
)
def test_file_that_gives_no_tools_says_what_is_wrong_in_one_line(
    radixkv, folder: Path, text: str, expected: str
) -> None:
    (folder / "my_tools.py").write_text(text, encoding="utf-8")
    outcome = radixkv("run", "program.rkv", "--tools", "my_tools.py", "--model", "/nowhere")
    assert outcome.code == 2
    assert expected in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_missing_file_of_tools_or_folder_of_data(radixkv, folder: Path) -> None:
    assert "no such file" in radixkv("run", "program.rkv", "--tools", "lost.py").err
    outcome = radixkv("run", "program.rkv", "--data", "lost")
    assert (outcome.code, "--data: lost is no folder" in outcome.err) == (2, True)


def test_data_comes_from_the_programs_folder_or_the_one_given(radixkv, folder: Path, tiny: list[str]) -> None:
    for name in ("inner", "other"):
        (folder / name).mkdir()
        (folder / name / "d.jsonl").write_text(f'"{name}"\n', encoding="utf-8")
    (folder / "inner" / "lib.rkv").write_text(
        "def all(f: str) -> json { return [r for r in jsonl(f)] }", encoding="utf-8"
    )
    (folder / "inner" / "p.rkv").write_text('import "lib.rkv" as lib\nreturn lib.all("d.jsonl")', encoding="utf-8")
    assert json.loads(radixkv("run", "inner/p.rkv", *tiny).out) == ["inner"]
    assert json.loads(radixkv("run", "inner/p.rkv", "--data", "other", *tiny).out) == ["other"]
    outcome = radixkv("run", "-c", 'return read("program.rkv")', *tiny)
    assert outcome.out == PROGRAM + "\n"


def test_error_in_an_imported_module_is_shown_in_its_file(radixkv, folder: Path, tiny: list[str]) -> None:
    (folder / "lib.rkv").write_text("def f() -> int {\n  return 1 / 0\n}", encoding="utf-8")
    outcome = radixkv("run", "-c", 'import "lib.rkv" as lib\nreturn lib.f()', *tiny)
    assert outcome.code == 1
    assert "--> lib.rkv:2:14" in outcome.err
    assert "return 1 / 0" in outcome.err


def test_failed_checks_are_listed_and_set_the_exit_code(radixkv, folder: Path, tiny: list[str]) -> None:
    source = 'check 1 == 1\ncheck 1 == 2, "sum"\nreturn 5'
    outcome = radixkv("run", "-c", source, *tiny)
    assert (outcome.code, outcome.out) == (1, "5\n")
    assert outcome.err == "check failed: <command line>:2: sum: left is int 1, right is int 2\n"
    outcome = radixkv("run", "-c", source, "--json", *tiny)
    assert outcome.code == 1
    assert [check["ok"] for check in json.loads(outcome.out)["checks"]] == [True, False]
    assert radixkv("run", "-c", "check 1 == 1", *tiny).code == 0


def test_emitted_values_are_told_as_they_come_apart_from_the_result(radixkv, tiny: list[str]) -> None:
    outcome = radixkv("run", "-c", 'emit "half"; emit {n: 1}; return 2', *tiny)
    assert (outcome.code, outcome.out) == (0, "2\n")
    assert outcome.err.splitlines()[-2:] == ["emit: half", 'emit: {"n": 1}']
