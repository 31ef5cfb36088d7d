"""A runtime that lets another one do the work and counts what a program gave it: the budget of computed tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from frontend_lang.runtime import (
    Constraint,
    ContextId,
    Delta,
    GenParams,
    GenResult,
    Norm,
    Part,
    Role,
    RoleClose,
    RoleOpen,
    Scores,
    Text,
)
from radixkv.programs import EngineRuntime
from radixkv.tokenizer import Tokenizer

CALL_ALLOWANCE = 2  # one token for the logits, one for the last sampled token whose KV was never written


@dataclass
class Spent:
    """What the program handed over."""

    text_tokens: int = 0
    border_tokens: int = 0
    option_tokens: int = 0
    calls: int = 0

    @property
    def budget(self) -> int:
        """Tokens that a run may compute at most: its own text once, and two per call."""
        return self.text_tokens + self.border_tokens + self.option_tokens + CALL_ALLOWANCE * self.calls


class CountingRuntime(EngineRuntime):
    """Counts tokens of texts, borders and options; everything else is the engine's."""

    def count_with(self, tokenizer: Tokenizer) -> CountingRuntime:
        self.tokenizer = tokenizer
        self.spent = Spent()
        self._roles: dict[ContextId, list[str]] = {}
        return self

    async def append(self, context: ContextId, parts: Sequence[Part]) -> None:
        for part in parts:
            if isinstance(part, Text):
                self.spent.text_tokens += len(self.tokenizer.encode(part.text))
            else:
                self.spent.border_tokens += self._border(context, part)
        await super().append(context, parts)

    def _border(self, context: ContextId, part: RoleOpen | RoleClose) -> int:
        template = self.tokenizer.chat_template
        assert template is not None
        roles = self._roles.setdefault(context, [])
        if isinstance(part, RoleOpen):
            segments = template.open_role(tuple(roles), Role(part.role).value)
            roles.append(Role(part.role).value)
        else:
            segments = template.close_role(tuple(roles[:-1]), roles[-1])
        return len(self.tokenizer.encode_segments(segments))

    def generate(
        self, context: ContextId, params: GenParams, constraint: Constraint | None = None
    ) -> AsyncIterator[Delta | GenResult]:
        self.spent.calls += 1
        return super().generate(context, params, constraint)

    async def score(self, context: ContextId, options: Sequence[str], norm: Norm = Norm.TOKENS) -> Scores:
        self.spent.calls += 1
        self.spent.option_tokens += sum(len(self.tokenizer.encode(option)) for option in options)
        return await super().score(context, options, norm)

    async def fork(self, context: ContextId, n: int):  # type: ignore[no-untyped-def]
        forked = await super().fork(context, n)
        for child in forked.children:
            self._roles[child] = list(self._roles.get(context, []))
        return forked
