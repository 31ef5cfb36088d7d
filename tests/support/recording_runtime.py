"""A runtime that keeps what budgets are made of: every context's ids, option tokens, calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from frontend_lang import runtime as language
from radixkv.programs import EngineRuntime


class RecordingRuntime(EngineRuntime):
    """Records each call's usage, and the ids of each context when it is given up."""

    def clear(self) -> None:
        self.usages: list[language.CallUsage] = []
        self.finished: list[list[int]] = []
        self.sampled = 0
        self.option_tokens = 0
        self.calls = 0  # gens and selects

    async def generate(
        self, context: language.ContextId, params: language.GenParams, constraint: language.Constraint | None = None
    ) -> AsyncGenerator[language.Delta | language.GenResult, None]:
        self.calls += 1
        async for item in super().generate(context, params, constraint):
            if isinstance(item, language.GenResult):
                self.usages.append(item.usage)
                self.sampled += len(item.token_ids)
            yield item

    async def score(
        self, context: language.ContextId, options: Sequence[str], norm: language.Norm = language.Norm.TOKENS
    ) -> language.Scores:
        self.calls += 1
        self.option_tokens += sum([await self.count(option) for option in options])
        scores = await super().score(context, options, norm)
        self.usages.append(scores.usage)
        return scores

    async def fork(self, context: language.ContextId, n: int) -> language.Fork:
        fork = await super().fork(context, n)
        self.usages.append(fork.usage)
        return fork

    async def release(self, context: language.ContextId) -> None:
        try:
            await self.commit(context)
            self.finished.append(await self.tokens(context))
        except language.RuntimeFailure:
            pass  # released before
        await super().release(context)

    def budget(self) -> int:
        """Distinct text once, option tokens, 2 for each gen or select."""
        distinct = {tuple(ids[:end]) for ids in self.finished for end in range(1, len(ids) + 1)}
        return len(distinct) - self.sampled + self.option_tokens + 2 * self.calls
