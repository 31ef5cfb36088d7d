"""assert, check, emit, fail, and try … catch."""

from __future__ import annotations

from collections.abc import Mapping

from frontend_lang import operators
from frontend_lang.errors import RUN_WIDE, ProgramError
from frontend_lang.interpreter.frames import Env
from frontend_lang.interpreter.machine import Executor, Signal
from frontend_lang.interpreter.maps import Maps
from frontend_lang.running.checks import Check
from frontend_lang.syntax import ast
from frontend_lang.types import shown
from frontend_lang.values import Value, text_of


class Guards(Maps):
    """Statements that judge values, tell of them, or deal with errors."""

    def executors(self) -> Mapping[type, Executor]:
        """Adds guards, emit and try."""
        return {**super().executors(), ast.Guard: self._guard, ast.Emit: self._emit, ast.Try: self._try}

    async def _guard(self, node: ast.Guard, env: Env) -> None:
        holds, sides = await self._judged(node.condition, env)
        if node.kind == "assert":
            if not holds:
                raise ProgramError("E0604", await self._message(node, sides, env))
            return
        check = Check(
            holds, await self._message(node, sides, env), env.module.file, node.span.line, env.path, env.place
        )
        self.run.checks.add(check)
        if self.run.events.active:
            what = {"ok": holds, "message": check.message, "line": check.line, "file": check.file}
            self.run.events.emit("check", what, ctx=env.context.id or "", path=env.path)

    async def _message(self, node: ast.Guard, sides: str, env: Env) -> str:
        """What the program says about the condition, else the condition as written; `sides` of one that failed."""
        if node.message is not None:
            text = text_of(await self.evaluate(node.message, env))
        else:
            where = node.condition.span
            text = " ".join(env.module.program.source[where.start : where.end].split())
        return f"{text}: {sides}" if sides else text

    async def _judged(self, condition: ast.Expression, env: Env) -> tuple[bool, str]:
        """Whether a condition holds, and for a comparison what its two sides are."""
        if not isinstance(condition, ast.Compare):
            return operators.truth(await self.evaluate(condition, env), "a condition"), ""
        left = await self.evaluate(condition.left, env)
        right = await self.evaluate(condition.right, env)
        holds = operators.compare(condition.operator, left, right)
        return holds, "" if holds else f"left is {shown(left)}, right is {shown(right)}"

    async def _emit(self, node: ast.Emit, env: Env) -> None:
        value = await self.evaluate(node.value, env)
        if node.kind == "fail":
            raise ProgramError("E0610", text_of(value))
        if self.run.events.active:
            self.run.events.emit("emit", {"value": value}, ctx=env.context.id or "", path=env.path)

    async def _try(self, node: ast.Try, env: Env) -> Signal | None:
        """What the block has begun ends with it, so that its errors come up inside."""
        role, begun = env.context.role, env.frame.begun
        try:
            signal = await self.execute_block(node.body, env)
            async with env.strand.waiting():
                await env.frame.settle(begun)
            return signal
        except ProgramError as error:
            error = await self._earliest(error, begun, env)
            if error.code in RUN_WIDE:
                raise error
            env.frame.bind(node.name, caught(error))
        if role is None and env.context.role is not None:
            env.context.close_role()
        return await self.execute_block(node.handler, env)

    async def _earliest(self, error: ProgramError, begun: int, env: Env) -> ProgramError:
        """The first error in the order of the program: one of what was begun before the block failed, or this one.

        Whatever the block has begun has ended then.
        """
        try:
            if not error.code.startswith("E08"):
                async with env.strand.waiting():
                    await env.frame.settle(begun)
        except ProgramError as earlier:
            error = earlier
        finally:
            await env.frame.close(begun)
        return error


def caught(error: ProgramError) -> Value:
    """What `catch e` binds."""
    line, col = (None, None) if error.span is None else (error.span.line, error.span.col)
    return {"code": error.code, "message": error.message, "line": line, "col": col, "branch": error.path}
