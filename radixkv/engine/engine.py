"""The async engine: requests and contexts in front, one thread that computes behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Self, cast

import torch

from radixkv.config import EngineConfig
from radixkv.constraint import Constraint
from radixkv.engine.checks import check_priority, check_sampling, check_text
from radixkv.engine.completions import CompletionBuilder, CompletionDelta, delta_of
from radixkv.engine.constraining import check_constraint, compiled
from radixkv.engine.contexts import ContextVerbs
from radixkv.engine.core import EngineCore, EngineStats
from radixkv.engine.gateway import Gateway
from radixkv.engine.messages import Question
from radixkv.engine.prompts import Prompt, check_vocabulary, prompt_tokens
from radixkv.engine.sizing import PoolPlan
from radixkv.engine.startup import EngineParts, Notify, ProgressReport, fit_parts, load_parts
from radixkv.engine.switchboard import Switchboard
from radixkv.models import LoadedModel
from radixkv.request import Completion, Request, SamplingParams
from radixkv.runner import AttentionChoice
from radixkv.tokenizer import Tokenizer

GREEDY = SamplingParams(temperature=0.0)


class Engine(ContextVerbs):
    """A model, its cache and a thread that runs requests on them.

    Coroutines may be called from any event loop, from several at once too. Bad input raises InvalidRequest (or
    RequestTooLarge), a request that broke inside RequestFailed, any call after `close` EngineClosed.
    """

    def __init__(self, parts: EngineParts) -> None:
        self._switchboard = Switchboard()
        core = EngineCore(parts, self._switchboard)
        gateway = Gateway(core.inbox, self._switchboard, partial(_run_core, core, parts.threads))
        super().__init__(parts, gateway)

    @classmethod
    def start(
        cls,
        config: EngineConfig | None = None,
        *,
        progress: ProgressReport | None = None,
        notify: Notify | None = None,
    ) -> Engine:
        """Load the model, fetching it on first use, and start.

        `progress` gets the loaded fraction, `notify` a line of text before and after a download (left out: it is
        logged). Raises ConfigurationError, ModelError.
        """
        return cls(load_parts(config or EngineConfig(), progress, notify))

    @classmethod
    def from_model(cls, config: EngineConfig, model: LoadedModel, tokenizer: Tokenizer) -> Engine:
        """Start on a model that is loaded already. Raises ConfigurationError."""
        return cls(fit_parts(config, model, tokenizer))

    @property
    def config(self) -> EngineConfig:
        """What it was started with."""
        return self._parts.config

    @property
    def model(self) -> LoadedModel:
        """The model that it runs."""
        return self._parts.model

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer."""
        return self._parts.tokenizer

    @property
    def pool(self) -> PoolPlan:
        """Blocks, longest context, and notes on what was capped."""
        return self._parts.pool

    @property
    def attention(self) -> AttentionChoice:
        """The attention backend that it runs, and why no other one."""
        return self._parts.attention

    async def submit(
        self,
        prompt: Prompt,
        sampling: SamplingParams = GREEDY,
        *,
        constraint: Constraint | None = None,
        salt: str = "",
        priority: int = 0,
    ) -> Completion:
        """Run one request to its end. Cancelling the task aborts it.

        `prompt`: a text (continued as it is), messages (put into the model's chat template) or token ids.
        `constraint`: what each choice's text must be; one that cannot be used raises ConstraintError here.
        `salt`: a tenant; KV is shared within one salt only. `priority`: an integer, higher runs first.
        An engine that is closed meanwhile raises EngineClosed here; there is no half completion.
        """
        request = await self._request(prompt, sampling, constraint, salt, priority)
        builder = CompletionBuilder(request)
        async with aclosing(self._gateway.events(request)) as events:
            async for event in events:
                builder.add(event)
        return builder.completion()

    async def stream(
        self,
        prompt: Prompt,
        sampling: SamplingParams = GREEDY,
        *,
        constraint: Constraint | None = None,
        salt: str = "",
        priority: int = 0,
    ) -> AsyncGenerator[CompletionDelta | Completion, None]:
        """Deltas as they come, the Completion last; arguments and errors of `submit`. Closing the iterator aborts."""
        request = await self._request(prompt, sampling, constraint, salt, priority)
        builder = CompletionBuilder(request)
        async with aclosing(self._gateway.events(request)) as events:
            async for event in events:
                builder.add(event)
                yield delta_of(event)
        yield builder.completion()

    async def clear_cache(self) -> int:
        """Forget all cached KV; the number of blocks that became free. What running requests hold goes with them."""
        self._memo.clear()
        return cast("int", await asyncio.wrap_future(self._gateway.ask(Question.CLEAR_CACHE)))

    def stats(self) -> EngineStats:
        """Counters as of the end of the running step; waits for it."""
        return cast("EngineStats", self._gateway.ask(Question.STATS).result())

    def check_integrity(self) -> None:
        """Raises AssertionError if scheduler or cache contradict themselves; for tests and debugging."""
        self._gateway.ask(Question.CHECK_INTEGRITY).result()

    async def close(self, *, drain: bool = False) -> None:
        """End the engine: what runs is finished (`drain`) or ends with EngineClosed; the thread is joined.

        Harmless when done before; without `drain` it cuts short a draining that another call began.
        """
        await asyncio.to_thread(self.close_now, drain=drain)

    def close_now(self, *, drain: bool = False) -> None:
        """`close` for callers outside of an event loop; blocks."""
        self._gateway.close(drain=drain)
        self._parts.constraints.compiler.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    async def _request(
        self, prompt: Prompt, sampling: SamplingParams, constraint: Constraint | None, salt: str, priority: int
    ) -> Request:
        check_text("salt", salt)
        check_priority(priority)
        check_sampling(sampling)
        check_constraint(constraint)
        check_vocabulary(sampling, self.tokenizer.vocab_size)
        return Request(
            self._gateway.new_id("request"),
            prompt_tokens(prompt, self.tokenizer),
            sampling,
            self._seeds.draw() if sampling.seed is None else sampling.seed,
            self._parts.namespace(salt),
            priority=priority,
            constraint=await compiled(self._parts.constraints.compiler, constraint, sampling),
        )


def _run_core(core: EngineCore, threads: int) -> None:
    torch.set_num_threads(threads)  # here: the setting belongs to the thread that computes
    core.run()
