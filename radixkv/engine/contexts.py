"""The verbs of contexts: what a prompt program calls. Each is made of ordinary requests to the core."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final

from radixkv.constraint import Constraint
from radixkv.engine.checks import check_int, check_options, check_sampling, check_text, checked_norm, checked_parts
from radixkv.engine.completions import ChoiceBuilder, CompletionDelta, delta_of
from radixkv.engine.constraining import check_constraint, compiled
from radixkv.engine.context import Context, Hold, LastText
from radixkv.engine.gateway import Gateway
from radixkv.engine.prompts import check_vocabulary
from radixkv.engine.scoring import (
    Ids,
    OptionTrie,
    ScoreMemo,
    ScoringRun,
    context_digest,
    normalise,
    num_shared_tokens,
    softmax,
)
from radixkv.engine.seeds import SeedSource
from radixkv.engine.startup import EngineParts
from radixkv.engine.tasks import gather_or_cancel
from radixkv.engine.verbs import Fork, Generation, Norm, Part, Scores
from radixkv.errors import InvalidRequest, RequestFailed
from radixkv.request import MAX_TOKENS, FinishReason, Request, SamplingParams, ScoreTarget, Usage
from radixkv.tokenizer import Segment
from radixkv.tokens import TokenArray, token_array

MEMO_ENTRIES: Final = 16_384
_PREFILL: Final = SamplingParams(max_tokens=0)


@dataclass(frozen=True)
class _Prefill:
    """What a request without generation gave."""

    logprobs: tuple[float, ...]
    usage: Usage


class ContextVerbs:
    """Contexts by id. One context takes one call at a time; different ones run side by side."""

    def __init__(self, parts: EngineParts, gateway: Gateway) -> None:
        self._parts = parts
        self._gateway = gateway
        self._tokenizer = parts.tokenizer
        self._seeds = SeedSource(parts.config.seed)
        self._contexts: dict[str, Context] = {}
        self._memo = ScoreMemo(MEMO_ENTRIES if parts.config.prefix_cache else 0)

    async def open(self, namespace: str = "", model: str | None = None) -> str:
        """A fresh, empty context; contexts of different namespaces share no KV."""
        check_text("namespace", namespace)
        served = self._parts.model.files.name
        if model not in (None, "default", served, self._parts.config.model):
            raise InvalidRequest("model", model, f"the model that this engine runs, `{served}`")
        context = Context(self._gateway.new_id("context"), self._parts.namespace(namespace), self._tokenizer)
        self._contexts[context.context_id] = context
        return context.context_id

    async def append(self, context_id: str, parts: Sequence[Part]) -> None:
        """Buffer parts; nothing is tokenised or computed."""
        self._idle_context(context_id).append(checked_parts(parts))

    async def commit(self, context_id: str) -> int:
        """Tokenise the buffer; the context's length in tokens."""
        return self._idle_context(context_id).commit()

    async def tokens(self, context_id: str) -> list[int]:
        """The committed ids."""
        return self._context(context_id).tokens.tolist()

    async def count(self, text: str) -> int:
        """Tokens of a text by itself."""
        check_text("text", text)
        return len(self._tokenizer.encode(text))

    async def truncate(self, context_id: str, length: int) -> None:
        """Forget all but the first `length` tokens, and the buffer. KV beyond goes with the next call's hold."""
        self._idle_context(context_id).truncate(length)

    async def release(self, context_id: str) -> None:
        """Give the context up and cancel what runs on it; harmless when done before."""
        check_text("context", context_id)
        context = self._contexts.pop(context_id, None)
        if context is None:
            return
        context.released = True
        for request_id in context.running:
            self._gateway.abort(request_id)
        self._set_hold(context, None)

    async def adopt(self, parent_id: str, child_id: str) -> None:
        """The parent becomes what the child is, without computing; the child is gone. Both are of one namespace."""
        parent, child = self._idle_context(parent_id), self._idle_context(child_id)
        if parent is child:
            return
        if parent.namespace != child.namespace:
            raise InvalidRequest("child", child_id, "a context of the parent's own namespace")
        self._set_hold(parent, None)
        parent.become(child)
        child.hold, child.held_tokens = None, 0
        await self.release(child_id)

    async def fork(self, context_id: str, count: int) -> Fork:
        """Commit, compute the context once and give `count` contexts that share it, in the parent's role."""
        check_int("n", count, 1)
        context = self._idle_context(context_id)
        length = context.commit()
        usage = Usage(length, length)
        if context.held_tokens < length:
            hold = Hold(self._gateway.new_id("hold"))
            usage = (await self._prefill(context, context.tokens, (), hold)).usage
        children = [context.copy(self._gateway.new_id("context")) for _ in range(count)]
        for child in children:
            self._contexts[child.context_id] = child
        if context.hold is not None:
            context.hold.users += count
        return Fork(tuple(child.context_id for child in children), usage + Usage(forks=count), length)

    async def generate(
        self, context_id: str, sampling: SamplingParams, constraint: Constraint | None = None
    ) -> AsyncGenerator[CompletionDelta | Generation, None]:
        """Commit, generate and append; a Generation comes last. Closing the iterator before it came cancels, and
        leaves the context as committed.

        Under a constraint the last text token is re-opened: the output's tokens begin with its text, so that they are
        the ones of the whole text, and the text given back begins after it. `max_tokens` counts them without it.
        Raises ConstraintError.
        """
        check_sampling(sampling)
        check_constraint(constraint)
        if sampling.n != 1:
            raise InvalidRequest("n", sampling.n, "1 (fork the context for more)")
        check_vocabulary(sampling, self._tokenizer.vocab_size)
        context = self._idle_context(context_id)
        self._need_tokens(context, context.commit())
        hold = Hold(self._gateway.new_id("hold"))
        request_id = self._gateway.new_id("generate")
        context.running.add(request_id)
        built = ChoiceBuilder()
        try:
            request = await self._generation(context, request_id, sampling, constraint, hold)
            if context.released:
                raise RequestFailed(f"context {context_id} was released while its constraint was compiled")
            async with aclosing(self._gateway.events(request)) as events:
                async for event in events:
                    built.add(event)
                    yield delta_of(event)
            generation = self._settle(context, request, built, hold)
        finally:
            context.running.discard(request_id)
            if context.hold is not hold:
                self._gateway.release_hold(hold.name)
        yield generation

    async def _generation(
        self, context: Context, request_id: str, sampling: SamplingParams, constraint: Constraint | None, hold: Hold
    ) -> Request:
        """The request of a generation."""
        last = context.last_text() if constraint and sampling.max_tokens else LastText(len(context.tokens))
        constrained = await compiled(self._parts.constraints.compiler, constraint, sampling, last.text)
        if last.text:
            reopened = len(context.tokens) - last.start
            sampling = replace(sampling, max_tokens=min(sampling.max_tokens + reopened, MAX_TOKENS))
        seed = self._seeds.draw() if sampling.seed is None else sampling.seed
        return Request(
            request_id,
            context.tokens[: last.start],
            sampling,
            seed,
            context.namespace,
            hold=hold.name,
            constraint=constrained,
        )

    async def score(self, context_id: str, options: Sequence[str], norm: Norm = Norm.TOKENS) -> Scores:
        """Score each option as the continuation of the context; the context's text stays as it is.

        The last text token is re-opened (its text waits in the buffer), so that options are tokenised with it.
        Scores by `norm`: see radixkv.engine.scoring; PRIOR scores the same tokens after the model's
        beginning-of-sequence id (or its first end-of-sequence id) alone.
        """
        check_options(options)
        norm = checked_norm(norm)
        context = self._idle_context(context_id)
        self._need_tokens(context, context.commit())
        base, tails = self._tokenise_options(context, options)
        logprobs, usage = await self._option_logprobs(context, base, tails, hold=True)
        prior: list[float] = []
        if norm is Norm.PRIOR:
            alone, prior_usage = await self._option_logprobs(context, self._prior_context(), tails, hold=False)
            prior, usage = [sum(row) for row in alone], usage + prior_usage
        scores = normalise(norm, tails, logprobs, prior)
        return Scores(tuple(scores), softmax(scores), scores.index(max(scores)), usage)

    def _settle(self, context: Context, request: Request, built: ChoiceBuilder, hold: Hold) -> Generation:
        """Append what was generated and keep its KV, unless it was aborted.

        The last token's KV comes with the next call, and under a constraint that of tokens forced at the end.
        """
        ending = built.ending
        text = "".join(built.text)
        kept = tuple(built.token_ids[: ending.kept_tokens])
        if ending.reason not in (FinishReason.ABORT, FinishReason.ERROR) and not context.released:
            start = len(request.prompt)
            context.settle(start, kept, ending.remainder)
            held = start + max(0, len(kept) - 1) if request.constraint is None else start
            self._set_hold(context, hold, held)
        logprobs = tuple(built.logprobs[: ending.kept_tokens]) if built.logprobs else None
        return Generation(text, kept, ending.reason, ending.usage, logprobs)

    async def _prefill(
        self, context: Context, prompt: TokenArray, targets: tuple[ScoreTarget, ...], hold: Hold | None
    ) -> _Prefill:
        """Compute a prompt's KV; with `hold` the context keeps it."""
        name = None if hold is None else hold.name
        request = Request(
            self._gateway.new_id("prefill"), prompt, _PREFILL, 0, context.namespace, targets=targets, hold=name
        )
        built = ChoiceBuilder()
        context.running.add(request.request_id)
        try:
            async with aclosing(self._gateway.events(request)) as events:
                async for event in events:
                    built.add(event)
            if built.ending.reason is FinishReason.ABORT:
                raise RequestFailed(f"context {context.context_id} was released while it was being computed")
            if hold is not None and not context.released:
                self._set_hold(context, hold, len(context.tokens))
        finally:
            context.running.discard(request.request_id)
            if hold is not None and context.hold is not hold:
                self._gateway.release_hold(hold.name)
        return _Prefill(tuple(target.logprob for target in built.targets), built.ending.usage)

    def _tokenise_options(self, context: Context, options: Sequence[str]) -> tuple[TokenArray, list[Ids]]:
        """The tokens that all options follow, and each option's own."""
        reopened = context.reopen()
        ids = [self._encode_option(context, reopened, option) for option in options]
        rivals = ids if len(ids) > 1 else [*ids, (*self._tokenizer.encode(reopened), -1)]
        shared = num_shared_tokens(rivals)
        return context.tokens + token_array(ids[0][:shared]), [option[shared:] for option in ids]

    def _encode_option(self, context: Context, reopened: str, option: str) -> Ids:
        segments = [Segment(text, trusted=False) for text in (reopened, option) if text]
        return tuple(self._tokenizer.encode_segments(segments, previous=context.last_token))

    async def _option_logprobs(
        self, context: Context, base: TokenArray, options: Sequence[Ids], *, hold: bool
    ) -> tuple[list[tuple[float, ...]], Usage]:
        """Log-probabilities of each option's tokens after `base`; only what was never scored is computed."""
        digest = context_digest(base)
        known = {option: self._memo.get(context.namespace, digest, option) for option in options}
        missing = [option for option, logprobs in known.items() if logprobs is None]
        computed = 0
        if missing:
            trie = OptionTrie(missing)
            answers, computed = await self._run_scoring(context, base, trie.runs(), hold=hold)
            for option in missing:
                known[option] = trie.logprobs(option, answers)
                self._memo.put(context.namespace, digest, option, known[option] or ())
        prompt_tokens = len(base) + sum(map(len, options))
        usage = Usage(prompt_tokens, prompt_tokens - computed, computed)
        return [known[option] or () for option in options], usage

    async def _run_scoring(
        self, context: Context, base: TokenArray, runs: Sequence[ScoringRun], *, hold: bool
    ) -> tuple[dict[int, float], int]:
        """Answers by node, and tokens computed. The first run computes the context, the others start from it."""
        first, *others = runs
        kept = Hold(self._gateway.new_id("hold")) if hold else None
        results = [await self._score_run(context, base, first, kept)]
        results += await gather_or_cancel(self._score_run(context, base, run, None) for run in others)
        answers = {
            step.node: logprob
            for run, result in zip(runs, results, strict=True)
            for step, logprob in zip(run.steps, result.logprobs, strict=True)
        }
        return answers, sum(result.usage.computed_tokens for result in results)

    async def _score_run(self, context: Context, base: TokenArray, run: ScoringRun, hold: Hold | None) -> _Prefill:
        return await self._prefill(context, run.prompt(base), run.targets(len(base)), hold)

    def _prior_context(self) -> TokenArray:
        eos_ids = self._parts.model.config.eos_token_ids
        start = self._tokenizer.bos_id if self._tokenizer.bos_id is not None else next(iter(eos_ids), None)
        if start is None:
            raise InvalidRequest("norm", Norm.PRIOR.value, "a model with a beginning- or end-of-sequence id")
        return token_array((start,))

    def _context(self, context_id: str) -> Context:
        check_text("context", context_id)
        context = self._contexts.get(context_id)
        if context is None:
            raise InvalidRequest("context", context_id, "an open context")
        return context

    def _idle_context(self, context_id: str) -> Context:
        context = self._context(context_id)
        if context.running:
            raise InvalidRequest("context", context_id, "a context on which nothing runs (one call at a time)")
        return context

    def _need_tokens(self, context: Context, length: int) -> None:
        if not length:
            raise InvalidRequest("context", context.context_id, "some text before the first generation or selection")

    def _set_hold(self, context: Context, hold: Hold | None, held_tokens: int = 0) -> None:
        """Replace the context's hold; the old one goes when no other context shares it."""
        old, context.hold, context.held_tokens = context.hold, hold, held_tokens
        if old is not None:
            old.users -= 1
            if not old.users:
                self._gateway.release_hold(old.name)
