"""gen and select, whoever asks for them: queued on a context, their value a promise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from frontend_lang.errors import ProgramError
from frontend_lang.running.details import GenDetail
from frontend_lang.running.operations import Flush, Where, queue
from frontend_lang.running.options import DEFAULT_TRIES, GenSettings, time_limit
from frontend_lang.running.places import Placed, placing
from frontend_lang.running.promises import Derived, Promise
from frontend_lang.running.run import Run, usage_record
from frontend_lang.running.sampling_record import sampling_record
from frontend_lang.runtime import Constraint, ContextId, Delta, GenParams, GenResult, Norm, RuntimeFailure, Scores
from frontend_lang.seeds import request_seed
from frontend_lang.values import checked_text


class Parsed(Protocol):
    """A type that texts are generated under: what the text must be, and how it becomes a value."""

    @property
    def constraint(self) -> Constraint | None:
        """None: any text."""
        ...

    def parse(self, text: str) -> Any:
        """The value. Raises ProgramError E0609."""
        ...


Accepts = Callable[[int, Any, GenDetail], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class GenRequest:
    """One gen: the name it binds, its site, how to sample, what the text must be.

    `accepts` judges (attempt, value, detail), and what it refuses is generated anew; `inputs` are promises that it
    needs. `placed` adds a place to an error.
    """

    name: str
    site: str
    settings: GenSettings
    placed: Placed
    type: Parsed | None = None
    accepts: Accepts | None = None
    inputs: Sequence[Promise[Any]] = ()


@dataclass(frozen=True, slots=True)
class SelectRequest:
    """One select: the name it binds, its site, the options, and how they are scored."""

    name: str
    site: str
    options: Sequence[str]
    norm: Norm
    placed: Placed


@dataclass(slots=True)
class Asked:
    """What the model has been asked for: the promise of a value, and what else comes of it, once that is done."""

    promise: Promise[Any]
    detail: GenDetail | None = None


def queue_gen(run: Run, where: Where, request: GenRequest) -> Asked:
    """Generate behind what is on the context; whatever the text will be, it is part of the context from now on."""
    generation = _Generation(run, where, request)
    where.context.written.append(Derived((generation.asked.promise,), generation.text))
    return generation.asked


def queue_select(run: Run, where: Where, request: SelectRequest) -> Asked:
    """Score the options as continuations of the context, then append the likeliest."""
    asked = _Selection(run, where, request).asked
    where.context.add_promise(asked.promise)
    return asked


class _Generation:
    """One gen on its way."""

    def __init__(self, run: Run, where: Where, request: GenRequest) -> None:
        self._run = run
        self._where = where
        self._request = request
        self._role = where.context.role
        self.asked = Asked(queue(run, where, self._work, request.inputs))

    def text(self) -> str:
        """What was generated."""
        return "" if self.asked.detail is None else self.asked.detail.text

    async def _work(self, flush: Flush) -> Any:
        with placing(self._request.placed):
            settings = self._request.settings
            tries = settings.tries or (1 if self._request.accepts is None else DEFAULT_TRIES)
            context = await flush()
            if self._request.type is None and self._request.accepts is None:
                return await self._attempt(0, context)
            return await self._attempts(tries, context)

    async def _attempts(self, tries: int, context: ContextId) -> Any:
        """Try from the same snapshot until the text is what it has to be."""
        length = await self._run.runtime.commit(context)
        for attempt in range(tries):
            try:
                return await self._attempt(attempt, context)
            except _Refused as refused:
                await self._run.runtime.truncate(context, length)
                last = refused.error
        if tries > 1 and last.code == "E0609":
            last = ProgramError(last.code, f"{last.message} (the last of {tries} tries)", last.hint)
        raise last

    async def _attempt(self, attempt: int, context: ContextId) -> Any:
        """One try: the value. Raises _Refused for a text that is not what it has to be."""
        request = self._request
        result = await self._generate(attempt, context)
        detail = GenDetail(result.text, result.token_ids, result.finish_reason, result.logprobs)
        value = checked_text(result.text) if request.type is None else self._parsed(request.type, result)
        if request.accepts is not None and not await request.accepts(attempt, value, detail):
            tries = request.settings.tries or DEFAULT_TRIES
            what = f"`until` did not hold in {tries} tries of `{request.name}`"
            raise _Refused(ProgramError("E0603", what, "raise `tries`"))
        self.asked.detail = detail
        return value

    def _parsed(self, declared: Parsed, result: GenResult) -> Any:
        try:
            return declared.parse(checked_text(result.text))
        except ProgramError as error:
            if result.finish_reason == "length":
                cut = f"{error.message}; it was cut at max={self._request.settings.params.max_tokens}"
                error = ProgramError(error.code, cut, "raise `max`")
            raise _Refused(error) from error

    async def _generate(self, attempt: int, context: ContextId) -> GenResult:
        left = self._run.tokens_left()
        params = self._seeded(attempt)
        events, started = self._run.events, self._run.events.elapsed_s()
        if events.active:
            what = {"attempt": attempt, "seed": params.seed, "role": self._role}
            self._tell("gen.start", context, **what, sampling=sampling_record(params, self._constraint))
        capped = left is not None and left < params.max_tokens
        asked = replace(params, max_tokens=left) if capped and left is not None else params
        async with _continuing(self._run, context, f"gen `{self._request.name}`"):
            result = await self._stream(asked, context)
        if events.active:
            took_ms = round((events.elapsed_s() - started) * 1000, 3)
            self._tell("gen.end", context, ms=took_ms, **_ended(result))
        self._run.spend(result.usage)
        if capped and result.finish_reason == "length":
            raise self._run.over_tokens()
        return result

    @property
    def _constraint(self) -> Constraint | None:
        return None if self._request.type is None else self._request.type.constraint

    def _seeded(self, attempt: int) -> GenParams:
        """An explicit seed counts as the run seed would: every site, branch, round and attempt draws its own."""
        settings = self._request.settings
        run_seed = self._run.seed if settings.seed is None else settings.seed
        seed = request_seed(run_seed, self._request.site, self._where.place, attempt)
        return replace(settings.params, seed=seed)

    async def _stream(self, params: GenParams, context: ContextId) -> GenResult:
        result: GenResult | None = None
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(time_limit(params.timeout_s, f"gen `{self._request.name}`"))
            stream = self._run.runtime.generate(context, params, self._constraint)
            if hasattr(stream, "aclose"):
                stack.push_async_callback(stream.aclose)
            result = await self._consume(stream, context)
        if result is None:
            raise ProgramError("E0701", "the runtime's stream ended without a result")
        return result

    async def _consume(self, stream: AsyncIterator[Delta | GenResult], context: ContextId) -> GenResult | None:
        result: GenResult | None = None
        with self._run.sampling() as sampled:
            async for item in stream:
                if isinstance(item, GenResult):
                    result = item
                else:
                    self._run.text_arrived()
                    sampled(len(item.token_ids))
                    if self._run.events.active:
                        what = {"name": self._request.name, "text": item.text}
                        self._run.events.emit("gen.delta", what, ctx=context, path=self._where.path)
        return result

    def _tell(self, event: str, context: ContextId, **data: object) -> None:
        what = {"name": self._request.name, "site": self._request.site, **data}
        self._run.events.emit(event, what, ctx=context, path=self._where.path)


class _Refused(Exception):
    """A text that is not what it has to be."""

    def __init__(self, error: ProgramError) -> None:
        super().__init__(error.message)
        self.error = error


class _Selection:
    """One select on its way."""

    def __init__(self, run: Run, where: Where, request: SelectRequest) -> None:
        self._run = run
        self._where = where
        self._request = request
        self._role = where.context.role
        self.asked = Asked(queue(run, where, self._work))

    async def _work(self, flush: Flush) -> str:
        with placing(self._request.placed):
            options = self._request.options
            self._run.tokens_left()
            context = await flush()
            started = self._run.events.elapsed_s()
            self._tell("select.start", context)
            async with _continuing(self._run, context, f"select `{self._request.name}`"):
                scores = await self._run.runtime.score(context, options, self._request.norm)
            self._run.spend(scores.usage)
            chosen = options[scores.best]
            self.asked.detail = GenDetail(chosen, distribution=_distribution(options, scores))
            took_ms = round((self._run.events.elapsed_s() - started) * 1000, 3)
            probs, usage = self.asked.detail.distribution, usage_record(scores.usage)
            self._tell("select.end", context, value=chosen, probs=probs, usage=usage, ms=took_ms)
            return chosen

    def _tell(self, event: str, context: ContextId, **data: object) -> None:
        """An event; its seed, which samples nothing, names the place as that of a gen does."""
        if self._run.events.active:
            seed = request_seed(self._run.seed, self._request.site, self._where.place)
            what = {"name": self._request.name, "site": self._request.site, "seed": seed, "role": self._role}
            self._run.events.emit(event, {**what, **data}, ctx=context, path=self._where.path)


def _distribution(options: Sequence[str], scores: Scores) -> dict[str, float]:
    distribution: dict[str, float] = {}
    for option, probability in zip(options, scores.probabilities, strict=True):
        distribution[option] = distribution.get(option, 0.0) + probability
    return distribution


@asynccontextmanager
async def _continuing(run: Run, context: ContextId, what: str) -> AsyncIterator[None]:
    """Say in the program's words that a model has no token to continue from."""
    try:
        yield
    except RuntimeFailure as failure:
        if failure.code != "E0702" or await run.runtime.commit(context):
            raise
        message = f"{what} has nothing to continue: the context is empty"
        raise ProgramError("E0702", message, "write some text before it, such as `user: …`") from failure


def _ended(result: GenResult) -> dict[str, object]:
    """What gen.end says about a result."""
    logprobs = {} if result.logprobs is None else {"logprobs": list(result.logprobs)}
    return {
        "value": result.text,
        "tokens": len(result.token_ids),
        "token_ids": list(result.token_ids),
        "finish_reason": result.finish_reason,
        "usage": usage_record(result.usage),
        **logprobs,
    }
