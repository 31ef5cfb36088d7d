"""Evaluation of expressions other than calls and forks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from frontend_lang import operators
from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.frames import Env, Promise
from frontend_lang.interpreter.machine import Evaluator, Machine
from frontend_lang.syntax import ast
from frontend_lang.values import Value, checked_text, text_of


class Expressions(Machine):
    """One method per class of expression."""

    def evaluators(self) -> Mapping[type, Evaluator]:
        """Node class -> method."""
        return {
            ast.Template: self._template,
            ast.Name: self._name,
            ast.Constant: self._constant,
            ast.Duration: self._duration,
            ast.Regex: self._regex,
            ast.Attribute: self._attribute,
            ast.Index: self._index,
            ast.Slice: self._slice,
            ast.Unary: self._unary,
            ast.Binary: self._binary,
            ast.Compare: self._compare,
            ast.Logical: self._logical,
            ast.Conditional: self._conditional,
            ast.ListLiteral: self._list,
            ast.RecordLiteral: self._record,
        }

    async def wait_for(self, promise: Promise, env: Env) -> Value:
        """The value of a promise; this strand's slot is free for others meanwhile."""
        if promise.done():
            return promise.result()
        async with env.strand.waiting():
            return await asyncio.shield(promise)

    async def pieces(self, node: ast.Expression, env: Env) -> list[tuple[str, bool]]:
        """An expression as text to append: (text, whether the program itself wrote it)."""
        if not isinstance(node, ast.Template):
            return [(text_of(await self.evaluate(node, env)), False)]
        pieces = []
        for part in node.parts:
            if isinstance(part, str):
                pieces.append((part, True))
            else:
                pieces.append((text_of(await self.evaluate(part, env)), False))
        return pieces

    async def _template(self, node: ast.Template, env: Env) -> Value:
        if node.literal is not None:
            return node.literal
        return checked_text("".join([text for text, _ in await self.pieces(node, env)]))

    async def _name(self, node: ast.Name, env: Env) -> Value:
        value = env.frame.lookup(node.name)
        return await self.wait_for(value, env) if isinstance(value, asyncio.Task) else value

    async def _constant(self, node: ast.Constant, env: Env) -> Value:
        return node.value

    async def _duration(self, node: ast.Duration, env: Env) -> Value:
        return node.seconds

    async def _regex(self, node: ast.Regex, env: Env) -> Value:
        raise ProgramError("E0299", "regular expressions as values are not in this version")

    async def _attribute(self, node: ast.Attribute, env: Env) -> Value:
        return operators.attribute(await self.evaluate(node.value, env), node.name)

    async def _index(self, node: ast.Index, env: Env) -> Value:
        container = await self.evaluate(node.value, env)
        return operators.item(container, await self.evaluate(node.index, env))

    async def _slice(self, node: ast.Slice, env: Env) -> Value:
        container = await self.evaluate(node.value, env)
        start = None if node.start is None else await self.evaluate(node.start, env)
        stop = None if node.stop is None else await self.evaluate(node.stop, env)
        return operators.part(container, start, stop)

    async def _unary(self, node: ast.Unary, env: Env) -> Value:
        value = await self.evaluate(node.operand, env)
        return operators.negate(value) if node.operator == "-" else not operators.truth(value, "`not`")

    async def _binary(self, node: ast.Binary, env: Env) -> Value:
        left = await self.evaluate(node.left, env)
        return operators.binary(node.operator, left, await self.evaluate(node.right, env))

    async def _compare(self, node: ast.Compare, env: Env) -> Value:
        left = await self.evaluate(node.left, env)
        return operators.compare(node.operator, left, await self.evaluate(node.right, env))

    async def _logical(self, node: ast.Logical, env: Env) -> Value:
        where = f"`{node.operator}`"
        left = operators.truth(await self.evaluate(node.left, env), where)
        if left == (node.operator == "or"):
            return left
        return operators.truth(await self.evaluate(node.right, env), where)

    async def _conditional(self, node: ast.Conditional, env: Env) -> Value:
        holds = operators.truth(await self.evaluate(node.condition, env), "`if`")
        return await self.evaluate(node.value if holds else node.otherwise, env)

    async def _list(self, node: ast.ListLiteral, env: Env) -> Value:
        return [await self.evaluate(item, env) for item in node.items]

    async def _record(self, node: ast.RecordLiteral, env: Env) -> Value:
        record: dict[str, Value] = {}
        for entry in node.fields:
            record[str(await self.evaluate(entry.key, env))] = await self.evaluate(entry.value, env)
        return record
