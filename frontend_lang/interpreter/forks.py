"""fork: what the node says, turned into what `running.branching` runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from frontend_lang.builtins import BUILTINS
from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.frames import Env, Eventual, Frame
from frontend_lang.interpreter.generation import Generation
from frontend_lang.interpreter.machine import BoundDef, Deferrer, Evaluator, Jump
from frontend_lang.running.branching import ForkPlan, begin_fork, fork
from frontend_lang.running.joins import Outcome
from frontend_lang.running.operations import Where
from frontend_lang.running.options import FORK_OPTIONS, fork_settings
from frontend_lang.syntax import ast
from frontend_lang.values import Value, text_of, type_name


@dataclass(frozen=True, slots=True)
class Branch:
    """What one branch runs, the names it starts with, and its label in paths."""

    body: ast.Block
    names: Mapping[str, Value]
    label: str


class Forks(Generation):
    """The three kinds of fork."""

    def evaluators(self) -> Mapping[type, Evaluator]:
        """Adds forks, which are expressions too."""
        return {**super().evaluators(), **dict.fromkeys(_FORKS, self._fork)}

    def deferrers(self) -> Mapping[type, Deferrer]:
        """Adds forks, which may run while evaluation goes on."""
        return {**super().deferrers(), **dict.fromkeys(_FORKS, self._later_fork)}

    async def _fork(self, node: ast.Fork, env: Env) -> Value:
        return await fork(self.run, env.where(), await self._plan(node, env, env.frame))  # type: ignore[no-any-return]

    async def _later_fork(self, node: ast.Fork, env: Env) -> Eventual:
        """Branches read the names as they are now, whatever becomes of them."""
        return begin_fork(self.run, env.where(), await self._plan(node, env, env.frame.snapshot()))

    async def _plan(self, node: ast.Fork, env: Env, outer: Frame) -> ForkPlan:
        branches = await self._branches(node, env)
        self.run.counters.branch(len(branches))
        given = {} if isinstance(node, ast.ArmsFork) else await self.options(node.options, env)
        defaults = {name: value for name, value in given.items() if name not in FORK_OPTIONS}
        inner = replace(env.with_defaults(defaults), frame=outer, in_steps=False)
        join = node.join
        key = join.by if join.policy in ("best", "vote") else None

        async def work(index: int, where: Where) -> Outcome:
            branch = branches[index]
            here = _branch_env(inner, Frame(branch.names, outer, where.begun), where)
            value, rank = await self.run_branch(branch.body, key, here, keep=join.keep)
            return Outcome(index, value, rank)

        return ForkPlan(
            site=node.site,
            labels=[branch.label for branch in branches],
            work=work,
            policy=join.policy,
            settings=fork_settings(given),
            gather=self._gather(node, branches, inner),
            placed=self.placed(node, env),
            keep=join.keep,
        )

    async def _branches(self, node: ast.Fork, env: Env) -> Sequence[Branch]:
        if isinstance(node, ast.ArmsFork):
            return [Branch(arm.body, {}, arm.name) for arm in node.arms]
        if isinstance(node, ast.CountFork):
            count = await self.evaluate(node.count, env)
            if type(count) is not int or count < 0:
                found = text_of(count)[:40]
                raise ProgramError("E0402", f"`fork` needs a count or a list in `fork x in …`, found {found}")
            return [Branch(node.body, _indexed({}, node.index, index), str(index)) for index in range(count)]
        items = await self.evaluate(node.items, env)
        if not isinstance(items, list):
            raise ProgramError("E0402", f"`fork {node.name} in` needs a list, found {type_name(items)}")
        return [
            Branch(node.body, _indexed({node.name: item}, node.index, index), str(index))
            for index, item in enumerate(items)
        ]

    def _gather(
        self, node: ast.Fork, branches: Sequence[Branch], env: Env
    ) -> Callable[[list[tuple[int, Any]]], Awaitable[Value]]:
        """How a join without a winner makes its value, on a strand of its own."""
        join, strand = node.join, self.run.strand(env.strand)
        env = replace(env, strand=strand)

        async def gather(values: list[tuple[int, Any]]) -> Value:
            if join.policy == "concat":
                return await self._concatenated([value for _, value in values], join.by, env)
            together: Value = [value for _, value in values]
            if isinstance(node, ast.ArmsFork):
                together = {branches[index].label: value for index, value in values}
            if join.policy == "all":
                return together
            async with strand.working():
                return await self._joined_by_def(node, together, env)

        return gather

    async def _joined_by_def(self, node: ast.Fork, together: Value, env: Env) -> Value:
        definition = env.module.defs.get(node.join.policy)
        if definition is None:
            raise ProgramError("E0304", f"`join {node.join.policy}`: no policy and no def has this name")
        return await self.join_by_def(BoundDef(env.module, definition), together, f"{node.site}.join", env)

    async def _concatenated(self, values: list[Value], by: ast.Expression | None, env: Env) -> Value:
        separator = "" if by is None else await self.evaluate(by, env)
        texts: list[Value] = [text_of(value) for value in values if value is not None]
        return BUILTINS["concat"].call([texts, separator], {})

    async def run_branch(
        self, body: ast.Block, key: ast.Expression | None, env: Env, *, keep: bool = False
    ) -> tuple[Value, Value]:
        """Run one branch or row: its value, and its key, which is evaluated with the names of the branch.

        The value is its yield, or else the text it has appended. With `keep` nothing on its context is left unsettled.
        """
        async with self.scope(env):
            signal = await self.execute_block(body, env)
            if signal is not None and signal.jump is not Jump.YIELD:
                raise ProgramError("E0314", f"`{signal.jump.value}` cannot leave a branch", "yield a value instead")
            if keep or signal is None:
                await env.context.drain(env.strand)
            value = await env.context.text(env.strand) if signal is None else signal.value
            return value, value if key is None else await self.evaluate(key, env)


_FORKS = (ast.CountFork, ast.EachFork, ast.ArmsFork)


def _branch_env(env: Env, frame: Frame, where: Where) -> Env:
    return replace(env, frame=frame, context=where.context, strand=where.strand, place=where.place, path=where.path)


def _indexed(names: dict[str, Value], index_name: str | None, index: int) -> dict[str, Value]:
    return names if index_name is None else {**names, index_name: index}
