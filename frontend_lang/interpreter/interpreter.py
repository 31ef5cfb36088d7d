"""Execution of statements: the top layer of the interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.entry import as_args
from frontend_lang.interpreter.frames import Env, Eventual
from frontend_lang.interpreter.machine import Executor, Jump, Signal
from frontend_lang.interpreter.tools import Tools
from frontend_lang.operators import truth
from frontend_lang.rows import iterated
from frontend_lang.running.contexts import Appended
from frontend_lang.running.operations import tell
from frontend_lang.running.places import placing
from frontend_lang.running.promises import Derived, Promise
from frontend_lang.runtime import Role
from frontend_lang.syntax import ast
from frontend_lang.values import Value, from_python, text_of, type_name


class Interpreter(Tools):
    """One method per class of statement. Its inputs have the arguments of the entry."""

    def executors(self) -> Mapping[type, Executor]:
        """Node class -> method."""
        forks = dict.fromkeys((ast.CountFork, ast.EachFork, ast.ArmsFork), self._fork_statement)
        return {
            **super().executors(),
            **forks,
            **dict.fromkeys((ast.Def, ast.TypeDefinition, ast.Test, ast.Tool, ast.Import), self._declaration),
            ast.Param: self._param,
            ast.Let: self._let,
            ast.Assign: self._assign,
            ast.Evaluate: self._evaluate,
            ast.TextStatement: self._text,
            ast.RoleStatement: self._role,
            ast.Gen: self._gen,
            ast.Select: self._select,
            ast.Use: self._use,
            ast.If: self._if,
            ast.For: self._for,
            ast.Repeat: self._repeat,
            ast.Break: self._break,
            ast.Continue: self._continue,
            ast.Return: self._return,
            ast.Yield: self._yield,
        }

    async def execute_block(self, block: ast.Block, env: Env) -> Signal | None:
        """Run a block; what `set` sets holds until its end."""
        return await self.execute_all(block.statements, env)

    async def execute_all(self, statements: Sequence[ast.Statement], env: Env) -> Signal | None:
        """Run statements in order; the signal that ended them early."""
        for statement in statements:
            if isinstance(statement, ast.Set):
                env = env.with_defaults(await self.options(statement.options, env))
                continue
            signal = await self.execute(statement, env)
            if env.in_steps:
                await self.settle(env)
            if signal is not None:
                return signal
        return None

    async def _declaration(self, node: ast.Statement, env: Env) -> None:
        """Defs, types, tools and imports are known before the run; tests are not part of it."""

    async def _param(self, node: ast.Param, env: Env) -> None:
        env.frame.bind(node.name, await self.parameter(node, env))

    async def parameter(self, node: ast.Param | ast.Parameter, env: Env) -> Value:
        """The value of a parameter of the run: as given, else its default. Raises E0307."""
        if node.name in self.inputs.arguments:
            return await self._given(node, env)
        if node.default is None:
            raise ProgramError("E0307", f"no value for parameter `{node.name}`", as_args([node.name]))
        return self.types(env).fit(await self.evaluate(node.default, env), node.type, f"parameter `{node.name}`")

    async def _given(self, node: ast.Param | ast.Parameter, env: Env) -> Value:
        """Without a declared type, a default that is no str says that an argument which is a text is JSON."""
        declared, given, what = node.type, self.inputs.arguments[node.name], f"parameter `{node.name}`"
        if not self.inputs.texts:
            return self.types(env).fit(from_python(given), declared, what)
        if declared is None and node.default is not None:
            kind = type_name(await self.evaluate(node.default, env))
            declared = ast.NamedType("json", span=node.span) if kind != "str" else None
        return self.types(env).from_argument(given, declared, what)

    async def _let(self, node: ast.Let, env: Env) -> None:
        env.frame.bind(node.name, await self._right_side(node.value, env, node.type, node.name))

    async def _assign(self, node: ast.Assign, env: Env) -> None:
        env.frame.check_assignable(node.name)
        env.frame.assign(node.name, await self._right_side(node.value, env, None, node.name))

    async def _right_side(self, node: ast.RightSide, env: Env, declared: ast.Type | None, name: str) -> Eventual:
        """A promise, where the value may come later; it must fit the declared type then."""
        value = await self.deferred(node, env)
        if env.in_steps:
            value = await self.settled(value, env)
        if not isinstance(value, Promise):
            return self.types(env).fit(value, declared, f"`{name}`")
        return value if declared is None else self._fitting(value, node, env, declared, name)

    def _fitting(
        self, promise: Promise[Value], node: ast.RightSide, env: Env, declared: ast.Type, name: str
    ) -> Promise[Value]:
        types, placed = self.types(env), self.placed(node, env)

        def fitted() -> Value:
            with placing(placed):
                return types.fit(promise.result(), declared, f"`{name}`")

        fitting = Derived((promise,), fitted)
        env.frame.begun.add(fitting)
        return fitting

    async def _evaluate(self, node: ast.Evaluate, env: Env) -> None:
        await self.evaluate(node.expression, env)

    async def _fork_statement(self, node: ast.Fork, env: Env) -> None:
        await self.evaluate(node, env)

    async def _text(self, node: ast.TextStatement, env: Env) -> None:
        await self._append(node.value, env, "\n" if node.newline else "")

    async def _append(self, node: ast.Expression, env: Env, ending: str = "") -> None:
        context = env.context
        pieces = await self.pieces(node, env)
        if env.in_steps:
            pieces = [(text_of(await self.settled(piece, env)), trusted) for piece, trusted in pieces]
        for piece, trusted in pieces:
            if isinstance(piece, Promise):
                context.add_promise(piece)
            else:
                context.add_text(piece, trusted)
        context.add_text(ending, trusted=True)
        if self.run.events.active:
            self._tell_text([*(piece for piece, _ in pieces), ending], env)

    def _tell_text(self, pieces: Sequence[str | Promise[Value]], env: Env) -> None:
        """Now, or when all that stands before it is known."""
        appended = Appended(pieces, env.context.role, env.path)
        if env.context.up_to_date():
            tell(self.run, env.context, [appended])
        else:
            env.context.tell_later(appended)

    async def _role(self, node: ast.RoleStatement, env: Env) -> Signal | None:
        env.context.open_role(Role(node.role))
        signal = None
        if isinstance(node.body, ast.Block):
            signal = await self.execute_block(node.body, env)
        elif isinstance(node.body, (ast.Gen, ast.Select)):
            await self.execute(node.body, env)
        else:
            await self._append(node.body, env)
        env.context.close_role()
        return signal

    async def _gen(self, node: ast.Gen, env: Env) -> None:
        await self.gen(node, env)

    async def _select(self, node: ast.Select, env: Env) -> None:
        await self.select(node, env)

    async def _use(self, node: ast.Use, env: Env) -> None:
        if not isinstance(node.call, ast.Call):
            raise ProgramError("E0304", "`use` needs a call of a def", "use f(x)")
        await self.use(node.call, env)

    async def _if(self, node: ast.If, env: Env) -> Signal | None:
        for clause in node.clauses:
            if truth(await self.evaluate(clause.condition, env), "`if`"):
                return await self.execute_block(clause.body, env)
        return None if node.otherwise is None else await self.execute_block(node.otherwise, env)

    async def _for(self, node: ast.For, env: Env) -> Signal | None:
        items = await self.evaluate(node.items, env)
        if isinstance(items, list):
            self.run.counters.loop(len(items))
        with iterated(items, "`for`") as elements:
            for index, item in enumerate(elements):
                self.run.counters.loop(index + 1)
                env.frame.bind(node.name, item)
                if node.index is not None:
                    env.frame.bind(node.index, index)
                signal = await self._round(node.body, index, env)
                if signal is not None:
                    return _after_loop(signal)
        return None

    async def _repeat(self, node: ast.Repeat, env: Env) -> Signal | None:
        count = await self.evaluate(node.count, env)
        if type(count) is not int or count < 0:
            raise ProgramError("E0402", "`repeat` needs an int that is not negative")
        self.run.counters.loop(count)
        for index in range(count):
            signal = await self._round(node.body, index, env)
            if signal is not None:
                return _after_loop(signal)
        return None

    async def _round(self, body: ast.Block, index: int, env: Env) -> Signal | None:
        """One round of a loop; the signal that ends the loop."""
        await self.run.step(env.strand)
        signal = await self.execute_block(body, env.looped(index))
        return None if signal is not None and signal.jump is Jump.CONTINUE else signal

    async def _break(self, node: ast.Break, env: Env) -> Signal:
        return Signal(Jump.BREAK)

    async def _continue(self, node: ast.Continue, env: Env) -> Signal:
        return Signal(Jump.CONTINUE)

    async def _return(self, node: ast.Return, env: Env) -> Signal:
        return Signal(Jump.RETURN, await self.evaluate(node.value, env))

    async def _yield(self, node: ast.Yield, env: Env) -> Signal:
        return Signal(Jump.YIELD, await self.evaluate(node.value, env))


def _after_loop(signal: Signal) -> Signal | None:
    return None if signal.jump is Jump.BREAK else signal
