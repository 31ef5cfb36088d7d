"""Running the `test` blocks of a program.

    test "longer side wins" with mock=["short", "a longer reply"] { assert debate("x") == "a longer reply" }

A test runs on the scripted runtime, in a fresh context, and may call the defs of its file. Its options:

- `mock`: what the model writes. A list is used up in the order in which gens start; a record gives, for the gens of a
  site (`debate.gen1`) or of a name (`t`), one answer for all of them or a list. An answer that is no text is written as
  compact JSON. What a gen could not have written by its type is an error (E0601).
- `scores`: what select finds. A record of option to score (others lose), or a list of the options to choose, in the
  order in which selects start. By default the first option is the likeliest.
- `tools`: a record of what tools give: one value for every call, or a list for one call after the other.
- `seed`: the seed of the run, 0 by default.

A name that no gen or tool has is an error (E0303). What nobody asks for, items of a list or options of
a record of scores, makes it fail (E0601); live runs do not look at that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

from frontend_lang.api import run_async
from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.tools import declared_tools
from frontend_lang.mocking import KnownNames, Mocks, Recorder
from frontend_lang.modules import Module
from frontend_lang.runtime import Runtime
from frontend_lang.scripted import ScriptedRuntime
from frontend_lang.sources import TextSource
from frontend_lang.syntax import ast
from frontend_lang.tools import HostTools, ToolSet
from frontend_lang.values import Value

_ENTRY, _OPTIONS = "the test", "the options"  # names that no program can write


@dataclass(frozen=True)
class TestOutcome:
    """How one test ended. `error` is what it failed with, `checks` what its `check`s found, `gens` counts generations,
    `written` has their texts in the order of their start, `ms` is wall time.
    """

    __test__: ClassVar[bool] = False  # the name is no invitation to pytest

    title: str
    file: str
    line: int
    error: ProgramError | None
    checks: tuple[Mapping[str, object], ...]
    written: tuple[str, ...]
    ms: float

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return self.error is None and all(check["ok"] for check in self.checks)

    @property
    def gens(self) -> int:
        """Generations that were finished."""
        return len(self.written)


@dataclass(frozen=True)
class TestHost:
    """What tests run with: where data files come from, the host's tools, and a runtime instead of the scripted one."""

    __test__: ClassVar[bool] = False

    data: TextSource | None = None
    tools: HostTools = ()
    live: Runtime | None = None


def find_tests(module: Module, text: str = "") -> list[ast.Test]:
    """The tests of a module whose title contains `text`, whatever its case."""
    tests = (node for node in module.program.statements if isinstance(node, ast.Test))
    return [test for test in tests if text.casefold() in title_of(test).casefold()]


def title_of(test: ast.Test) -> str:
    """The title as text; an expression in it is shown as `@{…}`."""
    return "".join(part if isinstance(part, str) else "@{…}" for part in test.title.parts)


def run_tests(
    module: Module, tests: Sequence[ast.Test] | None = None, host: TestHost | None = None
) -> list[TestOutcome]:
    """`run_tests_async` on an event loop of its own."""
    return asyncio.run(run_tests_async(module, tests, host))


async def run_tests_async(
    module: Module, tests: Sequence[ast.Test] | None = None, host: TestHost | None = None
) -> list[TestOutcome]:
    """Run tests one after the other, by default all of the module. One that fails is an outcome, not an exception."""
    chosen = find_tests(module) if tests is None else tests
    return [await _Case(module, test, host or TestHost()).outcome() for test in chosen]


async def record_async(module: Module, test: ast.Test, host: TestHost) -> tuple[TestOutcome, list[str]]:
    """Run a test on the live runtime of the host; its outcome, and the list that mocks the same run.

    Gens of different branches start on a model in an order of its own. What counts is the order on the scripted
    runtime, so the answers are played to it once; a run that comes out different there keeps the model's order.
    """
    case = _Case(module, test, host)
    outcome = await case.outcome()
    again = _Case(module, test, replace(host, live=None))
    await again.replay(case.recorder.by_seed)
    same = sorted(again.recorder.written) == sorted(outcome.written)
    return outcome, again.recorder.written if same else list(outcome.written)


class _Case:
    """One test. Its body and its options run as defs of its module."""

    def __init__(self, module: Module, test: ast.Test, host: TestHost) -> None:
        self._test = test
        self._host = host
        self.recorder = Recorder()
        entries = (_as_def(_ENTRY, test, test.body), _as_def(_OPTIONS, test, _options_block(test)))
        program = replace(module.program, statements=(*module.program.statements, *entries))
        self._module = Module(program, module.imports, module.schemas)

    async def outcome(self) -> TestOutcome:
        """Run it."""
        started = time.perf_counter()
        error = None
        try:
            mocks = await self._mocks()
            scripted = ScriptedRuntime(mocks.answers(self.recorder), scores=mocks.score_rule())
            await self._run(mocks, self._host.live or scripted)
            if self._host.live is None:
                mocks.check_used(self._test.options)
        except ProgramError as failure:
            failure.file = failure.file or self._module.file
            error = failure
        ms = round((time.perf_counter() - started) * 1e3, 3)
        title, line = title_of(self._test), self._test.span.line
        checks, written = tuple(self.recorder.checks), tuple(self.recorder.written)
        return TestOutcome(title, self._module.file, line, error, checks, written, ms)

    async def replay(self, answers: Mapping[int, str]) -> None:
        """Run the test with answers by the seeds of its gens; how it ends does not matter."""
        with suppress(ProgramError, KeyError):
            mocks = await self._mocks()
            await self._run(
                mocks, ScriptedRuntime(lambda _, call: answers[call.params.seed], scores=mocks.score_rule())
            )

    async def _mocks(self) -> Mocks:
        return Mocks.of(await self._options(), self._test.options, KnownNames.of(self._module))

    async def _options(self) -> Mapping[str, Value]:
        host = self._mocked_tools(Mocks())
        ended = await run_async(self._module, runtime=ScriptedRuntime(), entry=_OPTIONS, seed=0, tools=host)
        return ended.value if isinstance(ended.value, dict) else {}

    async def _run(self, mocks: Mocks, runtime: Runtime) -> None:
        await run_async(
            self._module,
            runtime=runtime,
            entry=_ENTRY,
            seed=mocks.seed,
            on_event=self.recorder,
            data=self._host.data,
            tools=self._mocked_tools(mocks),
        )

    def _mocked_tools(self, mocks: Mocks) -> ToolSet:
        """A tool for every declaration: the test's, else the host's, else one that says that it is missing."""
        given = ToolSet.of(self._host.tools)
        declared = {bound.declaration.name: bound.declaration for bound in declared_tools(self._module)}
        return ToolSet(
            (None if name in mocks.tools else given.get(name)) or mocks.tool(declaration)
            for name, declaration in declared.items()
        )


def _as_def(name: str, test: ast.Test, body: ast.Block) -> ast.Def:
    return ast.Def(name, (), None, body, name_span=test.span, span=test.span)


def _options_block(test: ast.Test) -> ast.Block:
    """`return {mock: …, …}`."""
    fields = tuple(
        ast.RecordField(ast.Template((option.name,), span=option.span), option.value, span=option.span)
        for option in test.options
    )
    record = ast.RecordLiteral(fields, span=test.span)
    return ast.Block((ast.Return(record, span=test.span),), span=test.span)
