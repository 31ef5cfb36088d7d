"""Which files a program gets: those below its folder, whatever way the path is written, and no others."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from frontend_lang.errors import ProgramError
from frontend_lang.sources import FolderSource, MappingSource, NoSource, TextSource


def refusal(source: TextSource, path: str) -> str:
    with pytest.raises(ProgramError) as caught:
        source.open(path).close()
    assert caught.value.code == "E0703"
    assert repr(path) in caught.value.message
    return caught.value.message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "data").mkdir(parents=True)
    (root / "data" / "a.txt").write_bytes("\ufeffone\r\ntwo".encode())
    (tmp_path / "secret.txt").write_text("secret")
    (root / "inside").symlink_to(root / "data" / "a.txt")
    (root / "outside").symlink_to(tmp_path / "secret.txt")
    (root / "loop").symlink_to(root / "loop")
    (root / "dangling").symlink_to(tmp_path / "nothing")
    os.mkfifo(root / "pipe")
    return root


@pytest.mark.parametrize("path", ["data/a.txt", "./data/a.txt", "data/../data/a.txt", "data\\a.txt", "inside"])
def test_a_file_below_the_folder_is_given(folder: Path, path: str) -> None:
    with FolderSource(folder).open(path) as text:
        assert text.read() == "one\ntwo"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../secret.txt", "climbs out"),
        ("data/../../secret.txt", "climbs out"),
        ("/etc/passwd", "paths are relative"),
        ("C:\\secret.txt", "paths are relative"),
        ("", "paths are relative"),
        ("a\0b", "paths are relative"),
        ("outside", "leads out of"),
        ("dangling", "leads out of"),
        ("loop", "circle|Too many levels"),
        ("data", "no regular file"),
        (".", "no regular file"),
        ("pipe", "no regular file"),
        ("missing.txt", "No such file"),
        ("x" * 5000, "too long"),
    ],
)
def test_anything_else_is_refused_with_the_reason(folder: Path, path: str, why: str) -> None:
    assert re.search(why, refusal(FolderSource(folder), path))


def test_texts_by_path_and_none_at_all() -> None:
    source = MappingSource({"lib/a.rkv": "x\r\ny"})
    assert source.open("./lib/a.rkv").read() == "x\ny"
    assert "lib/a.rkv" in refusal(source, "b.rkv")
    assert "no files" in refusal(NoSource(), "a")
