"""Calls of tools: declared by the program, implemented by the host."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.calls import Arguments, matched, misfit
from frontend_lang.interpreter.frames import Env, Frame
from frontend_lang.interpreter.guards import Guards
from frontend_lang.modules import Module
from frontend_lang.running.contexts import Context
from frontend_lang.running.options import time_limit
from frontend_lang.running.run import is_being_cancelled
from frontend_lang.sizes import check_size
from frontend_lang.syntax import ast
from frontend_lang.tools import HostTools, Tool, ToolSet
from frontend_lang.values import Value, from_python, type_name


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A declared tool and the module whose types its declaration names."""

    module: Module
    declaration: ast.Tool


class Tools(Guards):
    """`wiki(q)` and `invoke("wiki", q)`: strict, and so in program order within a frame."""

    async def call_other(self, node: ast.Call, env: Env) -> Value:
        """Adds tools to what can be called beside defs."""
        bound = called_tool(node, env)
        if bound is not None:
            return await self._call_tool(bound, await self._strict(node.arguments, env), env)
        if isinstance(node.callee, ast.Name) and node.callee.name == "invoke":
            return await self._invoke(node, env)
        return await super().call_other(node, env)

    async def _invoke(self, node: ast.Call, env: Env) -> Value:
        given = node.arguments
        if not given or given[0].name is not None:
            raise ProgramError("E0307", "`invoke` needs the name of a tool first", 'invoke("wiki", q)')
        name = await self.evaluate(given[0].value, env)
        if not isinstance(name, str):
            raise ProgramError("E0402", f"`invoke` needs the name of a tool, found {type_name(name)}")
        declaration = env.module.tools.get(name)
        if declaration is None:
            known = ", ".join(f"`{known}`" for known in env.module.tools) or "none"
            raise ProgramError("E0301", f"unknown tool `{name[:60]}`", f"declared tools: {known}")
        return await self._call_tool(BoundTool(env.module, declaration), await self._strict(given[1:], env), env)

    async def _strict(self, given: Sequence[ast.Argument], env: Env) -> Arguments:
        values = [(argument.name, await self.evaluate(argument.value, env)) for argument in given]
        named = {name: value for name, value in values if name is not None}
        return Arguments([value for name, value in values if name is None], named)

    async def _call_tool(self, bound: BoundTool, arguments: Arguments, env: Env) -> Value:
        declared = bound.declaration
        tool = self.tools.get(declared.name)
        if tool is None:
            raise not_provided(bound, self.tools)
        home = Env(bound.module, Frame(), Context(), env.place, env.strand, env.path, env.depth)
        values = await self._fitted(declared, arguments, home)
        timeout_s = await self._timeout_s(declared, tool, home)
        call_id = f"t{self.run.counters.tool_call()}"
        started = self.run.events.elapsed_s()
        self._tell("tool.call", env, call_id=call_id, name=declared.name, args=values)
        try:
            value = await self._result(tool, values, timeout_s)
            value = self._checked(declared, value, home)
        except ProgramError as error:
            self._tell("tool.end", env, call_id=call_id, error=error.message, ms=self._ms_since(started))
            raise
        self._tell("tool.end", env, call_id=call_id, value=value, ms=self._ms_since(started))
        return value

    async def _fitted(self, declared: ast.Tool, arguments: Arguments, home: Env) -> dict[str, Value]:
        """The value of every parameter. Raises E0307 and E0402."""
        given = matched(declared, arguments)
        values: dict[str, Value] = {}
        for parameter in declared.parameters:
            if parameter.name in given:
                value = await self.settled(given[parameter.name], home)
            elif parameter.default is not None:
                value = await self.evaluate(parameter.default, home)
            else:
                raise misfit(declared, f"needs an argument `{parameter.name}`")
            what = f"argument `{parameter.name}` of tool `{declared.name}`"
            check_size(value, what)
            values[parameter.name] = self.types(home).fit(value, parameter.type, what)
        return values

    async def _timeout_s(self, declared: ast.Tool, tool: Tool, home: Env) -> float | None:
        given = [option.value for option in declared.options if option.name == "timeout"]
        bounds = [await self.evaluate(value, home) for value in given] + [tool.timeout_s]
        return min((float(bound) for bound in bounds if isinstance(bound, (int, float))), default=None)

    async def _result(self, tool: Tool, values: Mapping[str, Value], timeout_s: float | None) -> object:
        """What the host's function gives. It gets copies, since the program's values must not change."""
        arguments = {name: from_python(value) for name, value in values.items()}
        async with time_limit(timeout_s, f"tool `{tool.name}`"):
            try:
                return await tool.call(arguments)
            except asyncio.CancelledError:
                if is_being_cancelled():
                    raise
                raise ProgramError("E0704", f"tool `{tool.name}` failed: it was cancelled") from None
            except Exception as error:
                message = str(error) or type(error).__name__
                raise ProgramError("E0704", f"tool `{tool.name}` failed: {message}") from error

    def _checked(self, declared: ast.Tool, result: object, home: Env) -> Value:
        what = f"the result of tool `{declared.name}`"
        try:
            return self.types(home).fit(from_python(result), declared.returns, what)
        except ProgramError as error:
            message = error.message if error.message.startswith(what) else f"{what}: {error.message}"
            raise ProgramError("E0704", message, "the host's function must give what the program declares") from error

    def _ms_since(self, started: float) -> float:
        return round((self.run.events.elapsed_s() - started) * 1000, 3)

    def _tell(self, event: str, env: Env, **data: object) -> None:
        if self.run.events.active:
            self.run.events.emit(event, data, ctx=env.context.id or "", path=env.path)


