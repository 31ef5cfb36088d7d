"""Running small programs on the scripted runtime, with the leak check that every test wants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from frontend_lang import ProgramError, RunResult, run
from frontend_lang.scripted import ScriptedRuntime
from frontend_lang.syntax import ast
from frontend_lang.syntax.parser import parse


def parsed(source: str, file: str = "program.rkv") -> ast.Program:
    """A program that has been parsed but not checked, so that run-time errors can be provoked."""
    result = parse(source, file)
    assert result.program is not None, result.diagnostics
    return result.program


def run_on(
    runtime: ScriptedRuntime,
    source: str,
    args: Mapping[str, object] | None = None,
    *,
    file: str = "program.rkv",
    **settings: Any,
) -> RunResult:
    """Run on a runtime and assert that no context is left."""
    try:
        return run(parsed(source, file), args, runtime=runtime, **settings)
    finally:
        assert runtime.live == 0


def value_of(source: str, answers: Any = (), *, scores: Any = None, **settings: Any) -> Any:
    """The value that a program returns."""
    return run_on(ScriptedRuntime(answers, scores=scores), source, **settings).value


def failure_of(source: str, answers: Any = (), **settings: Any) -> ProgramError:
    """The error that a program ends with; it has a place."""
    with pytest.raises(ProgramError) as caught:
        run_on(ScriptedRuntime(answers), source, **settings)
    return caught.value
