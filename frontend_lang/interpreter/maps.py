"""map: a block per row of a list or of a data file, each in a fresh context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.forks import Forks
from frontend_lang.interpreter.frames import Env, Frame
from frontend_lang.interpreter.machine import Evaluator, Executor
from frontend_lang.rows import iterated
from frontend_lang.running.contexts import Context
from frontend_lang.running.mapping import MapSettings, RowDone, RunningMap
from frontend_lang.running.options import MAP_OPTIONS, fork_settings, stream_setting
from frontend_lang.syntax import ast
from frontend_lang.values import Value


class Maps(Forks):
    """map, which is an expression too. `running.mapping` says what is cancelled when, and what a failure is worth."""

    def evaluators(self) -> Mapping[type, Evaluator]:
        """Adds map as a value."""
        return {**super().evaluators(), ast.Map: self._map}

    def executors(self) -> Mapping[type, Executor]:
        """Map as a statement."""
        return {ast.Map: self._map_statement}

    async def _map_statement(self, node: ast.Map, env: Env) -> None:
        await self.evaluate(node, env)

    async def _map(self, node: ast.Map, env: Env) -> Value:
        given = await self.options(node.options, env)
        settings = fork_settings(given)
        rows_env = env.with_defaults({name: value for name, value in given.items() if name not in MAP_OPTIONS})
        streams = stream_setting(given)
        with iterated(await self.evaluate(node.items, env), f"`map {node.name} in`") as rows:
            running = RunningMap(
                self.run,
                rows,
                lambda index, row, strand: self._row(node, index, row, replace(rows_env, strand=strand)),
                MapSettings(settings.width, settings.timeout_s, settings.on_error or "fail"),
                self._streamed(node, env) if streams else None,
            )
            return await running.values(env.strand)

    async def _row(self, node: ast.Map, index: int, row: Value, env: Env) -> Value:
        """The value of one row. `env` is the map's, with the strand of the row."""
        names = {node.name: row} if node.index is None else {node.name: row, node.index: index}
        inner = replace(
            env,
            frame=Frame(names, env.frame),
            context=Context(),
            place=env.place.branch(node.site, index),
            path=f"{env.path}[{index}]",
        )
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
                what = {"site": node.site, "index": index, "value": value, "status": status}
                self.run.events.emit("branch.end", what, ctx=env.context.id or "", path=inner.path)

    def _streamed(self, node: ast.Map, env: Env) -> RowDone:
        def tell(index: int, value: Value) -> None:
            what = {"value": value, "site": node.site, "index": index}
            self.run.events.emit("emit", what, ctx=env.context.id or "", path=f"{env.path}[{index}]")

        return tell
