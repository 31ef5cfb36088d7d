"""The base of the interpreter: dispatch by node class, failures turned into errors with a place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.frames import Env
from frontend_lang.interpreter.types import TypeChecker
from frontend_lang.running.run import Run, as_program_error
from frontend_lang.syntax import ast
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


Evaluator = Callable[[Any, Env], Awaitable[Value]]
Executor = Callable[[Any, Env], Awaitable[Signal | None]]


class Machine(ABC):
    """Runs nodes of one program. Layers add the node classes; the tables are made once per run."""

    def __init__(self, program: ast.Program, run: Run) -> None:
        self.run = run
        self.file = program.file
        self.defs = {node.name: node for node in program.statements if isinstance(node, ast.Def)}
        definitions = (node for node in program.statements if isinstance(node, ast.TypeDefinition))
        self.types = TypeChecker({node.name: node.type for node in definitions})
        self._evaluators = self.evaluators()
        self._executors = self.executors()

    @abstractmethod
    def evaluators(self) -> Mapping[type, Evaluator]:
        """Node class -> how its value is computed."""

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
            error.at(node.span, self.file, env.path)
            raise
        except Exception as error:
            raise as_program_error(error).at(node.span, self.file, env.path) from error

    async def execute(self, node: ast.Statement, env: Env) -> Signal | None:
        """Run one statement."""
        try:
            await self.run.step()
            return await self._executors[type(node)](node, env)
        except ProgramError as error:
            error.at(node.span, self.file, env.path)
            raise
        except Exception as error:
            raise as_program_error(error).at(node.span, self.file, env.path) from error
