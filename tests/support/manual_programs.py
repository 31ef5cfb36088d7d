"""Programs in documents, and what running them has to give.

A block of a program is preceded by a comment that readers do not see:

    <!-- run {"mock": ["Oslo"], "args": {"city": "Oslo"}, "value": "Oslo"} -->

`mock`, `scores` and `tools` are those of `test` blocks, `args`, `entry` and `seed` those of a run. What is expected is
`value`, `emits`, `checks`, `error` (the code that the run ends with), `warnings` or `rejected` (codes of the check).
`<!-- file NAME -->` before a block of any language gives its text to all programs of the document as a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frontend_lang.api import load, run
from frontend_lang.checking import check_source
from frontend_lang.errors import ProgramError
from frontend_lang.events import Event
from frontend_lang.interpreter.tools import declared_tools
from frontend_lang.mocking import Mocks, Recorder
from frontend_lang.modules import Module
from frontend_lang.result import RunResult
from frontend_lang.scripted import ScriptedRuntime
from frontend_lang.sources import MappingSource
from frontend_lang.testing import TestHost, run_tests
from frontend_lang.tools import ToolSet

_PROGRAM = re.compile(r"(?:^<!-- run (\{[^\n]*\}) -->\n)?(?:^<!-- file [^\n]*-->\n)?^```rkv\n(.*?)^```", re.S | re.M)
_FILE = re.compile(r"^<!-- file (\S+) -->\n```\w*\n(.*?)^```", re.S | re.M)
OUTCOMES = ("value", "emits", "checks", "error", "rejected")


@dataclass(frozen=True)
class ManualProgram:
    """A program, the line of the document at which it begins, how to run it and what is expected (see above)."""

    source: str
    line: int
    told: Mapping[str, Any]
    files: MappingSource

    def __str__(self) -> str:
        return f"line{self.line}"


def manual_programs(document: Path) -> list[ManualProgram]:
    """All programs of a document."""
    text = document.read_text("utf-8")
    files = MappingSource(dict(_FILE.findall(text)))
    return [
        ManualProgram(found[2], text[: found.start(2)].count("\n") + 1, json.loads(found[1] or "{}"), files)
        for found in _PROGRAM.finditer(text)
    ]


def assert_as_told(program: ManualProgram) -> None:
    """Check and run a program, and its tests: all that the document says of it holds."""
    told = program.told
    assert any(outcome in told for outcome in OUTCOMES), "nothing is said of what this program gives"
    found = check_source(program.source, modules=program.files, entry=told.get("entry")).diagnostics
    assert [note.code for note in found] == told.get("rejected", told.get("warnings", []))
    if "rejected" in told:
        return
    module = load(program.source, entry=told.get("entry"), modules=program.files)
    assert [test.error for test in run_tests(module, host=TestHost(program.files)) if not test.ok] == []
    if "error" in told:
        assert _code_of_failing(program, module) == told["error"]
    else:
        _assert_result(program, module)


def _code_of_failing(program: ManualProgram, module: Module) -> str | None:
    try:
        _run(program, module, [])
    except ProgramError as error:
        return error.code
    return None


def _assert_result(program: ManualProgram, module: Module) -> None:
    emitted: list[object] = []
    result = _run(program, module, emitted)
    assert result.value == program.told.get("value")
    assert emitted == program.told.get("emits", [])
    assert [check["ok"] for check in result.checks] == program.told.get("checks", [])


def _run(program: ManualProgram, module: Module, emitted: list[object]) -> RunResult:
    told, recorder = program.told, Recorder()
    mocks = Mocks(**{name: told[name] for name in ("mock", "scores", "tools") if name in told})
    runtime = ScriptedRuntime(mocks.answers(recorder), scores=mocks.score_rule())

    def listen(event: Event) -> None:
        recorder(event)
        if event.event == "emit":
            emitted.append(event.data["value"])

    tools = ToolSet(mocks.tool(bound.declaration) for bound in declared_tools(module))
    settings = {name: told.get(name) for name in ("args", "entry", "seed")}
    try:
        return run(module, runtime=runtime, on_event=listen, data=program.files, tools=tools, **settings)
    finally:
        assert runtime.live == 0
