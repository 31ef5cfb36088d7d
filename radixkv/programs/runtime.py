"""`frontend_lang.runtime.Runtime` on our engine: types and errors translated, nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager

from frontend_lang import runtime as language
from radixkv import __version__
from radixkv import engine as engine_types
from radixkv.constraint import Choice, Constraint, JsonSchema, Lark, Regex
from radixkv.engine import CompletionDelta, Engine, Generation
from radixkv.errors import (
    ChatTemplateError,
    ConstraintError,
    ConstraintKind,
    EngineClosed,
    InvalidRequest,
    RadixKVError,
    RequestTooLarge,
)
from radixkv.request import SamplingParams, Usage

_CONSTRAINT_CODES = {
    ConstraintKind.INVALID: "E0504",
    ConstraintKind.BUDGET: "E0505",
    ConstraintKind.UNSUPPORTED: "E0506",
}
_CONTEXT_FIELDS = {"context", "role", "length"}


class EngineRuntime:
    """Runs programs on an engine, which it does not own: closing the engine is the caller's.

    Errors become RuntimeFailure: E0504 a constraint is malformed, E0505 takes too much, E0506 uses what is not
    supported, E0601 a generation failed or was refused, E0602 the chat template refused,
    E0606 the context does not fit, E0702 a context used wrongly, E0801 the engine was closed, E0803 a `timeout`
    was over.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def engine(self) -> Engine:
        """The engine behind it."""
        return self._engine

    @property
    def info(self) -> language.RuntimeInfo:
        """Model, version and how it computes."""
        engine = self._engine
        details = {
            "dtype": str(engine.model.dtype).removeprefix("torch."),
            "namespace": engine.model.digest,
            "max_context": str(engine.pool.max_context),
        }
        return language.RuntimeInfo(engine.model.files.name, engine.config.deterministic, __version__, details)

    async def open(self, namespace: str = "", model: str | None = None) -> language.ContextId:
        """A fresh, empty context."""
        with _translated():
            return language.ContextId(await self._engine.open(namespace, model))

    async def append(self, context: language.ContextId, parts: Sequence[language.Part]) -> None:
        """Buffer parts."""
        with _translated():
            await self._engine.append(context, [_engine_part(part) for part in parts])

    async def commit(self, context: language.ContextId) -> int:
        """Tokenise what is buffered."""
        with _translated():
            return await self._engine.commit(context)

    async def generate(
        self,
        context: language.ContextId,
        params: language.GenParams,
        constraint: language.Constraint | None = None,
    ) -> AsyncGenerator[language.Delta | language.GenResult, None]:
        """Commit, generate and append, under the constraint."""
        with _translated():
            sampling = _sampling(params)
            deadline = None if params.timeout_s is None else asyncio.get_running_loop().time() + params.timeout_s
            async with aclosing(self._engine.generate(context, sampling, _engine_constraint(constraint))) as items:
                while True:
                    async with asyncio.timeout_at(deadline):
                        item = await anext(items, None)
                    if item is None:
                        return
                    yield _language_item(item)

    async def score(
        self, context: language.ContextId, options: Sequence[str], norm: language.Norm = language.Norm.TOKENS
    ) -> language.Scores:
        """Score each option as the continuation of the context."""
        with _translated():
            scores = await self._engine.score(context, options, engine_types.Norm(norm.value))
        return language.Scores(scores.scores, scores.probabilities, scores.best, _call_usage(scores.usage))

    async def fork(self, context: language.ContextId, n: int) -> language.Fork:
        """Compute the prefix once and give children that share it."""
        with _translated():
            fork = await self._engine.fork(context, n)
        children = tuple(language.ContextId(child) for child in fork.children)
        return language.Fork(children, _call_usage(fork.usage), fork.shared_tokens)

    async def adopt(self, parent: language.ContextId, child: language.ContextId) -> None:
        """The parent becomes what the child is."""
        with _translated():
            await self._engine.adopt(parent, child)

    async def truncate(self, context: language.ContextId, length: int) -> None:
        """Forget all but the first `length` tokens."""
        with _translated():
            await self._engine.truncate(context, length)

    async def release(self, context: language.ContextId) -> None:
        """Give the context up."""
        with _translated():
            await self._engine.release(context)

    async def tokens(self, context: language.ContextId) -> list[int]:
        """The committed ids."""
        with _translated():
            return await self._engine.tokens(context)

    async def count(self, text: str) -> int:
        """Tokens of a text by itself."""
        with _translated():
            return await self._engine.count(text)


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of the engine as the language's."""
    try:
        yield
    except TimeoutError as error:
        raise language.RuntimeFailure("E0803", "the generation's timeout is over") from error
    except RadixKVError as error:
        raise language.RuntimeFailure(_code(error), str(error)) from error


def _code(error: RadixKVError) -> str:
    match error:
        case ConstraintError():
            return _CONSTRAINT_CODES[error.kind]
        case RequestTooLarge():
            return "E0606"
        case InvalidRequest() if error.field in _CONTEXT_FIELDS:
            return "E0702"
        case ChatTemplateError():
            return "E0602"
        case EngineClosed():
            return "E0801"
        case _:
            return "E0601"


def _engine_part(part: language.Part) -> engine_types.Part:
    match part:
        case language.Text(text):
            return engine_types.Text(text)
        case language.RoleOpen(role):
            return engine_types.RoleOpen(role.value)
        case language.RoleClose():
            return engine_types.RoleClose()


def _engine_constraint(constraint: language.Constraint | None) -> Constraint | None:
    match constraint:
        case None:
            return None
        case language.Regex(pattern):
            return Regex(pattern)
        case language.JsonSchema(schema):
            return JsonSchema(schema)
        case language.Lark(grammar):
            return Lark(grammar)
        case language.Choice(options):
            return Choice(options)


def _sampling(params: language.GenParams) -> SamplingParams:
    return SamplingParams(
        max_tokens=params.max_tokens,
        temperature=params.temperature,
        top_p=params.top_p,
        top_k=params.top_k,
        min_p=params.min_p,
        stop=params.stop,
        seed=params.seed,
        logprobs=params.logprobs,
    )


def _language_item(item: CompletionDelta | Generation) -> language.Delta | language.GenResult:
    if isinstance(item, CompletionDelta):
        return language.Delta(item.text, item.token_ids)
    logprobs = None if item.logprobs is None else tuple(entry.logprob for entry in item.logprobs)
    return language.GenResult(item.text, item.token_ids, item.finish_reason.value, _call_usage(item.usage), logprobs)


def _call_usage(usage: Usage) -> language.CallUsage:
    return language.CallUsage(
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.computed_tokens,
        usage.restored_tokens,
        usage.completion_tokens,
        usage.forks,
    )
