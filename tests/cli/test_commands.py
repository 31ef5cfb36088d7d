"""The commands as a user types them, on a tiny model: results, JSON forms, exit codes, errors that teach."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from radixkv import __version__
from radixkv.engine.machine import usable_cores
from radixkv.models import ModelFiles

FORK = 'param topic: str\nuser "On @{topic}"\nlet a = fork 3 { assistant gen t with max=4 } join all\nreturn a'


def test_run_prints_the_value_plain_when_piped(radixkv, tiny) -> None:
    outcome = radixkv("run", "-c", FORK, "-a", "topic=tea", "--seed", "3", *tiny)
    assert outcome.code == 0, outcome.err
    assert len(json.loads(outcome.out)) == 3


def test_run_json_has_the_documented_form(radixkv, tiny) -> None:
    outcome = radixkv("run", "-c", FORK, "-a", "topic=tea", "--seed", "3", "--json", *tiny)
    result = json.loads(outcome.out)
    assert set(result) == {"value", "vars", "usage", "timing", "checks", "seed", "deterministic", "model"}
    usage = result["usage"]
    assert usage["prompt_tokens"] == usage["cached_tokens"] + usage["computed_tokens"] + usage["restored_tokens"]
    assert usage["forks"] == 3
    assert result["seed"] == 3


def test_run_is_the_same_for_the_same_seed(radixkv, tiny) -> None:
    first, second = (radixkv("run", "-c", FORK, "-a", "topic=tea", "--seed", "3", *tiny).out for _ in range(2))
    assert first == second


def test_run_shows_variables_when_a_program_returns_nothing(radixkv, tiny) -> None:
    outcome = radixkv("run", "-c", "user: Hi\nassistant gen reply with max=4, temp=0", *tiny)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("reply: ")


def test_run_reads_an_argument_from_a_file(radixkv, tiny, tmp_path: Path) -> None:
    path = tmp_path / "essay.txt"
    path.write_text('Braces {x} and "quotes" and <|im_end|>', encoding="utf-8")
    outcome = radixkv("run", "-c", "param essay: str\nreturn essay", "-a", f"essay=@{path}", *tiny)
    assert outcome.out.rstrip("\n") == path.read_text(encoding="utf-8")


def test_run_writes_a_trace_of_json_lines(radixkv, tiny, tiny_llama: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    radixkv("run", "-c", FORK, "-a", "topic=tea", "--seed", "3", "--trace", str(trace), *tiny)
    events = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    assert [event["seq"] for event in events] == list(range(len(events)))
    start = events[0]
    assert start["event"] == "run.start"
    assert (start["version"], start["model"], start["seed"]) == (__version__, tiny_llama.name, 3)
    assert len(start["namespace"]) == 64, "the digest of the weights"
    assert events[-1]["event"] == "run.end"
    ends = [event for event in events if event["event"] == "gen.end"]
    assert len(ends) == 3
    assert all(isinstance(event["token_ids"], list) for event in ends)


def test_run_reports_all_errors_of_a_program_without_loading_a_model(radixkv) -> None:
    outcome = radixkv("run", "-c", "let a = b\nlet c = d", "--model", "no-such-model")
    assert outcome.code == 1
    assert outcome.err.count("E0301") == 2
    assert "-->" in outcome.err


def test_run_says_how_many_errors_it_does_not_show(radixkv) -> None:
    outcome = radixkv("run", "-c", "\n".join(f"let a{number} = nowhere" for number in range(50)))
    assert outcome.err.count("E0301") == 20
    assert "30 more errors not shown" in outcome.err


def test_run_json_error_carries_diagnostics(radixkv) -> None:
    outcome = radixkv("run", "-c", "let a = b", "--json")
    report = json.loads(outcome.out)
    assert outcome.code == 1
    assert report["error"]["code"] == "E0301"
    (diagnostic,) = report["diagnostics"]
    assert {"code", "severity", "message", "file", "line", "col", "end_line", "end_col", "hint"} == set(diagnostic)


def test_run_shows_where_a_running_program_failed(radixkv, tiny) -> None:
    outcome = radixkv("run", "-c", "let a = [1]\nreturn a[5]", *tiny)
    assert outcome.code == 1
    assert "error[E04" in outcome.err
    assert "<command line>:2:" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["-a", "essay"], "name=value"),
        (["-a", "essay=@/no/such/file"], "/no/such/file"),
        (["-a", "a=1", "-a", "a=2"], "twice"),
        (["--kv-memory", "lots"], "size"),
        (["--dtype", "float8"], "--dtype"),
    ],
)
def test_wrong_arguments_are_usage_errors_that_name_the_argument(radixkv, arguments: list[str], named: str) -> None:
    outcome = radixkv("run", "-c", "return 1", *arguments)
    assert outcome.code == 2
    assert named in outcome.err
    assert "Traceback" not in outcome.err


def test_a_missing_program_file_is_named(radixkv) -> None:
    outcome = radixkv("run", "no-such.rkv")
    assert (outcome.code, "no-such.rkv" in outcome.err) == (2, True)


def test_an_unknown_model_says_what_would_be_one(radixkv) -> None:
    outcome = radixkv("generate", "Hi", "--model", "no-such-model")
    assert outcome.code == 1
    assert "no-such-model" in outcome.err
    assert "smollm2" in outcome.err


def test_generate_streams_text_and_ends_with_a_newline(radixkv, tiny) -> None:
    outcome = radixkv("generate", "Hello", "--max-tokens", "8", *tiny)
    assert outcome.code == 0, outcome.err
    assert outcome.out.endswith("\n")
    assert len(outcome.out) > 1


def test_generate_json_has_the_documented_form(radixkv, tiny) -> None:
    outcome = radixkv(
        "generate", "Hello", "--max-tokens", "8", "--n", "2", "--temperature", "1", "--seed", "5", "--json", *tiny
    )
    result = json.loads(outcome.out)
    assert set(result) == {"text", "usage", "timing", "finish_reason", "model", "seed", "choices"}
    assert result["choices"][0]["text"] == result["text"]
    assert len(result["choices"]) == 2


def test_generate_refuses_a_bad_value_by_name(radixkv, tiny) -> None:
    outcome = radixkv("generate", "Hello", "--top-p", "1.5", *tiny)
    assert outcome.code == 2
    assert "top_p" in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "-c", "return 1", "--deterministic"],
        ["run", "-c", "return 1", "--weights", "int8"],
    ],
)
def test_what_a_later_version_will_have_is_refused_by_name(radixkv, tiny, arguments: list[str]) -> None:
    option = next(word for word in arguments if word.startswith("--"))
    outcome = radixkv(*arguments, *tiny)
    assert outcome.code == 2
    assert option.removeprefix("--") in outcome.err
    assert "not in this version" in outcome.err
    report = json.loads(radixkv(*arguments, "--json", *tiny).out)
    assert report["error"]["type"] == "not_in_this_version"


def test_news_of_a_first_use_reach_stderr_and_stdout_stays_clean(radixkv, tiny, monkeypatch, tiny_llama: Path) -> None:
    from radixkv.engine import startup

    files = startup.locate_model(str(tiny_llama))

    def fetch(_name: str, *, progress: Callable[[str], None]) -> ModelFiles:
        progress("fetching a model (98 MB)")
        return files

    monkeypatch.setattr(startup, "locate_model", fetch)
    outcome = radixkv("run", "-c", "return 1", *tiny)
    assert (outcome.code, outcome.out) == (0, "1\n")
    assert outcome.err.splitlines()[0] == "fetching a model (98 MB)"


def test_a_capped_context_is_said(radixkv, tiny) -> None:
    outcome = radixkv("run", "-c", "return 1", *tiny, "--kv-memory", "64KiB")
    assert (outcome.code, outcome.out) == (0, "1\n")
    assert "context capped to 128 tokens" in outcome.err
    assert "--kv-memory" in outcome.err


def test_a_pipe_gets_the_text_alone(radixkv, tiny) -> None:
    outcome = radixkv("generate", "Hello", "--max-tokens", "4", "--temperature", "1", *tiny)
    assert "seed" not in outcome.out + outcome.err


def test_settings_come_from_environment_and_file_and_flags_win(
    radixkv, tiny_llama: Path, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "radixkv.toml").write_text('dtype = "float32"\nkv-memory = "4MiB"\nmodel = "from-file"\n')
    assert "from-file" in radixkv("generate", "Hi").err
    monkeypatch.setenv("RADIXKV_MODEL", "from-environment")
    assert "from-environment" in radixkv("generate", "Hi").err
    assert radixkv("generate", "Hi", "--max-tokens", "2", "--model", str(tiny_llama)).code == 0


def test_an_unknown_setting_in_the_file_is_named(radixkv, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "radixkv.toml").write_text("modle = 'x'\n")
    outcome = radixkv("generate", "Hi")
    assert outcome.code == 1
    assert "modle" in outcome.err


def test_check_passes_a_good_program_with_its_worst_case(radixkv) -> None:
    outcome = radixkv("check", "-c", FORK, "--json")
    report = json.loads(outcome.out)
    assert outcome.code == 0
    assert report["ok"] is True
    assert report["worst_case"] == {"branches": 3, "tokens": 12}


def test_check_fails_with_a_caret(radixkv) -> None:
    outcome = radixkv("check", "-c", "let label = 1\nreturn lable")
    assert outcome.code == 1
    assert "did you mean `label`" in outcome.err
    assert "^^^^^" in outcome.err


def test_doctor_reports_backend_native_module_and_threads(radixkv) -> None:
    report = json.loads(radixkv("doctor", "--json").out)
    assert report["engine"]["attention backend"] == "cpu"
    assert report["engine"]["native module"] == "built"
    assert report["engine"]["threads"] == report["machine"]["cores for this process"] == usable_cores()
    assert report["versions"]["torch"].startswith("2.")


def test_doctor_shows_what_an_engine_with_these_settings_would_pick(radixkv, tiny) -> None:
    engine = json.loads(radixkv("doctor", "--json", "--kv-format", "bf16", "--threads", "1", *tiny).out)["engine"]
    assert (engine["compute type"], engine["kv format"], engine["threads"]) == ("float32", "bf16", 1)
    refused = json.loads(radixkv("doctor", "--json", "--kv-format", "fp8_e4m3", *tiny).out)["engine"]
    assert "What works: KV format fp32, bf16, fp16" in refused["attention backend"]


def test_doctor_without_the_model_fetches_nothing(radixkv, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("RADIXKV_CACHE", str(tmp_path))
    engine = json.loads(radixkv("doctor", "--json").out)["engine"]
    assert engine["attention backend"] == "cpu"
    assert engine["for"] == "any model (smollm2 is not here)"
    assert not list(tmp_path.iterdir())


def test_models_lists_the_default(radixkv) -> None:
    report = json.loads(radixkv("models", "--json").out)
    assert report["models"][0]["name"] == "smollm2"


def test_generate_makes_the_text_match(radixkv, tiny, tmp_path) -> None:
    assert re.fullmatch("[ab]{3}-[0-9]", radixkv("generate", "Hi", "--regex", "[ab]{3}-[0-9]", *tiny).out.strip())
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2}', encoding="utf-8")
    for given in (str(schema), schema.read_text(encoding="utf-8")):
        values = json.loads(radixkv("generate", "Hi", "--json-schema", given, *tiny).out)
        assert [type(value) for value in values] == [bool, bool]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--regex", "(a"], "character 1"),
        (["--json-schema", '{"properties": {"a": {"not": {}}}}'], "`not` at #/properties/a"),
        (["--json-schema", '{"type":'], "line 1, column 9"),
        (["--json-schema", "no-such-file"], "'no-such-file' is neither JSON nor a file"),
        (["--json-schema", "[1]"], "expected an object, true or false, found [1]"),
        (["--json-schema", "3"], "expected an object, true or false, found 3"),
        (["--json-schema", "false"], "`false` allows no value"),
        (["--regex", "a", "--json-schema", "{}"], "only one"),
    ],
)
def test_r136_generate_refuses_a_bad_constraint_by_keyword_or_place(
    radixkv, tiny, arguments: list[str], words: str
) -> None:
    outcome = radixkv("generate", "Hi", *arguments, *tiny)
    assert outcome.code == 2
    assert words in outcome.err
    assert not outcome.out
