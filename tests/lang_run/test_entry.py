"""Entry rules and arguments of a run."""

from __future__ import annotations

import asyncio

import pytest

import frontend_lang
from frontend_lang import ProgramError, ProgramRejected
from frontend_lang.scripted import ScriptedRuntime
from scripted_programs import failure_of, run_on, value_of

DEFS = "def a() -> str { return 'A' }\ndef b() -> str { return 'B' }\n"


def test_top_level_statements_come_first() -> None:
    assert value_of(DEFS + "return 'top'", file="a.rkv") == "top"


def test_then_the_def_named_like_the_file_then_the_only_def() -> None:
    assert value_of(DEFS, file="folder/b.rkv") == "B"
    assert value_of("def one() -> str { return 'x' }", file="other.rkv") == "x"


def test_otherwise_e0306_lists_them_and_entry_chooses() -> None:
    error = failure_of(DEFS, file="other.rkv")
    assert error.code == "E0306"
    assert "a, b" in error.message
    assert value_of(DEFS + "return 'top'", entry="b") == "B"
    assert failure_of(DEFS, entry="c").code == "E0306"


@pytest.mark.parametrize(
    ("declared", "given", "value"),
    [
        ("p: str", "12", "12"),
        ("p: str", '"q"', '"q"'),
        ("p", "12", "12"),
        ("p: int", "12", 12),
        ("p: float", "12", 12.0),
        ("p: bool", "true", True),
        ("p: list[str]", '["a"]', ["a"]),
        ("p: json", '{"a": [1, null]}', {"a": [1, None]}),
        ("p: str | none", "null", None),
        ('p: "a" | "b"', "b", "b"),
        ("p = 3", "12", 12),
        ("p = 'x'", "12", "12"),
        ("p: int", 12, 12),
        ("p: {a: int, b?: str}", {"a": 1}, {"a": 1}),
        ("p: list[int]", (1, 2), [1, 2]),
    ],
)
def test_arguments_are_text_for_str_and_json_for_other_types(declared: str, given: object, value: object) -> None:
    for source in (f"param {declared}\nreturn p", f"def f({declared}) {{ return p }}"):
        result = run_on(ScriptedRuntime(), source, {"p": given}).value
        assert result == value
        assert type(result) is type(value)


@pytest.mark.parametrize(
    ("declared", "given", "code"),
    [
        ("p: int", "x", "E0406"),
        ("p: int", "1.5", "E0402"),
        ("p: list[str]", "[1]", "E0402"),
        ('p: "a" | "b"', "c", "E0402"),
        ("p: {a: int}", '{"a": 1, "b": 2}', "E0402"),
        ("p: json", object(), "E0402"),
        ("p: str", "\ud800", "E0402"),
        ("p: int", "1" * 5000, "E0406"),
        ("p: json", "[" * 100_000, "E0406"),
    ],
)
def test_argument_that_does_not_fit_names_the_parameter(declared: str, given: object, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run_on(ScriptedRuntime(), f"param {declared}\nreturn p", {"p": given})
    assert caught.value.code == code
    assert caught.value.span is not None


def test_missing_and_unknown_arguments_are_named_before_anything_runs() -> None:
    runtime = ScriptedRuntime()
    with pytest.raises(ProgramError, match="`q`") as caught:
        run_on(runtime, "param p = 1\nuser 'x'\ngen a\nparam q", {})
    assert (caught.value.code, caught.value.hint) == ("E0307", 'args={"q": …}')
    with pytest.raises(ProgramError, match="`z`") as caught:
        run_on(runtime, "param p = 1\ngen a", {"z": 1})
    assert caught.value.code == "E0307"
    assert runtime.calls == 0


def test_default_may_use_an_earlier_parameter() -> None:
    assert value_of("param a = 2\nparam b = a + 1\nreturn b") == 3
    assert value_of("def f(a: int = 2, b: int = a + 1) { return b }") == 3


def test_program_that_does_not_pass_the_check_is_rejected_with_all_findings() -> None:
    with pytest.raises(ProgramRejected) as caught:
        frontend_lang.run("let a = lable\nreturn lost", runtime=ScriptedRuntime(), file="x.rkv")
    assert caught.value.code == "E0301"
    assert caught.value.span is not None
    assert (caught.value.file, caught.value.span.line) == ("x.rkv", 1)
    assert len(caught.value.diagnostics) == 2


def test_sync_run_inside_a_running_loop_is_e0810() -> None:
    async def inside() -> None:
        frontend_lang.run("return 1", runtime=ScriptedRuntime())

    with pytest.raises(ProgramError, match="run_async") as caught:
        asyncio.run(inside())
    assert caught.value.code == "E0810"


def test_result_is_the_object_of_run_json() -> None:
    result = frontend_lang.run('gen a\nreturn [float("nan"), a]', runtime=ScriptedRuntime(["x"]), seed=7)
    shown = result.to_dict()
    assert list(shown) == ["value", "vars", "usage", "timing", "checks", "seed", "deterministic", "model"]
    assert (shown["value"], shown["vars"], shown["seed"]) == ([None, "x"], {"a": "x"}, 7)
    assert (shown["model"], shown["deterministic"], shown["checks"]) == ("scripted", True, [])
    assert result.timing.wall_s >= (result.timing.ttft_s or 0) > 0


def test_import_of_the_package_is_cheap() -> None:
    import subprocess
    import sys

    code = "import sys, frontend_lang; print('lark' in sys.modules, 'asyncio' in sys.modules, 'torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["False", "False", "False"]


@pytest.mark.parametrize(
    ("declared", "given", "message"),
    [
        ("p: int", '"a"', 'parameter `p` is declared int, found str "a"'),
        ("p: list[int]", '[1, "a"]', 'parameter `p` is declared list[int]; [1]: int, found str "a"'),
        ("p: int", [0.5] * 100, "parameter `p` is declared int, found list [0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.…"),
        ("p: int", "null", "parameter `p` is declared int, found none"),
        ("p: int", float("nan"), "parameter `p` is declared int, found float nan"),
    ],
)
def test_a_misfit_is_said_once_and_shows_the_value(declared: str, given: object, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run_on(ScriptedRuntime(), f"param {declared}\nreturn p", {"p": given})
    assert caught.value.message == message
