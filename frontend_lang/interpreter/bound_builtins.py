"""Builtins that need more than the values of their arguments: the run, or what a gen or select left with a name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.frames import Env
from frontend_lang.interpreter.machine import Machine
from frontend_lang.running.run import usage_record
from frontend_lang.syntax import ast
from frontend_lang.values import Value

BoundBuiltin = Callable[[Machine, ast.Call, Env], Awaitable[Value]]


async def _usage(machine: Machine, node: ast.Call, env: Env) -> Value:
    async with env.strand.waiting():
        await env.frame.settle()
    return usage_record(machine.run.usage)


async def _probs(machine: Machine, node: ast.Call, env: Env) -> Value:
    argument = node.arguments[0].value if len(node.arguments) == 1 else None
    if not isinstance(argument, ast.Name):
        raise ProgramError("E0307", "`probs` needs the name of a select", "probs(x) after `select x from …`")
    distribution = env.frame.distribution(argument.name)
    if distribution is None:
        raise ProgramError("E0608", f"`{argument.name}` is not bound by select", "probs(x) after `select x from …`")
    return dict(distribution)


BOUND_BUILTINS: Mapping[str, BoundBuiltin] = {"usage": _usage, "probs": _probs}
