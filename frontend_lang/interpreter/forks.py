"""fork: concurrent branches over one shared prefix, and their join.

Structured: when the fork statement ends, in whatever way, no branch of it runs and every child context has been adopted
or released. Workers, at most `width`, take branches in order; a branch begins when it gets one of the run's slots.
With `on_error="fail"` the first failure cancels the siblings; of failures that come together the lowest index counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from frontend_lang.builtins import BUILTINS
from frontend_lang.errors import RUN_WIDE, ProgramError
from frontend_lang.interpreter.frames import Env, Frame
from frontend_lang.interpreter.generation import Generation
from frontend_lang.interpreter.machine import BoundDef, Evaluator, Jump
from frontend_lang.running.contexts import Context
from frontend_lang.running.joins import First, Gather, Outcome, Policy, policy_for, winner_of
from frontend_lang.running.options import FORK_OPTIONS, ForkSettings, fork_settings, time_limit
from frontend_lang.running.run import as_program_error
from frontend_lang.running.strands import Strand
from frontend_lang.syntax import ast
from frontend_lang.values import Value, checked_text, text_of, type_name


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
        return {
            **super().evaluators(),
            ast.CountFork: self._count_fork,
            ast.EachFork: self._each_fork,
            ast.ArmsFork: self._arms_fork,
        }

    async def _count_fork(self, node: ast.CountFork, env: Env) -> Value:
        count = await self.evaluate(node.count, env)
        if type(count) is not int or count < 0:
            raise ProgramError("E0402", f"`fork` needs a count or a list in `fork x in …`, found {text_of(count)[:40]}")
        self.run.counters.branch(count)
        branches = [Branch(node.body, _indexed({}, node.index, index), str(index)) for index in range(count)]
        return await self._fork(node, branches, node.options, env)

    async def _each_fork(self, node: ast.EachFork, env: Env) -> Value:
        items = await self.evaluate(node.items, env)
        if not isinstance(items, list):
            raise ProgramError("E0402", f"`fork {node.name} in` needs a list, found {type_name(items)}")
        self.run.counters.branch(len(items))
        branches = [
            Branch(node.body, _indexed({node.name: item}, node.index, index), str(index))
            for index, item in enumerate(items)
        ]
        return await self._fork(node, branches, node.options, env)

    async def _arms_fork(self, node: ast.ArmsFork, env: Env) -> Value:
        self.run.counters.branch(len(node.arms))
        return await self._fork(node, [Branch(arm.body, {}, arm.name) for arm in node.arms], (), env)

    async def _fork(
        self, node: ast.Fork, branches: Sequence[Branch], options: tuple[ast.Option, ...], env: Env
    ) -> Value:
        given = await self.options(options, env)
        defaults = {name: value for name, value in given.items() if name not in FORK_OPTIONS}
        running = RunningFork(self, node, branches, fork_settings(given), env.with_defaults(defaults))
        children = await running.open()
        try:
            await running.run()
            return await self._join(running)
        finally:
            await self.run.contexts.release(children)

    async def _join(self, fork: RunningFork) -> Value:
        join, env = fork.node.join, fork.env
        if isinstance(fork.policy, Gather):
            value = await self._gathered(fork, fork.policy)
            winner = None
            if join.keep:
                env.context.add_text(_kept_text(value), trusted=False)
        else:
            outcome = winner_of(fork.policy, join.policy, fork.failure_hint())
            value, winner = outcome.value, outcome.index
            if join.keep:
                await self.run.contexts.adopt(env.context, fork.children[winner])
        if self.run.events.active:
            what = {"site": fork.node.site, "policy": join.policy, "winner": winner, "value": value}
            self.run.events.emit("join", what, ctx=env.context.id or "", path=env.path)
        return value

    async def _gathered(self, fork: RunningFork, policy: Gather) -> Value:
        join, env = fork.node.join, fork.env
        values = policy.values(none_for_failed=fork.on_error == "none")
        if join.policy == "concat":
            return await self._concatenated([value for _, value in values], join.by, env)
        together: Value = [value for _, value in values]
        if isinstance(fork.node, ast.ArmsFork):
            together = {fork.branches[index].label: value for index, value in values}
        if join.policy == "all":
            return together
        definition = env.module.defs.get(join.policy)
        if definition is None:
            raise ProgramError("E0304", f"`join {join.policy}`: no policy and no def has this name")
        return await self.join_by_def(BoundDef(env.module, definition), together, f"{fork.node.site}.join", env)

    async def _concatenated(self, values: list[Value], by: ast.Expression | None, env: Env) -> Value:
        separator = "" if by is None else await self.evaluate(by, env)
        texts: list[Value] = [text_of(value) for value in values if value is not None]
        return BUILTINS["concat"].call([texts, separator], {})

    async def run_branch(self, branch: Branch, index: int, key: ast.Expression | None, env: Env) -> Outcome:
        """Run one branch to its value; the join's key is evaluated with the names of the branch."""
        async with self.scope(env):
            signal = await self.execute_block(branch.body, env)
            if signal is not None and signal.jump is not Jump.YIELD:
                raise ProgramError("E0314", f"`{signal.jump.value}` cannot leave a branch", "yield a value instead")
            value = env.context.text() if signal is None else signal.value
            return Outcome(index, value, value if key is None else await self.evaluate(key, env))


