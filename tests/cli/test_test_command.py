"""`radixkv test` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ASK = "def ask(q: str) -> str { user q\nassistant gen t with max=4\nreturn t }\n"
GOOD = ASK + 'test "one answer" with mock=["yes"] { assert ask("x") == "yes" }\n'
BAD = (
    ASK
    + 'test "wrong" with mock=["no"] {\n  assert ask("x") == "yes", "the answer"\n}\ntest "check" { check 1 == 2 }\n'
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with two programs that have tests and one that has none."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "good.rkv").write_text(GOOD, encoding="utf-8")
    (tmp_path / "inner" / "bad.rkv").write_text(BAD, encoding="utf-8")
    (tmp_path / "none.rkv").write_text("return 1", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_test_is_a_line_and_a_failed_one_shows_where(radixkv, folder: Path) -> None:
    outcome = radixkv("test")
    lines = outcome.out.splitlines()
    assert outcome.code == 1
    assert lines[0].startswith(" ok   good.rkv  one answer (1 gen, ")
    assert lines[1].startswith(" FAILED  inner/bad.rkv  wrong (1 gen, ")
    assert lines[2] == 'error[E0604]: the answer: left is str "no", right is str "yes"'
    assert lines[3] == "  --> inner/bad.rkv:5:3"
    assert "^" in lines[5]
    assert lines[6].startswith(" FAILED  inner/bad.rkv  check (0 gens, ")
    assert lines[7] == "check failed: inner/bad.rkv:7: 1 == 2: left is int 1, right is int 2"
    assert lines[8] == "3 tests: 1 ok, 2 failed"


def test_tests_are_chosen_by_file_and_title(radixkv, folder: Path) -> None:
    outcome = radixkv("test", "good.rkv", "inner", "-k", "ONE")
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "1 test: 1 ok, 0 failed")
    outcome = radixkv("test", "-k", "nothing like it")
    assert outcome.code == 2
    assert "no test blocks whose title contains 'nothing like it'" in outcome.err


def test_json_form(radixkv, folder: Path) -> None:
    outcome = radixkv("test", "--json")
    report = json.loads(outcome.out)
    assert (outcome.code, report["ok"], report["diagnostics"]) == (1, False, [])
    good, wrong, check = report["tests"]
    assert set(good) == {"file", "title", "line", "ok", "gens", "ms", "checks", "error"}
    assert (good["ok"], good["error"], good["line"]) == (True, None, 4)
    assert (wrong["error"]["code"], wrong["error"]["line"], wrong["error"]["file"]) == ("E0604", 5, "inner/bad.rkv")
    assert check["checks"][0]["ok"] is False


def test_file_with_errors_is_shown_and_the_others_run(radixkv, folder: Path) -> None:
    (folder / "broken.rkv").write_text("return lost", encoding="utf-8")
    outcome = radixkv("test", "broken.rkv", "good.rkv")
    assert outcome.code == 1
    assert "error[E0301]: unknown name `lost`" in outcome.err
    assert outcome.out.splitlines()[-1] == "1 test: 1 ok, 0 failed, 1 file with errors"
    assert json.loads(radixkv("test", "broken.rkv", "--json").out)["diagnostics"][0]["code"] == "E0301"


def test_imports_data_and_tools_are_looked_up_from_the_program(radixkv, folder: Path) -> None:
    (folder / "inner" / "uses.rkv").write_text(
        'import "bad.rkv" as other\ntool up(q: str) -> str\n'
        'test "t" with mock=["a"] { assert other.ask("x") == "a"\nassert up(read("d.txt")) == "TEXT" }',
        encoding="utf-8",
    )
    (folder / "inner" / "d.txt").write_text("text", encoding="utf-8")
    (folder / "tools.py").write_text(
        "from frontend_lang import tool\n\n\n@tool\ndef up(q):\n    return q.upper()\n", encoding="utf-8"
    )
    outcome = radixkv("test", "inner/uses.rkv", "--tools", "tools.py")
    assert outcome.code == 0, outcome.out
    assert radixkv("test", "inner/uses.rkv", "--tools", "tools.py", "--data", ".").code == 1


def test_live_runs_on_the_model_and_update_records_what_it_gave(radixkv, folder: Path, tiny: list[str]) -> None:
    source = GOOD.replace(' with mock=["yes"]', " with seed=3,  mock = [ ]").replace('== "yes"', '!= ""')
    (folder / "good.rkv").write_text("# kept\n" + source, encoding="utf-8")
    assert radixkv("test", "good.rkv").code == 1
    assert radixkv("test", "good.rkv", "--live", *tiny).code == 0
    assert (folder / "good.rkv").read_text(encoding="utf-8") == "# kept\n" + source
    assert radixkv("test", "good.rkv", "--update", *tiny).code == 0
    after = (folder / "good.rkv").read_text(encoding="utf-8")
    begin, end = source.split("[ ]")
    assert after.startswith("# kept\n" + begin + '["')
    assert after.endswith('"]' + end)
    assert radixkv("test", "good.rkv").code == 0


def test_update_leaves_the_mock_of_a_test_that_failed_and_says_so(radixkv, folder: Path, tiny: list[str]) -> None:
    outcome = radixkv("test", "good.rkv", "--update", *tiny)  # its answer is not what the test wants
    assert outcome.code == 1
    assert (folder / "good.rkv").read_text(encoding="utf-8") == GOOD
    assert "--update: the mock of 'one answer' in good.rkv stays, since it failed" in outcome.err