def called_tool(node: ast.Call, env: Env) -> BoundTool | None:
    """The tool that a call means: `wiki(x)` of this module or `alias.wiki(x)` of an import."""
    module, callee = env.module, node.callee
    if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name):
        if env.frame.find(callee.value.name) is not None or callee.value.name not in module.imports:
            return None
        module = module.imports[callee.value.name]
    elif not isinstance(callee, ast.Name):
        return None
    declaration = module.tools.get(callee.name)
    return None if declaration is None else BoundTool(module, declaration)


def provided_tools(module: Module, given: HostTools) -> ToolSet:
    """The host's tools for a run of this program and all that it imports.

    Raises E0318 if a declared tool is not given, or if the host's function cannot be called as declared.
    """
    tools = ToolSet.of(given)
    for bound in declared_tools(module):
        tool = tools.get(bound.declaration.name)
        if tool is None:
            raise not_provided(bound, tools)
        _check_parameters(bound, tool)
    return tools


def not_provided(bound: BoundTool, tools: ToolSet) -> ProgramError:
    """E0318 at the declaration."""
    known = ", ".join(f"`{name}`" for name in tools.names) or "none"
    name, span = bound.declaration.name, bound.declaration.name_span
    message = f"tool `{name}` is declared, but the host does not provide it"
    return ProgramError("E0318", message, f"provided: {known}", span=span, file=bound.module.file)


def declared_tools(module: Module) -> Iterator[BoundTool]:
    """The tools that a program and all that it imports declare."""
    for each in module.family():
        yield from (BoundTool(each, declaration) for declaration in each.tools.values())


def _check_parameters(bound: BoundTool, tool: Tool) -> None:
    declared = {parameter.name for parameter in bound.declaration.parameters}
    known = {parameter.name for parameter in tool.parameters}
    lacking = [f"does not take `{name}`" for name in sorted(declared - known)]
    lacking += [f"needs `{item.name}`" for item in tool.parameters if item.required and item.name not in declared]
    if lacking:
        takes = ", ".join(parameter.name for parameter in tool.parameters) or "nothing"
        message = f"the host's `{tool.name}` {' and '.join(lacking)}"
        where = bound.declaration.name_span
        raise ProgramError("E0318", message, f"it takes: {takes}", span=where, file=bound.module.file)
