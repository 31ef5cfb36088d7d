"""Text programs as Python modules: `mod = load("solve.rkv")`, then `mod.solve("17 * 23?")`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from frontend_lang.api import ProgramRejected
from frontend_lang.checking import check_source
from frontend_lang.interpreter.entry import Inputs, parameters
from frontend_lang.interpreter.execution import Execution, Here
from frontend_lang.interpreter.tools import provided_tools
from frontend_lang.modules import Module
from frontend_lang.performing import RunSettings, Work
from frontend_lang.python_api.arguments import bound_arguments
from frontend_lang.python_api.plain import plain_value
from frontend_lang.python_api.prompts import Runnable
from frontend_lang.python_api.runtimes import RunOptions
from frontend_lang.python_api.scopes import Scope
from frontend_lang.python_api.settling import settled
from frontend_lang.running.run import Run
from frontend_lang.seeds import Place
from frontend_lang.sources import FolderSource, TextSource
from frontend_lang.syntax import ast
from frontend_lang.tools import HostTools, ToolSet


class TextPrompt(Runnable[..., Any]):
    """A def of a text program, or its top level. Arguments are the values that they are.

    Called within the body of a prompt it is a part of that run, with the files and tools of its own module.
    """

    def __init__(self, module: ProgramModule, entry: ast.Def | None) -> None:
        self._module = module
        self._entry = entry
        self.name = Path(module.module.file).stem if entry is None else entry.name
        self.__name__ = self.name
        self.__signature__ = _signature(module.module, entry)
        self.__doc__ = f"{self.name}{self.__signature__} of {module.module.file}"

    def __repr__(self) -> str:
        return f"<{self.__doc__}>"

    def _check(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        self._bound(arguments, named)

    def _bound(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        return bound_arguments(self.name, self.__signature__, arguments, named)

    def _settings(self, options: RunOptions) -> RunSettings:
        module = self._module
        data = module.data if options.data is None else options.data
        tools = provided_tools(module.module, module.tools)
        return RunSettings(options.chosen_runtime, options.seed, options.limits, options.on_event, data, tools)

    def _work(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Work:
        given = self._bound(arguments, named)
        return lambda run: self._execution(run, given).finish(self._entry_name)

    async def _within(self, caller: Scope, place: Place, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        module = self._module
        given = await settled(self._bound(arguments, named))
        tools = provided_tools(module.module, module.tools)
        here = Here(caller.strand, place, f"{caller.path}.{self.name}", caller.depth + 1)
        return await self._execution(caller.run, given, module.data, tools).within(self._entry_name, here)

    @property
    def _entry_name(self) -> str | None:
        return None if self._entry is None else self._entry.name

    def _execution(
        self, run: Run, given: Mapping[str, Any], data: TextSource | None = None, tools: ToolSet | None = None
    ) -> Execution:
        arguments = {name: plain_value(value) for name, value in given.items()}
        return Execution(self._module.module, run, Inputs(arguments, False, data, tools))


class ProgramModule:
    """A text program: each of its defs is an attribute; the module itself runs its top level.

    `tools` implement the tools that it declares, `data` has the files that it reads.
    """

    def __init__(self, module: Module, data: TextSource, tools: ToolSet) -> None:
        self.module = module
        self.data = data
        self.tools = tools

    def __getattr__(self, name: str) -> TextPrompt:
        definition = self.module.defs.get(name)
        if definition is None:
            known = ", ".join(self.module.defs) or "none"
            raise AttributeError(f"{self.module.file} has no def {name!r}; it has: {known}")
        return TextPrompt(self, definition)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.module.defs]

    @property
    def main(self) -> TextPrompt:
        """The top level, with the program's `param`s as parameters."""
        return TextPrompt(self, None)

    def __call__(self, **named: Any) -> Any:
        """Run the top level: its value."""
        return self.main(**named)

    def __repr__(self) -> str:
        return f"<program {self.module.file}: {', '.join(self.module.defs) or 'no defs'}>"


def load(path: str | Path, *, data: TextSource | None = None, tools: HostTools = ()) -> ProgramModule:
    """Parse and check a `.rkv` file; its imports come from its folder, and what it reads too unless `data` is given.

    Raises FileNotFoundError and the like, and ProgramRejected with what was found.
    """
    file = Path(path)
    folder = FolderSource(file.parent)
    report = check_source(file.read_text("utf-8"), file.name, modules=folder)
    if report.module is None or not report.ok:
        raise ProgramRejected(report.diagnostics, report.sources)
    return ProgramModule(report.module, data or folder, ToolSet.of(tools))


class _Written:
    """A type or default in a signature, as the program has it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _signature(module: Module, entry: ast.Def | None) -> inspect.Signature:
    """What the entry takes and gives, as it is written."""

    def written(node: ast.Node | None) -> Any:
        if node is None:
            return inspect.Parameter.empty
        return _Written(module.program.source[node.span.start : node.span.end])

    kind = inspect.Parameter.KEYWORD_ONLY if entry is None else inspect.Parameter.POSITIONAL_OR_KEYWORD
    found: list[inspect.Parameter] = []
    optional = False
    for node in parameters(module.program, entry):
        default = written(node.default)
        if node.default is None and optional and entry is not None:
            default = _Written(
                "…"
            )  # Python has none without a default behind those with one; the run says it is missing
        optional = optional or node.default is not None
        found.append(inspect.Parameter(node.name, kind, default=default, annotation=written(node.type)))
    return inspect.Signature(found, return_annotation=written(None if entry is None else entry.returns))
