"""Mistakes of a user or of the environment end in words, never in a traceback, and before a model is loaded."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

START = [sys.executable, "-c", "from radixkv.cli.main import main; main()"]


@pytest.mark.parametrize(
    ("line", "expected", "found"),
    [
        ("max_context = [1]", "a whole number", "[1] (list)"),
        ("max_context = {a=1}", "a whole number", "(dict)"),
        ("prefix_cache = 7", "true or false", "7 (int)"),
        ("block_size = 1e400", "a whole number", "inf (float)"),
        ("threads = 1.5", "a whole number", "1.5 (float)"),
        ("threads = true", "a whole number", "True (bool)"),
        ('model = ""', "text", "an empty text"),
    ],
)
def test_a_wrong_value_in_the_settings_file_is_named(
    radixkv, tmp_path: Path, monkeypatch, line: str, expected: str, found: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "radixkv.toml").write_text(line)
    outcome = radixkv("generate", "Hi", "--json")
    message = json.loads(outcome.out)["error"]["message"]
    assert outcome.code == 1
    for part in ("radixkv.toml", line.split()[0], f"expected {expected}", found):
        assert part in message


def test_a_bad_settings_file_stops_only_what_needs_it(radixkv, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "radixkv.toml").write_text("threads = [")
    assert radixkv("--version").code == 0
    assert radixkv("check", "-c", "return 1").code == 0
    assert radixkv("generate", "--help").code == 0
    doctor = radixkv("doctor", "--json")
    assert doctor.code == 0
    assert "not a TOML file" in json.loads(doctor.out)["settings file"]["problem"]
    assert radixkv("generate", "Hi").code == 1


def test_an_error_caused_by_the_settings_file_names_it(radixkv, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "radixkv.toml").write_text('model = "no-such-model"')
    assert "settings from radixkv.toml: model" in radixkv("generate", "Hi").err


@pytest.mark.parametrize("arguments", [["generate"], ["run", "-"]])
def test_stdin_that_is_no_text_is_a_usage_error(radixkv, monkeypatch, arguments: list[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ab\xff")))
    outcome = radixkv(*arguments)
    assert (outcome.code, "not UTF-8 text (byte 2)" in outcome.err) == (2, True)


def test_arguments_are_checked_before_a_model_is_loaded(radixkv) -> None:
    program = ["run", "-c", "param x: str", "--model", "no-such-model"]
    outcome = radixkv(*program, "-a", "y=1")
    assert outcome.code == 2
    assert "error[E0307]: missing arguments: `x`; unknown arguments: `y`" in outcome.err
    assert "-a x=…" in outcome.err
    assert radixkv(*program, "-a", "x=1", "--entry", "q").code == 2


def test_an_at_sign_is_escaped_by_another(radixkv, tiny) -> None:
    assert radixkv("run", "-c", "param m: str\nreturn m", "-a", "m=@@alice", *tiny).out == "@alice\n"


def test_a_run_time_error_has_a_plain_message_in_json(radixkv, tiny) -> None:
    report = json.loads(radixkv("run", "-c", "let a = [1]\nreturn a[5]", "--json", *tiny).out)
    assert "\n" not in report["error"]["message"]
    assert report["diagnostics"][0]["line"] == 2


@pytest.mark.parametrize("command", ["check", "test", "run", "fmt"])
def test_a_file_that_cannot_be_read_does_not_send_to_the_help(radixkv, tmp_path: Path, command: str) -> None:
    (tmp_path / "e8.rkv").write_bytes(b"user: caf\xe9")
    for name in ("e8.rkv", "none.rkv"):
        outcome = radixkv(command, str(tmp_path / name))
        assert (outcome.code, "--help" in outcome.err) == (2, False)


def test_the_bare_command_prints_its_help(radixkv) -> None:
    outcome = radixkv()
    assert outcome.code == 2
    assert outcome.err.startswith("Usage: radixkv")
    assert "doctor" in outcome.err.splitlines()[-1]


def test_logprobs_without_json_are_refused(radixkv) -> None:
    outcome = radixkv("generate", "Hi", "--logprobs", "2")
    assert (outcome.code, "--json" in outcome.err) == (2, True)


@pytest.mark.parametrize(("error", "said"), [(MemoryError(), "--kv-memory"), (ZeroDivisionError("no"), "unexpected")])
def test_an_unforeseen_error_is_one_line_or_one_object(radixkv, monkeypatch, error: Exception, said: str) -> None:
    from radixkv.engine import Engine

    def fail(*_arguments: object, **_options: object) -> Engine:
        raise error

    monkeypatch.setattr(Engine, "start", fail)
    outcome = radixkv("generate", "Hi")
    assert (outcome.code, outcome.err.count("\n"), said in outcome.err) == (1, 1, True)
    assert said in json.loads(radixkv("generate", "Hi", "--json").out)["error"]["message"]
    assert "Traceback" in radixkv("generate", "Hi", "--log-level", "debug").err


@pytest.mark.processes
def test_a_stream_of_another_encoding_gets_through(tiny) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    command = [*START, "run", "-c", 'return "\U0001f389"', *tiny]
    for extra, shown in ((["--json"], '"\\ud83c\\udf89"'), ([], "\\U0001f389")):
        done = subprocess.run([*command, *extra], env=environment, capture_output=True, text=True, check=True)
        assert shown in done.stdout


@pytest.mark.processes
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_comes_through_while_the_model_loads(number: signal.Signals, code: int) -> None:
    slow = (
        "import sys, time; from radixkv.engine import Engine\n"
        "def start(*a, **k): print('loading', flush=True); time.sleep(60)\n"
        "Engine.start = start\nfrom radixkv.cli.main import main; main()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", slow, "generate", "Hi"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "loading\n"
    begin = time.monotonic()
    child.send_signal(number)
    _, errors = child.communicate(timeout=30)
    assert (child.returncode, "Traceback" in errors) == (code, False)
    assert time.monotonic() - begin < 30


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_interpreter_is_taken_down_leaves_the_exit_code(number: signal.Signals) -> None:
    slow_end = (
        "import sys, time\n"
        "class Slow:\n"
        "    def __del__(self, sleep=time.sleep, out=sys.stdout):\n"
        "        print('down', file=out, flush=True); sleep(1)\n"
        "slow = Slow()\n"
        "from radixkv.cli.main import main; main()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", slow_end, "check", "-c", "return lost"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert any(line == b"down\n" for line in child.stdout)
    child.send_signal(number)
    child.communicate(timeout=30)
    assert child.returncode == 1


@pytest.mark.processes
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_that_a_library_swallows_while_it_is_imported_is_heeded(
    number: signal.Signals, code: int, tiny: list[str]
) -> None:
    """torch looks for numpy when it is imported, and drops whatever error that ends with."""
    meddling = (
        "import os, sys\n"
        "class Meddler:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numpy.linalg':\n"
        "            sys.meta_path.remove(self)\n"
        f"            os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Meddler())\n"
        "from radixkv.cli.main import main; main()"
    )
    program = "user { repeat 1000 { 'x'; gen t with max=4000 } }"
    command = [sys.executable, "-c", meddling, "run", "-c", program, *tiny]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
