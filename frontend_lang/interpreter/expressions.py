"""Evaluation of expressions other than calls and forks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from frontend_lang import operators
from frontend_lang.interpreter.frames import Env, Eventual
from frontend_lang.interpreter.machine import Deferrer, Evaluator, Machine
from frontend_lang.running.promises import Derived, Promise
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

    def deferrers(self) -> Mapping[type, Deferrer]:
        """What may be made of promises without a wait."""
        return {
            ast.Template: self._later_template,
            ast.Name: self._later_name,
            ast.Conditional: self._later_conditional,
            ast.ListLiteral: self._later_list,
            ast.RecordLiteral: self._later_record,
        }

    async def pieces(self, node: ast.Expression, env: Env) -> list[tuple[str | Promise[Value], bool]]:
        """An expression as text to append: (text or the promise of a value, whether the program itself wrote it)."""
        if not isinstance(node, ast.Template):
            return [(_as_text(await self.deferred(node, env)), False)]
        return [
            (part, True) if isinstance(part, str) else (_as_text(await self.deferred(part, env)), False)
            for part in node.parts
        ]

    async def _later_template(self, node: ast.Template, env: Env) -> Eventual:
        if node.literal is not None:
            return node.literal
        pieces = [piece for piece, _ in await self.pieces(node, env)]
        return made_of(pieces, lambda values: checked_text("".join(map(text_of, values))))

    async def _template(self, node: ast.Template, env: Env) -> Value:
        if node.literal is not None:
            return node.literal
        return await self.settled(await self._later_template(node, env), env)

    async def _later_name(self, node: ast.Name, env: Env) -> Eventual:
        value = env.frame.lookup(node.name)
        if isinstance(value, Promise) and value.done() and not value.failed:
            return value.result()
        return value

    async def _name(self, node: ast.Name, env: Env) -> Value:
        return await self.settled(env.frame.lookup(node.name), env)

    async def _constant(self, node: ast.Constant, env: Env) -> Value:
        return node.value

    async def _duration(self, node: ast.Duration, env: Env) -> Value:
        return node.seconds

    async def _regex(self, node: ast.Regex, env: Env) -> Value:
        return node.pattern

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

    async def _chosen(self, node: ast.Conditional, env: Env) -> ast.Expression:
        holds = operators.truth(await self.evaluate(node.condition, env), "`if`")
        return node.value if holds else node.otherwise

    async def _conditional(self, node: ast.Conditional, env: Env) -> Value:
        return await self.evaluate(await self._chosen(node, env), env)

    async def _later_conditional(self, node: ast.Conditional, env: Env) -> Eventual:
        return await self.deferred(await self._chosen(node, env), env)

    async def _later_list(self, node: ast.ListLiteral, env: Env) -> Eventual:
        return made_of([await self.deferred(item, env) for item in node.items], list)

    async def _list(self, node: ast.ListLiteral, env: Env) -> Value:
        return await self.settled(await self._later_list(node, env), env)

    async def _later_record(self, node: ast.RecordLiteral, env: Env) -> Eventual:
        record: dict[str, Eventual] = {}
        for entry in node.fields:
            record[str(await self.evaluate(entry.key, env))] = await self.deferred(entry.value, env)
        keys = list(record)
        return made_of(list(record.values()), lambda values: dict(zip(keys, values, strict=True)))

    async def _record(self, node: ast.RecordLiteral, env: Env) -> Value:
        return await self.settled(await self._later_record(node, env), env)


def _as_text(value: Eventual) -> str | Promise[Value]:
    return value if isinstance(value, Promise) else text_of(value)


def made_of(parts: Sequence[Eventual], make: Callable[[list[Value]], Value]) -> Eventual:
    """A value made of parts: now, if all are there."""
    promises = [part for part in parts if isinstance(part, Promise)]
    if not promises:
        return make(list(parts))  # type: ignore[arg-type]
    return Derived(promises, lambda: make([part.result() if isinstance(part, Promise) else part for part in parts]))
