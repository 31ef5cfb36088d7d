"""gen and select: what the statements say, turned into what `running.generating` asks the model for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from frontend_lang.builtins import BOUND_PARAMETERS, BUILTINS
from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.calls import Calls
from frontend_lang.interpreter.frames import Env
from frontend_lang.operators import truth
from frontend_lang.running.details import GenDetail
from frontend_lang.running.generating import Accepts, GenRequest, SelectRequest, queue_gen, queue_select
from frontend_lang.running.options import gen_settings, norm_setting
from frontend_lang.running.promises import Promise
from frontend_lang.syntax import ast
from frontend_lang.types import ValueType
from frontend_lang.values import Value, text_of, type_name


class Generation(Calls):
    """The two statements that ask the model. Both bind a promise; evaluation goes on."""

    async def options(self, options: tuple[ast.Option, ...], env: Env) -> dict[str, Value]:
        """Evaluated options by name."""
        return {option.name: await self.evaluate(option.value, env) for option in options}

    async def gen(self, node: ast.Gen, env: Env) -> None:
        """Queue a generation and bind its value. An `until` that calls defs or tools is settled here, in its turn."""
        settings = gen_settings({**env.defaults, **await self.options(node.options, env)})
        self.run.counters.gen_max(settings.params.max_tokens)
        until = node.until
        request = GenRequest(
            node.name,
            node.site,
            settings,
            self.placed(node, env),
            self._value_type(node, env),
            None if until is None else self._accepts(node.name, until, env),
            () if until is None else _promises(until, env),
        )
        asked = queue_gen(self.run, env.where(), request)
        if env.in_steps or (until is not None and _acts(until)):
            await asked.promise.wait(env.strand)
        env.frame.bind(node.name, asked.promise, asked)

    def _value_type(self, node: ast.Gen, env: Env) -> ValueType | None:
        """What the text must be; None for plain text, which needs no parsing."""
        if node.type is None:
            return None
        found = self.types(env).gen_type(node.type)
        return None if found.constraint is None else found

    def _accepts(self, name: str, until: ast.Expression, env: Env) -> Accepts:
        """`until` sees the names as they are now, and every attempt as the value of its name."""
        frame = env.frame.snapshot()

        async def accepts(attempt: int, value: Any, detail: GenDetail) -> bool:
            frame.bind(name, value, detail)
            inner = replace(env, frame=frame, place=env.place.loop(attempt))
            async with self.scope(inner):
                return truth(await self.evaluate(until, inner), "`until`")

        return accepts

    async def select(self, node: ast.Select, env: Env) -> None:
        """Queue the scoring of the options and bind the likeliest, which the context goes on with."""
        options = option_texts(await self.evaluate(node.candidates, env))
        norm = norm_setting(await self.options(node.options, env))
        request = SelectRequest(node.name, node.site, options, norm, self.placed(node, env))
        asked = queue_select(self.run, env.where(), request)
        if env.in_steps:
            await asked.promise.wait(env.strand)
        env.frame.bind(node.name, asked.promise, asked)


def _promises(node: ast.Expression, env: Env) -> list[Promise[Value]]:
    """The promises that an expression needs."""
    names = {part.name for part in ast.walk(node) if isinstance(part, ast.Name) and env.frame.find(part.name)}
    values = [env.frame.lookup(name) for name in sorted(names)]
    return [value for value in values if isinstance(value, Promise)]


def _acts(node: ast.Expression) -> bool:
    """Whether an expression calls anything but builtins."""
    return any(isinstance(part, ast.Call) and not _is_builtin(part.callee) for part in ast.walk(node))


def _is_builtin(callee: ast.Expression) -> bool:
    return isinstance(callee, ast.Name) and (callee.name in BUILTINS or callee.name in BOUND_PARAMETERS)


def option_texts(candidates: Value) -> list[str]:
    """The options of a select as text. Raises E0402 and E0607."""
    if not isinstance(candidates, list):
        raise ProgramError("E0402", f"`select` needs a list of options, found {type_name(candidates)}")
    if not candidates:
        raise ProgramError("E0607", "`select` from an empty list")
    for candidate in candidates:
        if isinstance(candidate, (list, dict)) or candidate is None:
            raise ProgramError("E0402", f"an option of `select` is text, found {type_name(candidate)}")
        if candidate == "":
            raise ProgramError("E0607", "an option of `select` is empty text, which cannot be scored")
    return [text_of(candidate) for candidate in candidates]
