"""A sequence: one running generation of a request, as tokens and the rules that end it.

It knows nothing of leases, blocks or steps; the scheduler ties it to those.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass

from radixkv.constraint import Constrained
from radixkv.request import FinishReason, Request, ScoreTarget, Usage
from radixkv.tokens import NO_TOKENS, TokenArray


@dataclass(frozen=True)
class EndRules:
    """What ends the sequences of a request. `max_tokens` is already capped by the context and the pool."""

    max_tokens: int
    min_tokens: int
    end_ids: frozenset[int]  # end-of-sequence ids (unless ignored) and the request's stop ids
    banned_ids: tuple[int, ...]  # the same, sorted: they may not be sampled before `min_tokens`
    never_ids: tuple[int, ...] = ()  # may not be sampled at all


@dataclass(frozen=True)
class Ending:
    """How a sequence ends."""

    reason: FinishReason
    stopped_by: int | str | None = None


class Sequence:
    """Tokens of one choice: the prompt, then the output.

    Every token but the last needs KV before the next one can be sampled, whether it came from the prompt or
    is output: prefill, decode, forced tokens and resuming after preemption are therefore the same operation.

    `sequence_id` grows with age; choice c of a request has the id of choice 0 plus c.
    """

    __slots__ = (
        "arrived",
        "cached_tokens",
        "choice",
        "finish_reason",
        "opening",
        "over",
        "prompt_length",
        "prompt_reached",
        "prompt_shared",
        "request",
        "rules",
        "scored_until",
        "sequence_id",
        "stopped_by",
        "tokens",
        "unborn",
    )

    def __init__(self, sequence_id: int, request: Request, rules: EndRules, arrived: int, choice: int = 0) -> None:
        self.sequence_id = sequence_id
        self.request = request
        self.rules = rules
        self.arrived = arrived  # step at which the request came
        self.choice = choice
        self.tokens: TokenArray = request.prompt[:]  # (prompt_length + num_output,)
        self.prompt_length = len(self.tokens)
        self.opening = NO_TOKENS  # output that is there before anything was computed, until it has been told
        self.cached_tokens = 0  # prompt tokens found in the cache when the sequence first ran
        self.prompt_reached = 0  # prompt tokens that have had KV: cached ones and computed ones
        self.prompt_shared = 0  # prompt tokens that choice 0 accounts for
        self.scored_until = 0  # targets at prompt positions below this one have been delivered
        self.unborn = 0 if choice else request.sampling.n - 1  # choices that will share this one's computed prompt
        self.finish_reason: FinishReason | None = None
        self.stopped_by: int | str | None = None
        self.over: Ending | None = None  # how it ends with its opening, if it does
        if request.constraint is not None and rules.max_tokens:
            self._open(request.constraint)

    def _open(self, constraint: Constrained) -> None:
        """Put the tokens that the constraint begins with behind the prompt.

        If the output is over with them, they only wait: nothing is to be sampled after them, so they need no KV.
        """
        self.accept(constraint.opening, complete=constraint.complete)
        self.opening = self.output_ids
        if self.finish_reason is not None:
            self.over = Ending(self.finish_reason, self.stopped_by)
            self.finish_reason = self.stopped_by = None
            self.keep_output(0)

    def take_siblings(self) -> list[Sequence]:
        """The choices still unborn, which are born now. They share the prompt up to its last token."""
        born = [self._sibling(choice) for choice in range(1, self.unborn + 1)]
        self.unborn = 0
        return born

    def _sibling(self, choice: int) -> Sequence:
        sibling = Sequence(self.sequence_id + choice, self.request, self.rules, self.arrived, choice)
        sibling.scored_until = sibling.prompt_length
        sibling.prompt_shared = min(sibling.prompt_length, len(sibling.tokens) - 1)
        return sibling

    @property
    def num_output(self) -> int:
        """Output tokens so far, sampled or forced."""
        return len(self.tokens) - self.prompt_length

    @property
    def output_ids(self) -> TokenArray:
        """Output token ids, (num_output,)."""
        return self.tokens[self.prompt_length :]

    @property
    def samples(self) -> bool:
        """Whether tokens are to be sampled at all, or only KV and scores are wanted."""
        return self.rules.max_tokens > 0 and self.over is None

    @property
    def banned_ids(self) -> tuple[int, ...]:
        """Ids that the next token may not be."""
        return self.rules.banned_ids if self.num_output < self.rules.min_tokens else self.rules.never_ids

    @property
    def owner(self) -> str:
        """Name under which blocks are held."""
        return f"{self.request.request_id}/{self.choice}"

    def accept(self, token_ids: Collection[int], *, complete: bool = False) -> int:
        """Append new ids up to the end of the sequence; how many were kept. An end id ends it and is not kept.

        `complete`: nothing can follow them. Before `min_tokens` an id here is no end: it was forced.
        """
        rules = self.rules
        for kept, token_id in enumerate(token_ids):
            if token_id in rules.end_ids and self.num_output >= rules.min_tokens:
                self.finish(FinishReason.STOP, token_id)
                return kept
            self.tokens.append(token_id)
            if self.num_output >= rules.max_tokens and not (complete and kept + 1 == len(token_ids)):
                self.finish(FinishReason.LENGTH)
                return kept + 1
        if complete:
            self.finish(FinishReason.STOP)
        return len(token_ids)

    def take_opening(self) -> tuple[int, ...]:
        """The output that it began with, the first time it is asked for. The sequence may be over with it."""
        opening, self.opening = tuple(self.opening), NO_TOKENS
        if self.over is not None:
            self.tokens.extend(opening)
            self.finish(self.over.reason, self.over.stopped_by)
        return opening

    def finish(self, reason: FinishReason, stopped_by: int | str | None = None) -> None:
        """Record how the sequence ended."""
        self.finish_reason = reason
        self.stopped_by = stopped_by

    def keep_output(self, kept_tokens: int) -> None:
        """Forget output beyond the first `kept_tokens`."""
        del self.tokens[self.prompt_length + kept_tokens :]

    def reach(self, length: int, *, cached: bool = False) -> None:
        """KV exists now for the first `length` tokens; `cached`: because the first look-up found it."""
        self.prompt_reached = max(self.prompt_reached, min(length, self.prompt_length))
        if cached:
            self.cached_tokens = self.prompt_reached

    def usage(self) -> Usage:
        """Tokens of this sequence: its own part of the prompt (see Usage), as far as it was reached, and the output."""
        prompt_tokens = max(self.prompt_reached - self.prompt_shared, 0)
        cached_tokens = max(self.cached_tokens - self.prompt_shared, 0)
        return Usage(
            prompt_tokens=prompt_tokens,
            cached_tokens=cached_tokens,
            computed_tokens=prompt_tokens - cached_tokens,
            completion_tokens=0 if self.opening else self.num_output,  # an opening counts once it has been told
        )

    def max_hit(self) -> int | None:
        """Tokens that may come from the cache without losing a score still wanted; None: all.

        A target at position p needs the logits of row p, so that token has to be computed.
        """
        positions = []
        if self.scored_until < self._num_prompt_logprobs:
            positions.append(self.scored_until)
        targets = self.request.targets
        first = bisect_left(targets, self.scored_until, key=_position)
        if first < len(targets):
            positions.append(targets[first].position)
        return min(positions, default=None)

    def targets_between(self, start: int, end: int) -> list[ScoreTarget]:
        """Targets not yet delivered at positions [start, end), by position; prompt logprobs before scored targets."""
        start = max(start, self.scored_until)
        targets = self.request.targets
        scored = targets[bisect_left(targets, start, key=_position) : bisect_left(targets, end, key=_position)]
        prompt = self.request.prompt
        wanted = [ScoreTarget(p, prompt[p + 1]) for p in range(start, min(end, self._num_prompt_logprobs))]
        wanted.extend(scored)
        if scored and len(wanted) > len(scored):
            wanted.sort(key=_position)
        return wanted

    @property
    def _num_prompt_logprobs(self) -> int:
        return self.prompt_length - 1 if self.request.sampling.prompt_logprobs is not None and not self.choice else 0


def _position(target: ScoreTarget) -> int:
    return target.position
