"""`radixkv explain` and `radixkv trace` as a person types them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from radixkv.cli.terminal import terminal_width

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "examples" / "demo.trace.jsonl"
SOLVE = 'user "@{q} ??"\nreturn fork 8 with temp=0.8 { assistant gen a with max=6; yield a } join vote'
PROGRAM = "param q: str\n" + SOLVE


@pytest.fixture
def model(tiny_llama: Path) -> list[str]:
    return ["--model", str(tiny_llama)]


def test_explain_shows_rows_and_totals(radixkv, model: list[str]) -> None:
    outcome = radixkv("explain", "-c", PROGRAM, "-a", "q=17*23", *model)
    assert outcome.code == 0, outcome.err
    head, *rows = outcome.out.splitlines()
    assert head.split() == ["site", "op", "path", "prefix", "new", "shared", "with", "note"]
    assert [row.split()[0] for row in rows[:4]] == ["-", "fork1", "gen1", "fork1"]
    assert "8× gen a max=6" in rows[2]
    assert "KV peak" in rows[4]


def test_explain_loads_no_weights(radixkv, tiny_llama: Path, tmp_path: Path) -> None:
    folder = tmp_path / "no-weights"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((tiny_llama / name).read_bytes())
    (folder / "model.safetensors").write_bytes(b"no weights at all")
    assert radixkv("explain", "-c", PROGRAM, "--model", str(folder)).code == 0


def test_explain_json_is_the_plan(radixkv, model: list[str]) -> None:
    outcome = radixkv("explain", "-c", PROGRAM, "--json", *model)
    plan = json.loads(outcome.out)
    assert set(plan) == {"sites", "totals", "missing", "warnings"}
    assert plan["missing"] == ["q"]
    assert plan["totals"]["decode"] == {"count": 48, "certainty": "bound"}


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_lines_of_a_plan_fit_the_terminal(radixkv, model: list[str], monkeypatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    outcome = radixkv("explain", "-c", PROGRAM, "-a", "q=日本", *model, terminal=True)
    assert outcome.code == 0, outcome.err
    assert max(map(cell_len, outcome.out.splitlines())) <= columns


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (["-a", "nope=1"], 2, "E0307"),
        (["--entry", "nope"], 2, "E0306"),
        (["-c", "gen"], 1, "E0"),
        (["--data", "nowhere"], 2, "--data"),
    ],
)
def test_what_does_not_fit_is_an_error(radixkv, model: list[str], arguments: list[str], code: int, what: str) -> None:
    given = arguments if "-c" in arguments else ["-c", PROGRAM, *arguments]
    outcome = radixkv("explain", *given, *model)
    assert outcome.code == code
    assert what in outcome.err


def test_trace_shows_a_line_per_branch(radixkv) -> None:
    outcome = radixkv("trace", str(TRACE))
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert "seed 7 · ok" in lines[0]
    names = [line.split()[0] for line in lines[2:11]]
    assert names == [
        "main", "main[0]", "main[0].charm", "main[1]", "main[1].charm", "main[2]", "main[2].charm", "main[sunny]",
        "main[strange]",
    ]  # fmt: skip
    assert sum(" won " in line for line in lines) == 1
    assert "5 gens, 4 selects · 5 branches" in outcome.out
    assert "\x1b" not in outcome.out


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lines_of_a_trace_fit_the_terminal(radixkv, monkeypatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", radixkv("trace", str(TRACE), terminal=True).out)
    assert max(map(cell_len, shown.splitlines())) <= columns


def test_trace_json_and_page(radixkv, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    outcome = radixkv("trace", str(TRACE), "--json", "--html", str(page))
    summary = json.loads(outcome.out)["runs"][0]
    assert (summary["gens"], summary["branches"], summary["status"]) == (5, 5, "ok")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_control_characters_in_a_trace_cannot_move_the_cursor(radixkv, tmp_path: Path) -> None:
    lines = TRACE.read_text(encoding="utf-8").replace('"charm.select1"', '"\\u001b[2J"')
    hostile = tmp_path / "hostile.jsonl"
    hostile.write_text(lines.replace("smollm2", "\\u001b]0;owned\\u0007"), encoding="utf-8")
    assert "\x1b]0;" not in radixkv("trace", str(hostile), terminal=True).out


@pytest.mark.parametrize(("text", "line"), [("", 1), ("not a trace\n", 1), ('{"seq": 0}\n', 1)])
def test_a_file_that_is_no_trace_fails_with_its_line(radixkv, tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(text)
    outcome = radixkv("trace", str(file))
    assert outcome.code == 1
    assert f"t.jsonl:{line}:" in outcome.err


def test_a_trace_that_is_not_there_is_a_usage_error(radixkv) -> None:
    assert radixkv("trace", "nowhere.jsonl").code == 2


def test_a_run_is_traced_and_replayed_without_a_model(radixkv, tiny: list[str], tmp_path: Path) -> None:
    program, trace = tmp_path / "program.rkv", tmp_path / "t.jsonl"
    program.write_text(PROGRAM)
    first = radixkv("run", str(program), "-a", "q=1", "--json", "--trace", str(trace), *tiny)
    assert first.code == 0, first.err
    again = radixkv("trace", str(trace), "--replay", str(program), "-a", "q=1", "--json")
    assert again.code == 0, again.err
    replay, recorded = json.loads(again.out)["replay"], json.loads(first.out)
    assert (replay["same"], replay["value"], replay["vars"]) == (True, recorded["value"], recorded["vars"])
    missing = radixkv("trace", str(trace), "--replay", str(program))
    assert (missing.code, "-a q=…" in missing.err) == (2, True)
    other = radixkv("trace", str(trace), "--replay", str(program), "-a", "q=2")
    assert other.code == 1
    assert "main: the text differs" in other.err


def test_the_width_of_a_pipe_is_not_known(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as stream:
        assert terminal_width(stream) is None


def documented(command: str) -> str:
    """The output that docs/command-line.md shows for a command."""
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    return text.split(f"$ radixkv {command}\n", 1)[1].split("```", 1)[0]


@pytest.mark.parametrize(
    "command",
    ["trace examples/demo.trace.jsonl", pytest.param("explain examples/demo.rkv", marks=pytest.mark.model)],
)
def test_outputs_in_the_documentation_are_real(radixkv, monkeypatch, command: str) -> None:
    monkeypatch.chdir(ROOT)
    assert radixkv(*command.split()).out == documented(command)
