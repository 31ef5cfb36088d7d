"""Builtins that need more than the values of their arguments: the run, or what a gen or select left with a name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from frontend_lang.builtin_functions.arguments import a_text, an_int
from frontend_lang.builtins import BOUND_PARAMETERS
from frontend_lang.chunking import chunks
from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.frames import Env
from frontend_lang.interpreter.machine import Machine
from frontend_lang.rows import CsvRows, JsonRows, Rows, not_utf8
from frontend_lang.running.details import GenDetail
from frontend_lang.running.run import usage_record
from frontend_lang.sources import opened, undecoded
from frontend_lang.syntax import ast
from frontend_lang.values import MAX_TEXT, Value, checked_text, from_python

BoundBuiltin = Callable[[Machine, ast.Call, Env], Awaitable[Value]]
_OfValues = Callable[[Machine, Env, Mapping[str, Value]], Awaitable[Value]]
_OfDetail = Callable[[GenDetail], Value]


async def _usage(machine: Machine, env: Env, given: Mapping[str, Value]) -> Value:
    await machine.settle(env)
    return usage_record(machine.run.usage)


async def _ntok(machine: Machine, env: Env, given: Mapping[str, Value]) -> Value:
    return await machine.run.runtime.count(a_text("ntok", given["text"]))


async def _chunk(machine: Machine, env: Env, given: Mapping[str, Value]) -> Value:
    text, size = a_text("chunk", given["text"]), an_int("chunk", given["size"], low=1, high=MAX_TEXT)
    overlap = an_int("chunk", given.get("overlap", 0), low=0, high=MAX_TEXT)
    if overlap >= size:
        raise ProgramError("E0401", f"`chunk`: overlap={overlap} with size={size}", "the overlap is less than the size")
    return list(await chunks(text, size, overlap, machine.run.runtime.count))


async def _read(machine: Machine, env: Env, given: Mapping[str, Value]) -> Value:
    path = a_text("read", given["path"])
    with opened(machine.data, path) as stream:
        text = stream.read(MAX_TEXT + 1)
    byte = undecoded(text)
    if byte is not None:
        before = text[: byte.start()]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise ProgramError("E0705", f"{path}:{line}:{column}: {not_utf8(byte[0])}")
    return from_python(checked_text(text))


async def _jsonl(machine: Machine, env: Env, given: Mapping[str, Value]) -> Value:
    return _opened(JsonRows(machine.data, a_text("jsonl", given["path"])))


async def _csv(machine: Machine, env: Env, given: Mapping[str, Value]) -> Value:
    separator = a_text("csv", given.get("sep", ","))
    if len(separator) != 1 or separator in '"\r\n':
        raise ProgramError("E0401", f"`csv`: sep={separator!r}", "one character, such as ',' or ';' or \"\\t\"")
    return _opened(CsvRows(machine.data, a_text("csv", given["path"]), separator))


def _opened(rows: Rows) -> Value:
    """The rows, if their file can be opened: an error belongs where the file is named, not where it is first read."""
    rows.source.open(rows.path).close()
    return rows  # type: ignore[return-value]


_OF_VALUES: Mapping[str, _OfValues] = {
    "usage": _usage, "ntok": _ntok, "chunk": _chunk, "read": _read, "jsonl": _jsonl, "csv": _csv,
}  # fmt: skip


def _raw(detail: GenDetail) -> Value:
    return detail.text


def _prob(detail: GenDetail) -> Value:
    return _with_logprobs(detail.probability)


def _logprob(detail: GenDetail) -> Value:
    return _with_logprobs(detail.logprob)


def _with_logprobs(number: float | None) -> Value:
    if number is None:
        raise ProgramError("E0611", "the gen was made without log-probabilities", "gen x with logprobs=1")
    return number


def _probs(detail: GenDetail) -> Value:
    if detail.distribution is None:
        raise ProgramError("E0608", "a gen has no distribution, only a select has", "probs(x) after `select x from …`")
    return dict(detail.distribution)


def _tokens(detail: GenDetail) -> Value:
    if detail.token_ids is None:
        raise ProgramError("E0611", "a select has no tokens of its own", "tokens(x) after `gen x`; ntok(x) counts")
    return list(detail.token_ids)


def _finish(detail: GenDetail) -> Value:
    if detail.finish_reason is None:
        raise ProgramError("E0611", "a select has no reason to end", "finish(x) after `gen x`")
    return detail.finish_reason


OF_DETAILS: Mapping[str, _OfDetail] = {
    "raw": _raw, "prob": _prob, "probs": _probs, "logprob": _logprob, "tokens": _tokens, "finish": _finish,
}  # fmt: skip


def _by_values(name: str, function: _OfValues) -> BoundBuiltin:
    async def call(machine: Machine, node: ast.Call, env: Env) -> Value:
        positional = [await machine.evaluate(item.value, env) for item in node.arguments if item.name is None]
        named = {item.name: await machine.evaluate(item.value, env) for item in node.arguments if item.name is not None}
        return await function(machine, env, BOUND_PARAMETERS[name].bind(positional, named))

    return call


def _by_detail(name: str, function: _OfDetail) -> BoundBuiltin:
    async def call(machine: Machine, node: ast.Call, env: Env) -> Value:
        argument = node.arguments[0].value if len(node.arguments) == 1 else None
        if not isinstance(argument, ast.Name):
            raise ProgramError("E0307", f"`{name}` needs the name that a gen or select has bound", f"{name}(x)")
        await machine.evaluate(argument, env)  # what is left with a name is there when its value is
        detail = env.frame.detail(argument.name)
        if detail is None:
            code = "E0608" if name == "probs" else "E0611"
            raise ProgramError(code, f"`{argument.name}` is not bound by gen or select", f"{name}(x) after `gen x`")
        return function(detail)

    return call


BOUND_BUILTINS: Mapping[str, BoundBuiltin] = {
    **{name: _by_values(name, function) for name, function in _OF_VALUES.items()},
    **{name: _by_detail(name, function) for name, function in OF_DETAILS.items()},
}