class RunningFork:
    """One execution of a fork: its children, its workers and how far the join is decided."""

    def __init__(
        self, machine: Forks, node: ast.Fork, branches: Sequence[Branch], settings: ForkSettings, env: Env
    ) -> None:
        self.node = node
        self.branches = branches
        self.env = env
        self.policy: Policy = policy_for(node.join.policy, len(branches))
        self.children: list[Context] = []
        self.on_error = settings.on_error or ("drop" if isinstance(self.policy, First) else "fail")
        self._settings = settings
        self._machine = machine
        self._run = machine.run
        self._waiting = iter(range(len(branches)))
        self._failures: dict[int, ProgramError] = {}
        self._fatal: dict[int, ProgramError] = {}
        self._over = asyncio.Event()

    async def open(self) -> list[Context]:
        """Fork the context; the children."""
        if not self.branches:
            return self.children
        self._run.tokens_left()
        self.children, forked = await self._run.contexts.fork(self.env.context, len(self.branches))
        self._run.spend(forked.usage)
        if self._run.events.active:
            children = [str(child) for child in forked.children]
            self._emit("fork", n=len(children), shared_tokens=forked.shared_tokens, children=children)
        return self.children

    async def run(self) -> None:
        """Run branches until the join is decided, then end the others. Raises what ends the fork."""
        if not self.branches:
            return
        workers = [self._run.spawn(self._work()) for _ in range(min(self._settings.width, len(self.branches)))]
        async with self.env.strand.waiting():
            try:
                await self._until_over()
            finally:
                await end_all(workers)
        if self._fatal:
            raise self._fatal[min(self._fatal)]
        winner = self.policy.winner()
        await self._run.contexts.release(
            [child for index, child in enumerate(self.children) if winner is None or index != winner.index]
        )

    def failure_hint(self) -> str | None:
        """The failure of lowest index in words."""
        if not self._failures:
            return None
        index = min(self._failures)
        return f"branch {index}: {self._failures[index].code}, {self._failures[index].message}"

    async def _until_over(self) -> None:
        try:
            async with time_limit(self._settings.timeout_s, "the fork"):
                await self._over.wait()
        except ProgramError as late:
            for index in range(len(self.branches)):
                if index not in self.policy.ended:
                    self._fail(index, ProgramError(late.code, late.message))

    async def _work(self) -> None:
        for index in self._waiting:
            strand = self._run.strand()
            try:
                async with strand.working():
                    await self._one(index, strand)
            except ProgramError as error:
                self._fail(index, error)
            except Exception as error:  # noqa: BLE001 - a listener may raise anything; it must not leave the fork waiting
                self._fail(index, as_program_error(error), fatal=True)

    async def _one(self, index: int, strand: Strand) -> None:
        child, inner = self.children[index], self._inner(index, strand)
        key = self.node.join.by if self.node.join.policy in ("best", "vote") else None
        status: str = "cancelled"
        value: Value = None
        try:
            outcome = await self._machine.run_branch(self.branches[index], index, key, inner)
            status, value = "ok", outcome.value
            await self._succeed(outcome)
        except ProgramError as error:
            status = error.code
            await self._run.contexts.release([child])
            raise
        finally:
            if self._run.events.active:
                self._emit("branch.end", inner.path, index=index, value=value, status=status)

    def _inner(self, index: int, strand: Strand) -> Env:
        branch, env = self.branches[index], self.env
        return replace(
            env,
            frame=Frame(branch.names, env.frame),
            context=self.children[index],
            place=env.place.branch(self.node.site, index),
            strand=strand,
            path=f"{env.path}[{branch.label}]",
        )

    async def _succeed(self, outcome: Outcome) -> None:
        dropped = self.policy.succeed(outcome)
        self._check_over()
        if dropped is not None:
            await self._run.contexts.release([self.children[dropped]])

    def _fail(self, index: int, error: ProgramError, fatal: bool = False) -> None:
        self._failures[index] = error
        self.policy.fail(index)
        if fatal or self.on_error == "fail" or error.code in RUN_WIDE:
            self._fatal[index] = error
            self._over.set()
        self._check_over()

    def _check_over(self) -> None:
        if self.policy.decided:
            self._over.set()

    def _emit(self, event: str, path: str | None = None, **data: object) -> None:
        where = self.env.path if path is None else path
        self._run.events.emit(event, {"site": self.node.site, **data}, ctx=self.env.context.id or "", path=where)


async def end_all(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until each has ended."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def _indexed(names: dict[str, Value], index_name: str | None, index: int) -> dict[str, Value]:
    return names if index_name is None else {**names, index_name: index}


def _kept_text(value: Value) -> str:
    """What `keep` appends: the values of a list or record one after the other, anything else as it is."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return checked_text("".join([text_of(item) for item in value if item is not None]))
    return text_of(value)
