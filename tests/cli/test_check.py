"""radixkv check over files, folders and imports; limits of radixkv run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with a program that imports, its module, one with an error, and what is no program."""
    (tmp_path / "lib").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "main.rkv").write_text('import "lib/a.rkv" as a\nreturn a.f(1)\n', "utf-8")
    (tmp_path / "lib" / "a.rkv").write_text("def f(x) { return x }\n", "utf-8")
    (tmp_path / "wrong.rkv").write_text('import "lib/a.rkv" as a\nreturn a.g(1)\n', "utf-8")
    (tmp_path / ".hidden" / "b.rkv").write_text("let a = b", "utf-8")
    (tmp_path / "notes.txt").write_text("let a = b", "utf-8")
    return tmp_path


def test_imports_are_looked_up_beside_the_file(radixkv, programs: Path, monkeypatch) -> None:
    assert radixkv("check", str(programs / "main.rkv")).code == 0
    monkeypatch.chdir(programs)
    assert radixkv("check", "-c", 'import "lib/a.rkv" as a\na.f(1)').code == 0


def test_a_folder_stands_for_the_programs_below_it_with_a_line_each(radixkv, programs: Path) -> None:
    outcome = radixkv("check", str(programs))
    assert outcome.code == 1
    assert [line.split(": ")[0] for line in outcome.out.splitlines()] == [
        str(programs / name) for name in ("lib/a.rkv", "main.rkv", "wrong.rkv")
    ]
    assert "error[E0317]" in outcome.err


def test_an_error_in_a_module_is_shown_with_the_line_of_the_module_and_only_once(radixkv, programs: Path) -> None:
    (programs / "lib" / "a.rkv").write_text("# first\ndef f(x) { return y }\n", "utf-8")
    outcome = radixkv("check", str(programs / "main.rkv"), str(programs / "lib"))
    assert outcome.code == 1
    assert outcome.err.count("error[E0301]") == 1
    assert f"--> {programs / 'lib' / 'a.rkv'}:2:19" in outcome.err
    assert " 2 | def f(x) { return y }" in outcome.err


def test_json_of_several_files_lists_them_and_each_diagnostic_names_its_file(radixkv, programs: Path) -> None:
    names = [str(programs / name) for name in ("main.rkv", "wrong.rkv")]
    report = json.loads(radixkv("check", *names, "--json").out)
    assert report["ok"] is False
    assert [(entry["file"], entry["ok"]) for entry in report["files"]] == [(names[0], True), (names[1], False)]
    assert report["files"][1]["diagnostics"][0]["file"] == names[1]
    alone = json.loads(radixkv("check", names[0], "--json").out)
    assert alone == {"ok": True, "diagnostics": [], "worst_case": {"branches": 0, "tokens": 0}}


def test_a_folder_without_programs_and_a_text_beside_files_are_wrong_usage(radixkv, tmp_path: Path) -> None:
    assert radixkv("check", str(tmp_path)).code == 2
    assert radixkv("check", str(tmp_path), "-c", "let a = 1").code == 2
    assert radixkv("check").code == 2


@pytest.mark.parametrize(
    ("limit", "code"),
    [("tokens=1", "E0809"), ("steps=2", "E0804"), ("iterations=1", "E0805"), ("branches=1", "E0807")],
)
def test_a_limit_of_a_run_ends_it_with_its_code(radixkv, tiny, limit: str, code: str) -> None:
    program = "user: hi\nassistant { repeat 2 { gen a with max=2 }\nfork 2 { gen b with max=2 } }"
    outcome = radixkv("run", "-c", program, "--limit", limit, *tiny)
    assert outcome.code == 1
    assert f"error[{code}]" in outcome.err


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (["tokns=3"], "expected one of iterations, steps"),
        (["tokens=0"], "above 0"),
        (["tokens=3s"], "whole number"),
        (["wall=soon"], "duration"),
        (["wall=0s"], "duration"),
        (["tokens"], "whole number"),
        (["tokens=1", "tokens=2"], "given twice"),
    ],
)
def test_a_limit_that_is_none_is_wrong_usage(radixkv, limits: list[str], words: str) -> None:
    outcome = radixkv("run", "-c", "let a = 1", *[word for limit in limits for word in ("--limit", limit)])
    assert outcome.code == 2
    assert words in outcome.err


def test_a_folder_is_checked_with_modules_that_reach_beside_their_own(radixkv, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "main.rkv").write_text('import "a/x.rkv" as x\nreturn x.f()')
    (tmp_path / "a" / "x.rkv").write_text('import "../b/y.rkv" as y\ndef f() -> int { return y.g() }')
    (tmp_path / "b" / "y.rkv").write_text("def g() -> int { return 1 }")
    outcome = radixkv("check", str(tmp_path))
    assert outcome.code == 0, outcome.err
    assert "main.rkv: ok" in outcome.out
    (tmp_path / "b" / "y.rkv").write_text("def g() -> int { return nope }")
    assert "E0301" in radixkv("check", str(tmp_path)).err
    (tmp_path / "main.rkv").unlink()
    assert "E0703" in radixkv("check", str(tmp_path)).err, "nothing imports it here"


@pytest.mark.parametrize(("arguments", "code"), [(["-a", "n=abc"], "E0406"), (["-a", "n=1.5"], "E0402"), ([], "E0307")])
def test_a_bad_argument_is_wrong_usage_and_shows_its_parameter(radixkv, tmp_path: Path, arguments, code: str) -> None:
    program = tmp_path / "p.rkv"
    program.write_text("# a comment\nparam n: int\nreturn n")
    outcome = radixkv("run", str(program), *arguments, "--model", "/nowhere")
    assert outcome.code == 2
    assert f"error[{code}]" in outcome.err
    assert f"{program}:2:" in outcome.err
    assert "param n: int" in outcome.err
