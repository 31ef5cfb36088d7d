"""Calls of defs and builtins, and comprehensions.

`f(x)` runs in a fresh context. `let a = f(x)` begins the call and goes on; whoever uses `a` waits for it. Since a call
touches nothing of its caller, the result is as if the calls had been made one after the other. Every call has its own
asyncio task, so the depth of calls does not add up on Python's stack.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from frontend_lang.builtins import BUILTINS, steps_of
from frontend_lang.errors import RUN_WIDE, ProgramError
from frontend_lang.interpreter.bound_builtins import BOUND_BUILTINS
from frontend_lang.interpreter.expressions import Expressions, made_of
from frontend_lang.interpreter.frames import Env, Eventual, Frame
from frontend_lang.interpreter.machine import BoundDef, Deferrer, Evaluator, Jump
from frontend_lang.operators import truth
from frontend_lang.rows import iterated
from frontend_lang.running.contexts import Context
from frontend_lang.running.places import Placed, placing
from frontend_lang.running.promises import Spawned, Undertakings
from frontend_lang.syntax import ast
from frontend_lang.values import Value, checked_items


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a call: values, or promises that the def will wait for."""

    positional: Sequence[Eventual]
    named: Mapping[str, Eventual]


class Calls(Expressions):
    """Calls and what is made of them."""

    def evaluators(self) -> Mapping[type, Evaluator]:
        """Adds calls and comprehensions."""
        return {**super().evaluators(), ast.Call: self.call, ast.Comprehension: self._comprehension}

    def deferrers(self) -> Mapping[type, Deferrer]:
        """Adds calls, which are only begun, and comprehensions, whose elements are."""
        return {**super().deferrers(), ast.Call: self._later_call, ast.Comprehension: self._later_comprehension}

    async def _later_call(self, node: ast.Call, env: Env) -> Eventual:
        called = self.called_def(node, env)
        if called is None:
            return await self._call_of_other(node, env)
        arguments = await self._arguments(node, env)
        callee = replace(self._callee_env(called, node.site, env), strand=self.run.strand(env.strand))
        working = self._overlapping(called.definition, arguments, callee, self.placed(node, env))
        promise = Spawned(self.run.spawn(working))
        env.frame.begun.add(promise)
        return promise

    async def _overlapping(self, definition: ast.Def, arguments: Arguments, callee: Env, placed: Placed) -> Value:
        with placing(placed):
            async with callee.strand.working():
                return await self._in_fresh_context(definition, arguments, callee)

    async def use(self, node: ast.Call, env: Env) -> None:
        """Run a def in the caller's context; what it returns is dropped."""
        called = self.called_def(node, env)
        if called is None:
            raise ProgramError("E0304", "`use` needs a def")
        arguments = await self._arguments(node, env)
        fresh = self._callee_env(called, node.site, env)
        inline = replace(fresh, context=env.context, defaults=env.defaults, in_steps=env.in_steps)
        await self.run.spawn(self._run_def(called.definition, arguments, inline, env.frame.begun))

    async def join_by_def(self, called: BoundDef, argument: Value, site: str, env: Env) -> Value:
        """Call a def with one argument: a custom join."""
        arguments = Arguments([argument], {})
        return await self._in_fresh_context(called.definition, arguments, self._callee_env(called, site, env))

    @asynccontextmanager
    async def scope(self, env: Env, heir: Undertakings | None = None) -> AsyncIterator[None]:
        """The life of a frame: at its end what it has begun and nobody has waited for is cancelled, or the heir's.

        If the frame fails, what was begun before is waited for first, and the earliest error counts, as it would if
        everything were done one after the other. Limits of the whole run do not wait.
        """
        try:
            yield
        except ProgramError as error:
            if error.code not in RUN_WIDE:
                await self.settle(env)
            raise
        else:
            if heir is not None:
                env.frame.begun.hand_over(heir)
        finally:
            await env.frame.begun.close()

    async def call(self, node: ast.Call, env: Env) -> Value:
        """The value of a call of whatever can be called."""
        called = self.called_def(node, env)
        if called is None:
            return await self._call_of_other(node, env)
        arguments = await self._arguments(node, env)
        callee = self._callee_env(called, node.site, env)
        return await self.run.spawn(self._in_fresh_context(called.definition, arguments, callee))

    def _callee_env(self, called: BoundDef, site: str, env: Env) -> Env:
        place, path = env.place.call(site), f"{env.path}.{called.definition.name}"
        return Env(called.module, Frame(), Context(), place, env.strand, path, env.depth + 1)

    async def _arguments(self, node: ast.Call, env: Env) -> Arguments:
        positional: list[Eventual] = []
        named: dict[str, Eventual] = {}
        for argument in node.arguments:
            value = await self.deferred(argument.value, env)
            if argument.name is None:
                positional.append(value)
            else:
                named[argument.name] = value
        return Arguments(positional, named)

    async def _in_fresh_context(self, definition: ast.Def, arguments: Arguments, env: Env) -> Value:
        try:
            return await self._run_def(definition, arguments, env)
        finally:
            await self.run.contexts.release([env.context])

    async def _run_def(
        self, definition: ast.Def, arguments: Arguments, env: Env, heir: Undertakings | None = None
    ) -> Value:
        self.run.counters.depth(env.depth)
        await self.run.step(env.strand)
        async with self.scope(env, heir):
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

    async def _call_of_other(self, node: ast.Call, env: Env) -> Value:
        if not isinstance(node.callee, ast.Name) or node.callee.name not in BUILTINS:
            env.strand.start_all()  # it may take a while
        return await self.call_other(node, env)

    async def call_other(self, node: ast.Call, env: Env) -> Value:
        """The value of a call of what is no def: a builtin here; layers above add to it."""
        name = node.callee.name if isinstance(node.callee, ast.Name) else ""
        if name in BOUND_BUILTINS:
            return await BOUND_BUILTINS[name](self, node, env)
        if name not in BUILTINS:
            raise ProgramError("E0304", f"`{name}` cannot be called" if name else "only a def or builtin can be called")
        if len(node.arguments) == 1 and node.arguments[0].name is None:
            return await self._built_in(name, [await self.evaluate(node.arguments[0].value, env)], {}, env)
        arguments = await self._arguments(node, env)
        positional = [await self.settled(value, env) for value in arguments.positional]
        named = {key: await self.settled(value, env) for key, value in arguments.named.items()}
        return await self._built_in(name, positional, named, env)

    async def _built_in(self, name: str, positional: Sequence[Value], named: Mapping[str, Value], env: Env) -> Value:
        """The value of a pure builtin, which counts as steps in proportion to what it reads and makes."""
        result = BUILTINS[name].call(positional, named)
        if name != "len":
            await self.run.work(env.strand, steps_of([*positional, *named.values(), result]))
        return result

    async def _comprehension(self, node: ast.Comprehension, env: Env) -> Value:
        return await self.settled(await self._later_comprehension(node, env), env)

    async def _later_comprehension(self, node: ast.Comprehension, env: Env) -> Eventual:
        items = await self.evaluate(node.items, env)
        inner = replace(env, frame=Frame(outer=env.frame, begun=env.frame.begun))
        with iterated(items, "a comprehension") as elements:
            return made_of([element async for element in self._elements(node, elements, inner)], checked_items)

    async def _elements(self, node: ast.Comprehension, items: Iterable[Value], env: Env) -> AsyncIterator[Eventual]:
        """Elements in order; calls of a def are begun only."""
        for index, item in enumerate(items):
            await self.run.step(env.strand)
            env.frame.bind(node.name, item)
            here = env.looped(index)
            if node.condition is not None and not truth(await self.evaluate(node.condition, here), "`if`"):
                continue
            yield await self.deferred(node.element, here)


def matched(definition: ast.Def | ast.Tool, arguments: Arguments) -> dict[str, Eventual]:
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
