"""map: a block per row of a list or of a data file, each in a fresh context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.forks import Forks
from frontend_lang.interpreter.frames import Env, Eventual, Frame
from frontend_lang.interpreter.machine import Deferrer, Evaluator, Executor
from frontend_lang.rows import iterated
from frontend_lang.running.contexts import Context
from frontend_lang.running.mapping import MapSettings, RowDone, RunningMap
from frontend_lang.running.options import MAP_OPTIONS, fork_settings, stream_setting
from frontend_lang.running.places import placing
from frontend_lang.running.promises import Spawned
from frontend_lang.running.strands import Strand
from frontend_lang.syntax import ast
from frontend_lang.values import Value


@dataclass(frozen=True, slots=True)
class _Row:
    """A row, its number and the strand that works on it."""

    index: int
    value: Value
    strand: Strand


class Maps(Forks):
    """map, which is an expression too. `running.mapping` says what is cancelled when, and what a failure is worth."""

    def evaluators(self) -> Mapping[type, Evaluator]:
        """Adds map as a value."""
        return {**super().evaluators(), ast.Map: self._map}

    def deferrers(self) -> Mapping[type, Deferrer]:
        """Adds map, which may run while evaluation goes on."""
        return {**super().deferrers(), ast.Map: self._later_map}

    def executors(self) -> Mapping[type, Executor]:
        """Map as a statement."""
        return {ast.Map: self._map_statement}

    async def _map_statement(self, node: ast.Map, env: Env) -> None:
        await self.evaluate(node, env)

    async def _map(self, node: ast.Map, env: Env) -> Value:
        given = await self.options(node.options, env)
        return await self._mapped(node, await self.evaluate(node.items, env), given, env)

    async def _mapped(self, node: ast.Map, items: Value, given: dict[str, Value], env: Env) -> Value:
        settings = fork_settings(given)
        rows_env = env.with_defaults({name: value for name, value in given.items() if name not in MAP_OPTIONS})
        streams = stream_setting(given)
        with iterated(items, f"`map {node.name} in`") as rows:
            running = RunningMap(
                self.run,
                rows,
                lambda index, row, strand: self._row(node, _Row(index, row, strand), rows_env),
                MapSettings(settings.width, settings.timeout_s, settings.on_error or "fail"),
                self._streamed(node, env) if streams else None,
            )
            return await running.values(env.strand)

    async def _later_map(self, node: ast.Map, env: Env) -> Eventual:
        """The rows read the names as they are now, whatever becomes of them."""
        options = await self.options(node.options, env)
        items = await self.deferred(node.items, env)
        apart = replace(env, frame=env.frame.snapshot(), strand=self.run.strand(env.strand))
        promise = Spawned(self.run.spawn(self._mapped_apart(node, items, options, apart)))
        env.frame.begun.add(promise)
        return promise

    async def _mapped_apart(self, node: ast.Map, items: Eventual, given: dict[str, Value], env: Env) -> Value:
        with placing(self.placed(node, env)):
            return await self._mapped(node, await self.settled(items, env), given, env)

    async def _row(self, node: ast.Map, row: _Row, env: Env) -> Value:
        """The value of one row; `env` is the map's."""
        inner = _row_env(node, row, env)
        status, value = "cancelled", None
        try:
            value, _ = await self.run_branch(node.body, None, inner)
            status = "ok"
            return value
        except ProgramError as error:
            status = error.code
            raise
        finally:
            await self.run.contexts.release([inner.context])
            if self.run.events.active:
                what = {"site": node.site, "index": row.index, "value": value, "status": status}
                self.run.events.emit("branch.end", what, ctx=inner.context.id or "", path=inner.path)

    def _streamed(self, node: ast.Map, env: Env) -> RowDone:
        def tell(index: int, value: Value) -> None:
            what = {"value": value, "site": node.site, "index": index}
            self.run.events.emit("emit", what, ctx=env.context.id or "", path=f"{env.path}[{index}]")

        return tell


def _row_env(node: ast.Map, row: _Row, env: Env) -> Env:
    """A frame of its own over the map's, and a fresh context."""
    names: dict[str, Eventual] = {node.name: row.value}
    if node.index is not None:
        names[node.index] = row.index
    place, path = env.place.branch(node.site, row.index), f"{env.path}[{row.index}]"
    return Env(env.module, Frame(names, env.frame), Context(), place, row.strand, path, env.depth, env.defaults)
