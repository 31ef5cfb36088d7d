"""gen and select."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.calls import Calls
from frontend_lang.interpreter.frames import Env
from frontend_lang.operators import truth
from frontend_lang.running.details import GenDetail
from frontend_lang.running.options import GenSettings, gen_settings, norm_setting, time_limit
from frontend_lang.running.run import usage_record
from frontend_lang.runtime import ContextId, Delta, GenParams, GenResult, RuntimeFailure
from frontend_lang.seeds import request_seed
from frontend_lang.syntax import ast
from frontend_lang.values import Value, checked_text, text_of, type_name


class Generation(Calls):
    """The two statements that ask the model."""

    async def options(self, options: tuple[ast.Option, ...], env: Env) -> dict[str, Value]:
        """Evaluated options by name."""
        return {option.name: await self.evaluate(option.value, env) for option in options}

    async def gen(self, node: ast.Gen, env: Env) -> None:
        """Generate, at most `tries` times from the same snapshot until the condition holds; bind the text."""
        if node.type is not None and getattr(node.type, "name", "") != "str":
            raise ProgramError("E0299", "typed gen is not in this version", "gen the text, then int(x) or float(x)")
        settings = gen_settings({**env.defaults, **await self.options(node.options, env)})
        self.run.counters.gen_max(settings.params.max_tokens)
        context = await self.run.contexts.flush(env.context)
        if node.until is None:
            result = await self._generate(node, settings, 0, context, env)
            self._keep(node.name, result, env)
        else:
            await self._gen_until(node, node.until, settings, context, env)

    async def _gen_until(
        self, node: ast.Gen, until: ast.Expression, settings: GenSettings, context: ContextId, env: Env
    ) -> None:
        length = await self.run.runtime.commit(context)
        for attempt in range(settings.tries):
            result = await self._generate(node, settings, attempt, context, env)
            env.frame.bind(node.name, checked_text(result.text), _detail(result))
            if truth(await self.evaluate(until, env.looped(attempt)), "`until`"):
                self._keep(node.name, result, env)
                return
            await self.run.runtime.truncate(context, length)
        raise ProgramError("E0603", f"`until` did not hold in {settings.tries} tries of `{node.name}`", "raise `tries`")

    def _keep(self, name: str, result: GenResult, env: Env) -> None:
        env.frame.bind(name, checked_text(result.text), _detail(result))
        env.context.written.append(result.text)

    async def _generate(
        self, node: ast.Gen, settings: GenSettings, attempt: int, context: ContextId, env: Env
    ) -> GenResult:
        left = self.run.tokens_left()
        params = self._seeded(node.site, settings, attempt, env)
        events, started = self.run.events, self.run.events.elapsed_s()
        if events.active:
            what = {"name": node.name, "site": node.site, "attempt": attempt, "seed": params.seed}
            what["role"] = env.context.role
            events.emit("gen.start", what, ctx=context, path=env.path)
        capped = left is not None and left < params.max_tokens
        asked = replace(params, max_tokens=left) if capped and left is not None else params
        async with self._continuing(context, f"gen `{node.name}`"):
            result = await self._stream(node.name, asked, context, env)
        self.run.spend(result.usage)
        if events.active:
            took_ms = round((events.elapsed_s() - started) * 1000, 3)
            what = {"name": node.name, "site": node.site, "ms": took_ms, **_ended(result)}
            events.emit("gen.end", what, ctx=context, path=env.path)
        if capped and result.finish_reason == "length":
            raise self.run.over_tokens()
        return result

    @asynccontextmanager
    async def _continuing(self, context: ContextId, what: str) -> AsyncIterator[None]:
        """Say in the program's words that a model has no token to continue from."""
        try:
            yield
        except RuntimeFailure as failure:
            if failure.code != "E0702" or await self.run.runtime.commit(context):
                raise
            message = f"{what} has nothing to continue: the context is empty"
            raise ProgramError("E0702", message, "write some text before it, such as `user: …`") from failure

    def _seeded(self, site: str, settings: GenSettings, attempt: int, env: Env) -> GenParams:
        """An explicit seed counts as the run seed would: every site, branch, round and attempt draws its own."""
        run_seed = self.run.seed if settings.seed is None else settings.seed
        return replace(settings.params, seed=request_seed(run_seed, site, env.place, attempt))

    async def _stream(self, name: str, params: GenParams, context: ContextId, env: Env) -> GenResult:
        result: GenResult | None = None
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(time_limit(params.timeout_s, f"gen `{name}`"))
            stream = self.run.runtime.generate(context, params)
            if hasattr(stream, "aclose"):
                stack.push_async_callback(stream.aclose)
            result = await self._consume(stream, name, context, env)
        if result is None:
            raise ProgramError("E0701", "the runtime's stream ended without a result")
        return result

    async def _consume(
        self, stream: AsyncIterator[Delta | GenResult], name: str, context: ContextId, env: Env
    ) -> GenResult | None:
        events = self.run.events
        result: GenResult | None = None
        async for item in stream:
            if isinstance(item, GenResult):
                result = item
            else:
                self.run.text_arrived()
                if events.active:
                    events.emit("gen.delta", {"name": name, "text": item.text}, ctx=context, path=env.path)
        return result

    async def select(self, node: ast.Select, env: Env) -> None:
        """Score the options as continuations of the context, append and bind the likeliest."""
        options = option_texts(await self.evaluate(node.candidates, env))
        norm = norm_setting(await self.options(node.options, env))
        self.run.tokens_left()
        context = await self.run.contexts.flush(env.context)
        async with self._continuing(context, f"select `{node.name}`"):
            scores = await self.run.runtime.score(context, options, norm)
        self.run.spend(scores.usage)
        chosen = options[scores.best]
        distribution: dict[str, float] = {}
        for option, probability in zip(options, scores.probabilities, strict=True):
            distribution[option] = distribution.get(option, 0.0) + probability
        env.frame.bind(node.name, chosen, GenDetail(chosen, distribution=distribution))
        env.context.add_text(chosen, trusted=False)
        if self.run.events.active:
            what = {"name": node.name, "site": node.site, "value": chosen, "probs": distribution}
            spent = {"usage": usage_record(scores.usage), "role": env.context.role}
            self.run.events.emit("select.end", {**what, **spent}, ctx=context, path=env.path)


def _detail(result: GenResult) -> GenDetail:
    return GenDetail(result.text, result.token_ids, result.finish_reason, result.logprobs)


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
