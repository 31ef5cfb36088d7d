"""The base of the interpreter: dispatch by node class, failures turned into errors with a place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.entry import Inputs
from frontend_lang.interpreter.frames import Env, Eventual
from frontend_lang.modules import Module
from frontend_lang.running.places import Placed
from frontend_lang.running.promises import Promise
from frontend_lang.running.run import Run, as_program_error
from frontend_lang.syntax import ast
from frontend_lang.types import TypeSystem
from frontend_lang.values import Value


class Jump(Enum):
    """Why a block ended before its end."""

    BREAK = "break"
    CONTINUE = "continue"
    RETURN = "return"
    YIELD = "yield"


@dataclass(frozen=True, slots=True)
class Signal:
    """A jump on its way out; return and yield carry a value."""

    jump: Jump
    value: Value = None


@dataclass(frozen=True, slots=True)
class BoundDef:
    """A def and the module whose names it sees."""

    module: Module
    definition: ast.Def


Evaluator = Callable[[Any, Env], Awaitable[Value]]
Deferrer = Callable[[Any, Env], Awaitable[Eventual]]
Executor = Callable[[Any, Env], Awaitable[Signal | None]]


class Machine(ABC):
    """Runs nodes of any module, as `env.module` says. Layers add the node classes; the tables are made once per run."""

    def __init__(self, run: Run, inputs: Inputs) -> None:
        self.run = run
        self.inputs = inputs
        self.data = inputs.data or run.data
        self.tools = inputs.tools or run.tools
        self._types: dict[Module, TypeSystem] = {}
        self._evaluators = self.evaluators()
        self._deferrers = self.deferrers()
        self._executors = self.executors()

    def types(self, env: Env) -> TypeSystem:
        """The types of the module whose code runs; made once per module."""
        known = self._types.get(env.module)
        if known is None:
            known = self._types[env.module] = TypeSystem(env.module)
        return known

    def called_def(self, node: ast.RightSide, env: Env) -> BoundDef | None:
        """The def that the node calls, if it is a call of one: `f(x)` of this module, `alias.f(x)` of an import."""
        if not isinstance(node, ast.Call):
            return None
        module, callee = env.module, node.callee
        if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name):
            if env.frame.find(callee.value.name) is not None or callee.value.name not in module.imports:
                return None
            module, name = module.imports[callee.value.name], callee.name
        elif isinstance(callee, ast.Name):
            name = callee.name
        else:
            return None
        definition = module.defs.get(name)
        return None if definition is None else BoundDef(module, definition)

    @abstractmethod
    def evaluators(self) -> Mapping[type, Evaluator]:
        """Node class -> how its value is computed."""

    @abstractmethod
    def deferrers(self) -> Mapping[type, Deferrer]:
        """Node class -> how it is begun, where its value may come later."""

    @abstractmethod
    def executors(self) -> Mapping[type, Executor]:
        """Node class -> how it is executed."""

    @abstractmethod
    async def execute_block(self, block: ast.Block, env: Env) -> Signal | None:
        """Run the statements of a block in order; the signal that ended it early."""

    async def evaluate(self, node: ast.RightSide, env: Env) -> Value:
        """The value of an expression or a fork. A failure becomes a ProgramError at the innermost node."""
        try:
            return await self._evaluators[type(node)](node, env)
        except ProgramError as error:
            error.at(node.span, env.module.file, env.path)
            raise
        except Exception as error:
            raise as_program_error(error).at(node.span, env.module.file, env.path) from error

    async def deferred(self, node: ast.RightSide, env: Env) -> Eventual:
        """The value, or the promise of one: calls of defs, forks and maps are only begun, promises not waited for."""
        begin = self._deferrers.get(type(node))
        if begin is None:
            return await self.evaluate(node, env)
        try:
            return await begin(node, env)
        except ProgramError as error:
            error.at(node.span, env.module.file, env.path)
            raise
        except Exception as error:
            raise as_program_error(error).at(node.span, env.module.file, env.path) from error

    def placed(self, node: ast.Node, env: Env) -> Placed:
        """What gives an error that happens later the place of this node."""
        span, file, path = node.span, env.module.file, env.path
        return lambda error: as_program_error(error).at(span, file, path)

    async def settled(self, value: Eventual, env: Env) -> Value:
        """The value, waited for if it is a promise; while other strands make it, this one's slot is free."""
        return await value.wait(env.strand) if isinstance(value, Promise) else value

    async def settle(self, env: Env, since: int = 0, before: int | None = None) -> None:
        """Wait for what the frame has begun from one mark of `env.frame.begun` on and before another.

        Raises the first error in the order of the program.
        """
        await env.frame.begun.settle(env.strand, since, before)

    async def execute(self, node: ast.Statement, env: Env) -> Signal | None:
        """Run one statement."""
        try:
            await self.run.step(env.strand)
            return await self._executors[type(node)](node, env)
        except ProgramError as error:
            error.at(node.span, env.module.file, env.path)
            raise
        except Exception as error:
            raise as_program_error(error).at(node.span, env.module.file, env.path) from error
