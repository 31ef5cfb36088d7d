"""Errors cross processes, as `multiprocessing.Pool` sends them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import frontend_lang
from frontend_lang import Fail, ProgramError, ProgramRejected, ScriptedRuntime, prompt
from frontend_lang.runtime import RuntimeFailure
from frontend_lang.syntax import ast


def raised(call: Callable[[], Any]) -> Exception:
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def fails(s: Any) -> None:
    raise Fail("not today")


ERRORS: dict[str, Callable[[], Exception]] = {
    "bare": lambda: ProgramError("E0402", "wrong", "right"),
    "placed": lambda: ProgramError("E0402", "wrong", "right").at(ast.Span(1, 2, 3, 4, 5, 6), "f.rkv", "main.fork[0]"),
    "of a run": lambda: raised(lambda: frontend_lang.run('let a = 1\nfail "no"', runtime=ScriptedRuntime())),
    "rejected": lambda: raised(lambda: frontend_lang.run("return x", runtime=ScriptedRuntime())),
    "of a prompt": lambda: raised(lambda: prompt(fails)(runtime=ScriptedRuntime())),
    "of a runtime": lambda: RuntimeFailure("E0803", "late"),
}


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_an_error_survives_with_all_that_it_says(name: str, again: Callable[[Exception], Exception]) -> None:
    error = ERRORS[name]()
    found = again(error)
    assert type(found) is type(error)
    assert (str(found), found.args) == (str(error), error.args)
    for attribute in ("code", "message", "hint", "span", "file", "path", "diagnostics", "sources"):
        assert getattr(found, attribute, None) == getattr(error, attribute, None)
    assert pickle.loads(pickle.dumps(found)).args == error.args


def test_a_note_survives_too() -> None:
    error = ProgramRejected([raised_diagnostic()])
    error.add_note("in the third row")
    found = pickle.loads(pickle.dumps(error))
    assert found.__notes__ == ["in the third row"]
    assert found.diagnostics == error.diagnostics


def raised_diagnostic() -> Any:
    error = raised(lambda: frontend_lang.run("return x", runtime=ScriptedRuntime()))
    assert isinstance(error, ProgramRejected)
    return error.diagnostics[0]
