r"""A runtime of canned answers: for tests of programs, `test` blocks, and trying a program without a model.

Tokens: a word with the white space before it is one token (`re.findall(r"\s*\S+|\s+", text)`); a role marker is one
token, shown as `<|user|>` and `<|end|>`. Neighbouring buffered text is tokenised jointly. `context_text` gives the full
text of a context, markers included, so that a test can assert the exact prompt.

Answers: a sequence is used up in the order in which generations *start*; a callable sees the prompt and the call and is
independent of any order. An answer that the constraint of its generation does not allow is refused (E0601): the model
could not have given it. An answer is cut at the first stop text, then at `max_tokens`.
Scores: a mapping from option to score, a callable, or by default: the earlier option is the likelier (0, -1, -2, ...).
A cancelled verb has done nothing.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from frontend_lang.grammars import Grammar
from frontend_lang.runtime import (
    CallUsage,
    Choice,
    Constraint,
    ContextId,
    Delta,
    Fork,
    GenParams,
    GenResult,
    JsonSchema,
    Lark,
    Norm,
    Part,
    Regex,
    Role,
    RoleClose,
    RoleOpen,
    RuntimeFailure,
    RuntimeInfo,
    Scores,
    Text,
)
from frontend_lang.script_arguments import as_answer, as_scores, check_answers, check_hooks, check_scores

MAX_SHOWN = 120  # characters of an answer or constraint in a message
_TOKEN = re.compile(r"\s*\S+|\s+")
SCRIPTED_LOGPROB = -0.125  # of every token of an answer, where log-probabilities are asked for


@dataclass(frozen=True)
class ScriptedCall:
    """What a scripted answer or score may depend on."""

    index: int  # of this generation among all, from 0
    context: ContextId
    prompt: str
    params: GenParams
    constraint: Constraint | None


Answers = Sequence[str] | Callable[[str, ScriptedCall], str]
ScoreRule = Mapping[str, float] | Callable[[str, Sequence[str]], Sequence[float]] | None
Delay = Callable[[str, ContextId], float]


class _Kind(Enum):
    """Where a token came from."""

    TEXT = "text"
    SAMPLED = "sampled"
    MARKER = "marker"


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    kind: _Kind


@dataclass
class _Context:
    """One live context: committed tokens, buffered parts, how many tokens have been computed, the open role."""

    tokens: list[_Token] = field(default_factory=list)
    buffer: list[Part] = field(default_factory=list)
    computed: int = 0
    role: Role | None = None
    busy: bool = False

    def copy(self) -> _Context:
        return _Context(list(self.tokens), list(self.buffer), self.computed, self.role)

    def restore(self, saved: _Context) -> None:
        self.tokens, self.buffer = saved.tokens, saved.buffer
        self.computed, self.role = saved.computed, saved.role

    def commit(self) -> int:
        pending = ""
        for part in self.buffer:
            if isinstance(part, Text):
                pending += part.text
                continue
            self._add_text(pending)
            pending = ""
            self.tokens.append(_Token(_marker(part), _Kind.MARKER))
        self._add_text(pending)
        self.buffer.clear()
        return len(self.tokens)

    def _add_text(self, text: str) -> None:
        self.tokens.extend(_Token(piece, _Kind.TEXT) for piece in _TOKEN.findall(text))

    def text(self) -> str:
        committed = "".join(token.text for token in self.tokens)
        return committed + "".join(part.text if isinstance(part, Text) else _marker(part) for part in self.buffer)

    def reopen_last(self) -> str:
        """Take the last token back into the buffer if it is text; the text taken."""
        if self.buffer or not self.tokens or self.tokens[-1].kind is not _Kind.TEXT:
            return ""
        last = self.tokens.pop()
        self.computed = min(self.computed, len(self.tokens))
        self.buffer.append(Text(last.text))
        return last.text

    def prefill(self) -> CallUsage:
        """Compute what is committed; what it cost."""
        total, cached = len(self.tokens), self.computed
        self.computed = total
        return CallUsage(prompt_tokens=total, cached_tokens=cached, computed_tokens=total - cached)


def _marker(part: Part) -> str:
    return f"<|{part.role}|>" if isinstance(part, RoleOpen) else "<|end|>"


class ScriptedRuntime:
    """A `Runtime` that answers from a script.

    `live` counts contexts that have been opened or forked and not released, `calls` counts verbs. `history` keeps the
    text of every context at its release, in order. `delay(verb, context)` gives seconds to wait before a verb does
    its work; `on_call(count, verb)` is told before every verb and may raise or cancel.
    Raises TypeError for answers that are no texts, scores that are no numbers, and functions that cannot be called so.
    """

    def __init__(
        self,
        answers: Answers = (),
        *,
        scores: ScoreRule = None,
        delay: Delay | None = None,
        on_call: Callable[[int, str], None] | None = None,
        model: str = "scripted",
    ) -> None:
        check_answers(answers)
        check_scores(scores)
        check_hooks(delay, on_call)
        self._answers = answers
        self._scores = scores
        self._delay = delay
        self._on_call = on_call
        self._contexts: dict[ContextId, _Context] = {}
        self._ids: dict[str, int] = {}
        self._opened = 0
        self._info = RuntimeInfo(model=model, deterministic=True)
        self.calls = 0
        self.generations: list[ScriptedCall] = []
        self.history: list[str] = []

    @property
    def info(self) -> RuntimeInfo:
        """Model "scripted", deterministic."""
        return self._info

    @property
    def live(self) -> int:
        """Contexts that have not been released."""
        return len(self._contexts)

    @property
    def prompts(self) -> list[str]:
        """The prompt of every generation so far, in the order of their start."""
        return [call.prompt for call in self.generations]

    def context_text(self, context: ContextId) -> str:
        """The full text of a live context: committed, sampled and buffered, with role markers."""
        return self._get(context).text()

    async def open(self, namespace: str = "", model: str | None = None) -> ContextId:
        """A fresh, empty context."""
        await self._enter("open", ContextId(""))
        return self._add(_Context())

    async def append(self, context: ContextId, parts: Sequence[Part]) -> None:
        """Buffer parts. Raises E0702 for a role opened inside a role or closed outside one."""
        await self._enter("append", context)
        target = self._idle(context)
        for part in parts:
            self._check_role(target, part)
            target.buffer.append(part)

    def _check_role(self, target: _Context, part: Part) -> None:
        if isinstance(part, RoleOpen):
            if target.role is not None:
                raise RuntimeFailure("E0702", f"role {part.role} opened inside {target.role}")
            target.role = part.role
        elif isinstance(part, RoleClose):
            if target.role is None:
                raise RuntimeFailure("E0702", "a role closed that is not open")
            target.role = None

    async def commit(self, context: ContextId) -> int:
        """Tokenise what is buffered; the length in tokens."""
        await self._enter("commit", context)
        return self._idle(context).commit()

    async def generate(
        self, context: ContextId, params: GenParams, constraint: Constraint | None = None
    ) -> AsyncIterator[Delta | GenResult]:
        """Append the next answer, one delta per token; closing early rolls back."""
        await self._enter("generate", context)
        target = self._idle(context)
        saved = target.copy()
        target.busy = True
        finished = False
        try:
            target.commit()
            usage = target.prefill()
            pieces, reason = self._answer(context, target, params, constraint)
            for token in pieces:
                await self._pause("delta", context)
                target.tokens.append(token)
                yield Delta(token.text, (self._id(token.text),))
            target.computed = len(target.tokens)
            finished = True
            usage = CallUsage(usage.prompt_tokens, usage.cached_tokens, usage.computed_tokens, 0, len(pieces))
            ids = tuple(self._id(token.text) for token in pieces)
            logprobs = None if params.logprobs is None else (SCRIPTED_LOGPROB,) * len(pieces)
            yield GenResult("".join(token.text for token in pieces), ids, reason, usage, logprobs)
        finally:
            target.busy = False
            if not finished:
                target.restore(saved)

    def _answer(
        self, context: ContextId, target: _Context, params: GenParams, constraint: Constraint | None
    ) -> tuple[list[_Token], str]:
        call = ScriptedCall(len(self.generations), context, target.text(), params, constraint)
        self.generations.append(call)
        text, reason = _cut_at_stop(self._scripted_text(call), params.stop)
        pieces = [_Token(piece, _Kind.SAMPLED) for piece in _TOKEN.findall(text)]
        if len(pieces) > params.max_tokens:
            pieces, reason = pieces[: params.max_tokens], "length"
        return pieces, reason

    def _scripted_text(self, call: ScriptedCall) -> str:
        text = self._next_answer(call)
        if call.constraint is not None and not Grammar.of(call.constraint).matches(text):
            asked = _in_short(call.constraint)
            raise RuntimeFailure(
                "E0601", f"answer {call.index + 1} of the script, {_shortened(text)!r}, is not {asked}"
            )
        return text

    def _next_answer(self, call: ScriptedCall) -> str:
        if not isinstance(self._answers, Sequence):
            return as_answer(self._answers(call.prompt, call), call.index)
        if call.index >= len(self._answers):
            raise RuntimeFailure(
                "E0601", f"the script has {len(self._answers)} answers, generation {call.index + 1} asks"
            )
        return self._answers[call.index]

    async def score(self, context: ContextId, options: Sequence[str], norm: Norm = Norm.TOKENS) -> Scores:
        """Score options by the script; their softmax; the last text token goes back to the buffer."""
        await self._enter("score", context)
        target = self._idle(context)
        target.commit()
        prompt = target.text()
        target.reopen_last()
        usage = target.prefill()
        extra = sum(max(1, len(_TOKEN.findall(option))) for option in options)
        scores = tuple(self._score_rule(prompt, options))
        best = max(range(len(scores)), key=lambda index: (scores[index], -index))
        spent = CallUsage(usage.prompt_tokens + extra, usage.cached_tokens, usage.computed_tokens + extra)
        return Scores(scores, _softmax(scores), best, spent)

    def _score_rule(self, prompt: str, options: Sequence[str]) -> Sequence[float]:
        if self._scores is None:
            return [-float(index) for index in range(len(options))]
        if isinstance(self._scores, Mapping):
            return [self._scores.get(option, -100.0) for option in options]
        return as_scores(self._scores(prompt, options), len(options))

    async def fork(self, context: ContextId, n: int) -> Fork:
        """`n` copies of the context after one prefill."""
        await self._enter("fork", context)
        parent = self._idle(context)
        parent.commit()
        spent = parent.prefill()
        children = tuple(self._add(parent.copy()) for _ in range(n))
        usage = CallUsage(spent.prompt_tokens, spent.cached_tokens, spent.computed_tokens, forks=n)
        return Fork(children, usage, len(parent.tokens))

    async def adopt(self, parent: ContextId, child: ContextId) -> None:
        """The parent's content is replaced by the child's; the child is gone."""
        await self._enter("adopt", parent)
        target = self._idle(parent)
        target.restore(self._idle(child))
        del self._contexts[child]

    async def truncate(self, context: ContextId, length: int) -> None:
        """Keep the first `length` tokens and no buffer."""
        await self._enter("truncate", context)
        target = self._idle(context)
        del target.tokens[length:]
        target.buffer.clear()
        target.computed = min(target.computed, length)

    async def release(self, context: ContextId) -> None:
        """Forget the context; unknown ids are ignored, as releasing twice is harmless."""
        gone = self._contexts.pop(context, None)
        if gone is not None:
            self.history.append(gone.text())

    async def tokens(self, context: ContextId) -> list[int]:
        """The committed token ids."""
        await self._enter("tokens", context)
        return [self._id(token.text) for token in self._get(context).tokens]

    async def count(self, text: str) -> int:
        """Words, by this module's rule."""
        await self._enter("count", ContextId(""))
        return len(_TOKEN.findall(text))

    async def _enter(self, verb: str, context: ContextId) -> None:
        self.calls += 1
        if self._on_call is not None:
            self._on_call(self.calls, verb)
        await self._pause(verb, context)

    async def _pause(self, verb: str, context: ContextId) -> None:
        await asyncio.sleep(self._delay(verb, context) if self._delay is not None else 0)

    def _add(self, content: _Context) -> ContextId:
        self._opened += 1
        context = ContextId(f"c{self._opened}")
        self._contexts[context] = content
        return context

    def _get(self, context: ContextId) -> _Context:
        try:
            return self._contexts[context]
        except KeyError:
            raise RuntimeFailure(
                "E0702", f"context {context!r} is not live: released, adopted or never opened"
            ) from None

    def _idle(self, context: ContextId) -> _Context:
        target = self._get(context)
        if target.busy:
            raise RuntimeFailure("E0702", f"context {context!r} is generating; a verb must wait for its end")
        return target

    def _id(self, text: str) -> int:
        return self._ids.setdefault(text, len(self._ids))


def _cut_at_stop(text: str, stops: Sequence[str]) -> tuple[str, str]:
    """Cut at the first stop text; a script's answer that ends by itself has reached "stop" too."""
    ends = [at for at in (text.find(stop) for stop in stops if stop) if at >= 0]
    return text[: min(ends, default=len(text))], "stop"


def _in_short(constraint: Constraint) -> str:
    """A constraint as a message says it."""
    match constraint:
        case Regex():
            return f"a text that matches re'{_shortened(constraint.pattern)}'"
        case JsonSchema():
            return f"JSON of the schema {_shortened(constraint.schema)}"
        case Lark():
            return "a text of the grammar"
        case Choice():
            return f"one of {_shortened(', '.join(map(repr, constraint.options)))}"


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _softmax(scores: Sequence[float]) -> tuple[float, ...]:
    top = max(scores)
    weights = [math.exp(score - top) for score in scores]
    return tuple(weight / sum(weights) for weight in weights)
