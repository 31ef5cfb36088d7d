"""The `Runtime` protocol: what executes generation for a program.

Our engine, a remote server and a script of canned answers are all runtimes. A context is
an opaque id; all verbs are coroutines and may be called from one event loop only.
Errors that a runtime raises on purpose derive from `RuntimeFailure`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType, Protocol

ContextId = NewType("ContextId", str)


class Role(StrEnum):
    """Roles of a chat; a runtime maps them to the model's template."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True)
class Text:
    """Text to append, never scanned for special tokens. `trusted` marks the program's own text; other text is data."""

    text: str
    trusted: bool = True


@dataclass(frozen=True)
class RoleOpen:
    """Open a role; the one that is open, if any, must have been closed."""

    role: Role


@dataclass(frozen=True)
class RoleClose:
    """Close the open role."""


Part = Text | RoleOpen | RoleClose


@dataclass(frozen=True)
class Regex:
    """Constraint: the text matches `pattern` whole."""

    pattern: str


@dataclass(frozen=True)
class JsonSchema:
    """Constraint: the text is JSON valid under `schema` (itself JSON text)."""

    schema: str


@dataclass(frozen=True)
class Lark:
    """Constraint: the text parses under this lark grammar."""

    grammar: str


@dataclass(frozen=True)
class Choice:
    """Constraint: the text is one of `options`."""

    options: tuple[str, ...]


Constraint = Regex | JsonSchema | Lark | Choice


@dataclass(frozen=True)
class GenParams:
    """How one `gen` samples; the language's defaults. `seed` is always concrete."""

    max_tokens: int = 256
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    stop: tuple[str, ...] = ()
    seed: int = 0
    logprobs: int | None = None
    timeout_s: float | None = None
    model: str | None = None


class Norm(StrEnum):
    """How `score` turns the log-probabilities of an option's tokens into one score."""

    TOKENS = "tokens"  # mean per token
    SUM = "sum"
    GREEDY = "greedy"  # token by token, the likeliest option stays; ties by mean
    PRIOR = "prior"  # sum minus the sum without the context


@dataclass(frozen=True)
class CallUsage:
    """Tokens of one call or of a whole run; prompt = cached + computed + restored."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    computed_tokens: int = 0
    restored_tokens: int = 0
    completion_tokens: int = 0
    forks: int = 0

    def __add__(self, other: CallUsage) -> CallUsage:
        return CallUsage(
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.computed_tokens + other.computed_tokens,
            self.restored_tokens + other.restored_tokens,
            self.completion_tokens + other.completion_tokens,
            self.forks + other.forks,
        )


@dataclass(frozen=True)
class Delta:
    """New text of a running generation."""

    text: str
    token_ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class GenResult:
    """The end of a generation; always the last item of its stream.

    `text` is what was appended to the context (stop text cut off). `finish_reason`: "stop", "length" or "abort".
    """

    text: str
    token_ids: tuple[int, ...]
    finish_reason: str
    usage: CallUsage
    logprobs: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Scores:
    """Outcome of `score`: one score per option (higher is better), their softmax, the winner (lowest index on ties)."""

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]
    best: int
    usage: CallUsage


@dataclass(frozen=True)
class Fork:
    """Children of a fork and what computing the shared prefix cost (`usage.forks` counts the children)."""

    children: tuple[ContextId, ...]
    usage: CallUsage
    shared_tokens: int


@dataclass(frozen=True)
class RuntimeInfo:
    """What a result and a trace say about the runtime."""

    model: str
    deterministic: bool
    version: str = ""
    details: Mapping[str, str] = field(default_factory=dict)


class RuntimeFailure(Exception):
    """A runtime could not do what was asked. `code` is an E06xx / E07xx / E08xx of the language."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[type[RuntimeFailure], tuple[str, str]]:
        """Pickled by what it was made of."""
        return type(self), (self.code, self.message)


class Runtime(Protocol):
    """The verbs. `release` is idempotent and cancels what runs on the context.

    A verb that is cancelled has done nothing: no context that nobody knows is left behind.
    """

    @property
    def info(self) -> RuntimeInfo:
        """What it is."""
        ...

    async def open(self, namespace: str = "", model: str | None = None) -> ContextId:
        """A fresh, empty context."""
        ...

    async def append(self, context: ContextId, parts: Sequence[Part]) -> None:
        """Buffer parts; nothing is tokenised or computed yet."""
        ...

    async def commit(self, context: ContextId) -> int:
        """Tokenise what is buffered; the context's length in tokens."""
        ...

    def generate(
        self, context: ContextId, params: GenParams, constraint: Constraint | None = None
    ) -> AsyncIterator[Delta | GenResult]:
        """Commit, then generate and append.

        Text from a stop string on is cut from the context too: the tokens before the cut stay, the rest of a
        token that the cut splits goes back to the buffer as text. Closing the iterator early cancels and rolls
        the context back to where the call began.
        """
        ...

    async def score(self, context: ContextId, options: Sequence[str], norm: Norm = Norm.TOKENS) -> Scores:
        """Score each option as the continuation of the context. Appends nothing.

        The last text token is re-opened: its text goes back to the buffer, so that options, and the winner when it is
        appended as Text afterwards, are tokenised together with it. Sampled tokens are never re-opened.
        """
        ...

    async def fork(self, context: ContextId, n: int) -> Fork:
        """Commit, compute the prefix once, and give n children that share it, each in the parent's open role."""
        ...

    async def adopt(self, parent: ContextId, child: ContextId) -> None:
        """The parent becomes what the child is; the child is gone. No prefill."""
        ...

    async def truncate(self, context: ContextId, length: int) -> None:
        """Forget all but the first `length` tokens, and what is buffered."""
        ...

    async def release(self, context: ContextId) -> None:
        """Give the context's blocks back."""
        ...

    async def tokens(self, context: ContextId) -> list[int]:
        """The committed token ids."""
        ...

    async def count(self, text: str) -> int:
        """Tokens of a text by itself."""
        ...
