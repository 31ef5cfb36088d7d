"""Calls of defs and builtins, and comprehensions.

`f(x)` runs in a fresh context. `let a = f(x)` starts the call and goes on; whoever uses `a` waits for it. Since a call
touches nothing of its caller, the result is as if the calls had been made one after the other. Every call has its own
asyncio task, so the depth of calls does not add up on Python's stack.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from frontend_lang.builtins import BUILTINS
from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.bound_builtins import BOUND_BUILTINS
from frontend_lang.interpreter.expressions import Expressions
from frontend_lang.interpreter.frames import Env, Frame, Promise
from frontend_lang.interpreter.machine import BoundDef, Evaluator, Jump
from frontend_lang.operators import truth
from frontend_lang.rows import iterated
from frontend_lang.running.contexts import Context
from frontend_lang.syntax import ast
from frontend_lang.values import Value, checked_items


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a call: values, or promises that the def will wait for."""

    positional: Sequence[Value | Promise]
    named: Mapping[str, Value | Promise]


class Calls(Expressions):
    """Calls and what is made of them."""

    def evaluators(self) -> Mapping[type, Evaluator]:
        """Adds calls and comprehensions."""
        return {**super().evaluators(), ast.Call: self.call, ast.Comprehension: self._comprehension}

    async def start_call(self, node: ast.Call, called: BoundDef, env: Env, declared: ast.Type | None = None) -> Promise:
        """Begin a call of a def; it overlaps with what its caller does next. `declared` is what the result must fit."""
        arguments = await self._arguments(node, env)
        callee = replace(self._callee_env(called, node.site, env), strand=self.run.strand())

        async def working() -> Value:
            try:
                async with callee.strand.working():
                    value = await self._in_fresh_context(called.definition, arguments, callee)
                    return self.types(env).fit(value, declared, f"what `{called.definition.name}` returns")
            except ProgramError as error:
                error.at(node.span, env.module.file, callee.path)
                raise

        return env.frame.own(self.run.spawn(working()))

    async def use(self, node: ast.Call, env: Env) -> None:
        """Run a def in the caller's context; what it returns is dropped."""
        called = self.called_def(node, env)
        if called is None:
            raise ProgramError("E0304", "`use` needs a def")
        arguments = await self._arguments(node, env)
        fresh = self._callee_env(called, node.site, env)
        inline = replace(fresh, context=env.context, defaults=env.defaults)
        await self.run.spawn(self._run_def(called.definition, arguments, inline))

    async def join_by_def(self, called: BoundDef, argument: Value, site: str, env: Env) -> Value:
        """Call a def with one argument: a custom join."""
        arguments = Arguments([argument], {})
        return await self._in_fresh_context(called.definition, arguments, self._callee_env(called, site, env))

    @asynccontextmanager
    async def scope(self, env: Env) -> AsyncIterator[None]:
        """The life of a frame: at its end its unfinished promises are cancelled.

        If the frame fails, promises that were begun before are waited for first, and the earliest error counts, as it
        would if calls did not overlap. Limits and time-outs do not wait.
        """
        try:
            yield
        except ProgramError as error:
            if not error.code.startswith("E08"):
                async with env.strand.waiting():
                    await env.frame.settle()
            raise
        finally:
            await env.frame.close()

    async def call(self, node: ast.Call, env: Env) -> Value:
        """The value of a call of whatever can be called."""
        called = self.called_def(node, env)
        if called is None:
            return await self.call_other(node, env)
        arguments = await self._arguments(node, env)
        callee = self._callee_env(called, node.site, env)
        return await self.run.spawn(self._in_fresh_context(called.definition, arguments, callee))

    def _callee_env(self, called: BoundDef, site: str, env: Env) -> Env:
        place, path = env.place.call(site), f"{env.path}.{called.definition.name}"
        return Env(called.module, Frame(), Context(), place, env.strand, path, env.depth + 1)

    async def _arguments(self, node: ast.Call, env: Env) -> Arguments:
        positional: list[Value | Promise] = []
        named: dict[str, Value | Promise] = {}
        for argument in node.arguments:
            value = await self._unawaited(argument.value, env)
            if argument.name is None:
                positional.append(value)
            else:
                named[argument.name] = value
        return Arguments(positional, named)

    async def _unawaited(self, node: ast.Expression, env: Env) -> Value | Promise:
        if isinstance(node, ast.Name) and env.frame.find(node.name) is not None:
            return env.frame.lookup(node.name)
        return await self.evaluate(node, env)

    async def settled(self, value: Value | Promise, env: Env) -> Value:
        """The value, waited for if it is a promise."""
        return await self.wait_for(value, env) if isinstance(value, asyncio.Task) else value

    async def _in_fresh_context(self, definition: ast.Def, arguments: Arguments, env: Env) -> Value:
        try:
            return await self._run_def(definition, arguments, env)
        finally:
            await self.run.contexts.release([env.context])

    async def _run_def(self, definition: ast.Def, arguments: Arguments, env: Env) -> Value:
        self.run.counters.depth(env.depth)
        await self.run.step()
        async with self.scope(env):
            await self._bind(definition, arguments, env)
            signal = await self.execute_block(definition.body, env)
            value = signal.value if signal is not None and signal.jump is Jump.RETURN else None
            return self.types(env).fit(value, definition.returns, f"the result of `{definition.name}`")

    async def _bind(self, definition: ast.Def, arguments: Arguments, env: Env) -> None:
        given = matched(definition, arguments)
        for parameter in definition.parameters:
            if parameter.name in given:
                value = await self.settled(given[parameter.name], env)
            elif parameter.default is not None:
                value = await self.evaluate(parameter.default, env)
            else:
                raise misfit(definition, f"needs an argument `{parameter.name}`")
            env.frame.bind(parameter.name, self.types(env).fit(value, parameter.type, f"parameter `{parameter.name}`"))

    async def call_other(self, node: ast.Call, env: Env) -> Value:
        """The value of a call of what is no def: a builtin here; layers above add to it."""
        name = node.callee.name if isinstance(node.callee, ast.Name) else ""
        if name in BOUND_BUILTINS:
            return await BOUND_BUILTINS[name](self, node, env)
        if name not in BUILTINS:
            raise ProgramError("E0304", f"`{name}` cannot be called" if name else "only a def or builtin can be called")
        arguments = await self._arguments(node, env)
        positional = [await self.settled(value, env) for value in arguments.positional]
        named = {key: await self.settled(value, env) for key, value in arguments.named.items()}
        return BUILTINS[name].call(positional, named)

    async def _comprehension(self, node: ast.Comprehension, env: Env) -> Value:
        items = await self.evaluate(node.items, env)
        inner = replace(env, frame=Frame(outer=env.frame))
        with iterated(items, "a comprehension") as elements:
            async with self.scope(inner):
                results = [result async for result in self._elements(node, elements, inner)]
                return checked_items([await self.settled(result, inner) for result in results])

    async def _elements(
        self, node: ast.Comprehension, items: Iterable[Value], env: Env
    ) -> AsyncIterator[Value | Promise]:
        """Elements in order; calls of a def are begun only."""
        called = self.called_def(node.element, env)
        for index, item in enumerate(items):
            await self.run.step()
            env.frame.bind(node.name, item)
            here = env.looped(index)
            if node.condition is not None and not truth(await self.evaluate(node.condition, here), "`if`"):
                continue
            if called is not None and isinstance(node.element, ast.Call):
                yield await self.start_call(node.element, called, here)
            else:
                yield await self.evaluate(node.element, here)


def matched(definition: ast.Def | ast.Tool, arguments: Arguments) -> dict[str, Value | Promise]:
    """Arguments by parameter, in the order given. Raises E0307."""
    names = [parameter.name for parameter in definition.parameters]
    if len(arguments.positional) > len(names):
        raise misfit(definition, f"takes at most {len(names)} arguments, got {len(arguments.positional)}")
    given = dict(zip(names, arguments.positional, strict=False))
    for name, value in arguments.named.items():
        if name not in names or name in given:
            raise misfit(definition, f"has no free parameter `{name}`")
        given[name] = value
    return given


def misfit(definition: ast.Def | ast.Tool, what: str) -> ProgramError:
    """E0307 of a call that does not fit the parameters."""
    signature = ", ".join(parameter.name for parameter in definition.parameters)
    return ProgramError("E0307", f"`{definition.name}` {what}", f"{definition.name}({signature})")
