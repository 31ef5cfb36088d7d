"""assert, check, emit, fail, and try … catch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from frontend_lang import operators
from frontend_lang.errors import RUN_WIDE, ProgramError
from frontend_lang.interpreter.frames import Env
from frontend_lang.interpreter.machine import Executor, Signal
from frontend_lang.interpreter.maps import Maps
from frontend_lang.running.checks import Check
from frontend_lang.sizes import check_size
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
        check_size(value)
        if self.run.events.active:
            self.run.events.emit("emit", {"value": value}, ctx=env.context.id or "", path=env.path)

    async def _try(self, node: ast.Try, env: Env) -> Signal | None:
        """The block runs step by step: what fails is the statement that would fail if nothing ever overlapped."""
        role, mark = env.context.role, env.frame.begun.mark
        try:
            return await self.execute_block(node.body, replace(env, in_steps=True))
        except ProgramError as error:
            if error.code in RUN_WIDE:
                raise
            await self.settle(env, before=mark)  # an error of what was begun before the block is not this one's
            await env.frame.begun.close(mark)
            env.frame.bind(node.name, caught(error))
        env.context.recover()
        await env.strand.resume()
        if role is None and env.context.role is not None:
            env.context.close_role()
        return await self.execute_block(node.handler, env)


def caught(error: ProgramError) -> Value:
    """What `catch e` binds."""
    line, col = (None, None) if error.span is None else (error.span.line, error.span.col)
    return {"code": error.code, "message": error.message, "line": line, "col": col, "branch": error.path}
