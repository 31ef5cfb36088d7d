"""One run of a program from its first event to its last release."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.entry import Inputs, as_args, as_keywords, check_arguments, choose_entry, parameters
from frontend_lang.interpreter.frames import Env, Frame
from frontend_lang.interpreter.interpreter import Interpreter
from frontend_lang.interpreter.machine import Jump
from frontend_lang.modules import Module
from frontend_lang.running.contexts import Context, settled_parts
from frontend_lang.running.operations import tell
from frontend_lang.running.options import time_limit
from frontend_lang.running.run import Run, as_program_error
from frontend_lang.running.strands import Strand
from frontend_lang.seeds import Place
from frontend_lang.sizes import check_size
from frontend_lang.syntax import ast
from frontend_lang.values import Value


@dataclass(frozen=True)
class Ended:
    """What a run came to: its value, and the names of the top level (empty for a def)."""

    value: Value
    names: dict[str, Value]


@dataclass(frozen=True)
class Here:
    """Where a program is called: by which strand, its place for seeds, its path, how deep in calls."""

    strand: Strand
    place: Place
    path: str
    depth: int


class Execution:
    """Runs the entry of a program. Whatever happens, no task and no context of it is left."""

    def __init__(self, module: Module, run: Run, inputs: Inputs) -> None:
        self._module = module
        self._run = run
        self._inputs = inputs
        self._interpreter = Interpreter(run, inputs)

    async def finish(self, entry_name: str | None) -> Ended:
        """Run to the end. Raises ProgramError, or CancelledError after everything has been released."""
        try:
            with self._placing():
                async with time_limit(self._run.limits.wall_s, "the run", code="E0802"):
                    return await self._entry(entry_name)
        finally:
            await uninterrupted(self._run.close())

    async def within(self, entry_name: str | None, here: Here) -> Value:
        """Run to the end, in a fresh context, as a call of a run that goes on: the value."""
        self._run.counters.depth(here.depth)
        strand = self._run.strand(here.strand)
        env = Env(self._module, Frame(), Context(), here.place, strand, here.path, here.depth)
        with self._placing():
            async with here.strand.waiting(), strand.working():
                try:
                    return (await self._ended(self._chosen(entry_name), env)).value
                finally:
                    await self._run.contexts.release([env.context])

    @contextmanager
    def _placing(self) -> Iterator[None]:
        """Whatever the block raises is a ProgramError that names a file."""
        try:
            yield
        except ProgramError as error:
            self._place(error)
            raise
        except Exception as error:
            raise self._place(as_program_error(error)) from error

    def _place(self, error: ProgramError) -> ProgramError:
        error.file = error.file or self._module.file
        return error

    async def _entry(self, entry_name: str | None) -> Ended:
        entry = self._chosen(entry_name)
        path = "main" if entry is None else entry.name
        return await self._ended(entry, Env(self._module, Frame(), Context(), Place(), self._run.strand(), path))

    def _chosen(self, entry_name: str | None) -> ast.Def | None:
        entry = choose_entry(self._module.program, entry_name)
        way = as_args if self._inputs.texts else as_keywords
        check_arguments(parameters(self._module.program, entry), self._inputs.arguments, way)
        return entry

    async def _ended(self, entry: ast.Def | None, env: Env) -> Ended:
        async with self._interpreter.scope(env):
            if entry is None:
                ended = await self._top_level(env, {node.name for node in parameters(self._module.program, None)})
            else:
                ended = Ended(await self._def(entry, env), {})
            check_size(ended.value, "the result")
            return ended

    async def _top_level(self, env: Env, parameter_names: set[str]) -> Ended:
        signal = await self._interpreter.execute_all(self._module.program.statements, env)
        await self._interpreter.settle(env)
        names = {
            name: await self._interpreter.settled(value, env)
            for name, value in env.frame.names.items()
            if name not in parameter_names
        }
        await self._commit(env)
        return Ended(signal.value if signal is not None and signal.jump is Jump.RETURN else None, names)

    async def _def(self, entry: ast.Def, env: Env) -> Value:
        for parameter in entry.parameters:
            env.frame.bind(parameter.name, await self._interpreter.parameter(parameter, env))
        signal = await self._interpreter.execute_block(entry.body, env)
        value = signal.value if signal is not None and signal.jump is Jump.RETURN else None
        await self._interpreter.settle(env)
        await self._commit(env)
        return self._interpreter.types(env).fit(value, entry.returns, f"the result of `{entry.name}`")

    async def _commit(self, env: Env) -> None:
        """The end is a commit point: text that came last reaches the context too."""
        context = env.context
        await context.drain(env.strand)
        pending = context.take()
        tell(self._run, context, pending)
        if pending or context.carried:
            await self._run.runtime.commit(await self._run.contexts.flush(context, settled_parts(pending)))


async def uninterrupted(work: Coroutine[Any, Any, None]) -> None:
    """Do the work to its end even if this task is cancelled meanwhile, and then be cancelled."""
    task = asyncio.get_running_loop().create_task(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError
