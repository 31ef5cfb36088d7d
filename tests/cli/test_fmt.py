"""`radixkv fmt` as a user types it."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from pathlib import Path

import pytest

UGLY = 'let a=1;user "hi"   # why\n'
NEAT = 'let a = 1\nuser "hi"  # why\n'
BROKEN = "let let\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "ugly.rkv").write_text(UGLY, "utf-8")
    (tmp_path / "neat.rkv").write_text(NEAT, "utf-8")
    (tmp_path / "other.txt").write_text(UGLY, "utf-8")
    return tmp_path


def test_a_folder_is_formatted_in_place(radixkv, folder: Path) -> None:
    outcome = radixkv("fmt", str(folder))
    assert outcome.code == 0, outcome.err
    assert outcome.out == f"changed {folder / 'deep/ugly.rkv'}\n1 file changed, 1 as it should be\n"
    assert (folder / "deep" / "ugly.rkv").read_text("utf-8") == NEAT
    assert (folder / "other.txt").read_text("utf-8") == UGLY
    assert sorted(path.name for path in folder.rglob("*")) == ["deep", "neat.rkv", "other.txt", "ugly.rkv"]
    assert "2 as they should be" in radixkv("fmt", str(folder)).out


def test_check_writes_nothing_and_lists_what_would_change(radixkv, folder: Path) -> None:
    outcome = radixkv("fmt", "--check", str(folder))
    assert outcome.code == 1
    assert outcome.out.splitlines()[0] == f"would change {folder / 'deep/ugly.rkv'}"
    assert (folder / "deep" / "ugly.rkv").read_text("utf-8") == UGLY
    assert radixkv("fmt", "--check", str(folder / "neat.rkv")).code == 0


def test_diff_shows_the_change_and_writes_nothing(radixkv, folder: Path) -> None:
    outcome = radixkv("fmt", "--diff", str(folder))
    assert outcome.code == 0
    assert "-let a=1;user" in outcome.out
    assert '+user "hi"  # why' in outcome.out
    assert (folder / "deep" / "ugly.rkv").read_text("utf-8") == UGLY
    assert radixkv("fmt", "--diff", "--check", str(folder)).code == 1
    assert radixkv("fmt", "--diff", str(folder / "neat.rkv")).out == ""


def test_json_says_which_files_change(radixkv, folder: Path) -> None:
    outcome = radixkv("fmt", "--check", "--json", str(folder))
    result = json.loads(outcome.out)
    changed = {Path(item["file"]).name: item["changed"] for item in result["files"]}
    assert changed == {"ugly.rkv": True, "neat.rkv": False}
    assert result["diagnostics"] == []


def test_stdin_goes_to_stdout(radixkv, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(UGLY))
    outcome = radixkv("fmt", "-")
    assert (outcome.code, outcome.out, outcome.err) == (0, NEAT, "")


def test_what_does_not_parse_stays_as_it_is_and_the_others_are_formatted(radixkv, folder: Path, monkeypatch) -> None:
    (folder / "broken.rkv").write_text(BROKEN, "utf-8")
    outcome = radixkv("fmt", str(folder))
    assert outcome.code == 1
    assert "error[E0201]" in outcome.err
    assert "^" in outcome.err
    assert "1 not readable" in outcome.out
    assert (folder / "broken.rkv").read_text("utf-8") == BROKEN
    assert (folder / "deep" / "ugly.rkv").read_text("utf-8") == NEAT
    monkeypatch.setattr(sys, "stdin", io.StringIO(BROKEN))
    assert radixkv("fmt", "-").out == ""
    (found,) = json.loads(radixkv("fmt", "--json", str(folder / "broken.rkv")).out)["diagnostics"]
    assert found["code"] == "E0201"


def test_line_endings_and_a_byte_order_mark_are_changes(radixkv, tmp_path: Path) -> None:
    path = tmp_path / "dos.rkv"
    path.write_bytes(b"\xef\xbb\xbf" + NEAT.replace("\n", "\r\n").encode())
    assert radixkv("fmt", "--check", str(path)).code == 1
    assert radixkv("fmt", str(path)).code == 0
    assert path.read_bytes() == NEAT.encode()


def test_mode_and_symbolic_links_stay(radixkv, folder: Path) -> None:
    target = folder / "deep" / "ugly.rkv"
    target.chmod(0o750)
    link = folder / "link.rkv"
    link.symlink_to(target)
    assert radixkv("fmt", str(link)).code == 0
    assert link.is_symlink()
    assert target.read_text("utf-8") == NEAT
    assert stat.S_IMODE(target.stat().st_mode) == 0o750


def test_a_file_that_is_not_text_stops_everything_before_anything_is_written(radixkv, folder: Path) -> None:
    (folder / "zz.rkv").write_bytes(b"\xff\xfe")
    outcome = radixkv("fmt", str(folder))
    assert outcome.code == 2
    assert "not UTF-8" in outcome.err
    assert (folder / "deep" / "ugly.rkv").read_text("utf-8") == UGLY


def test_a_failing_write_leaves_the_file_and_no_other(radixkv, folder: Path, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    outcome = radixkv("fmt", str(folder))
    assert outcome.code == 1
    assert "No space left" in outcome.err
    assert (folder / "deep" / "ugly.rkv").read_text("utf-8") == UGLY
    assert [path.name for path in (folder / "deep").iterdir()] == ["ugly.rkv"]


@pytest.mark.parametrize("options", [("--diff",), ("--diff", "--check")])
def test_there_is_no_diff_of_what_does_not_parse(radixkv, folder: Path, monkeypatch, options) -> None:
    broken = folder / "broken.rkv"
    broken.write_text("user: hi\nlet let\n", "utf-8")
    outcome = radixkv("fmt", *options, str(broken))
    assert (outcome.code, outcome.out) == (1, "")
    assert "error[E0201]" in outcome.err
    assert "broken" not in radixkv("fmt", *options, str(folder)).out  # the others' diffs are shown
    monkeypatch.setattr(sys, "stdin", io.StringIO(BROKEN))
    outcome = radixkv("fmt", *options, "-")
    assert (outcome.code, outcome.out) == (1, "")
    assert "error[E0201]" in outcome.err
