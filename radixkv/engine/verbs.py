"""What the verbs of a context take and give. The language's runtime has the same shapes in its own types."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from radixkv.request import FinishReason, TokenLogprob, Usage


@dataclass(frozen=True)
class Text:
    """Text to append; special tokens spelled in it are plain text."""

    text: str


@dataclass(frozen=True)
class RoleOpen:
    """Open a role by the model's chat template."""

    role: str


@dataclass(frozen=True)
class RoleClose:
    """Close the open role."""


Part = Text | RoleOpen | RoleClose


@dataclass(frozen=True)
class Generation:
    """The end of a generation. `text` and `token_ids` are what the context keeps: text from a stop string on is cut,
    and of a token that the cut splits only the text is there (it waits in the context's buffer).
    """

    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    usage: Usage
    logprobs: tuple[TokenLogprob, ...] | None = None


class Norm(StrEnum):
    """How an option's log-probabilities become its score."""

    TOKENS = "tokens"  # mean per token
    SUM = "sum"
    GREEDY = "greedy"  # token by token the likeliest options stay; ties by the mean
    PRIOR = "prior"  # sum minus the sum without the context


@dataclass(frozen=True)
class Scores:
    """One score per option (higher is better), their softmax, the winner (lowest index on ties)."""

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]
    best: int
    usage: Usage


@dataclass(frozen=True)
class Fork:
    """Children of a fork; `usage` is what computing the shared prefix cost."""

    children: tuple[str, ...]
    usage: Usage
    shared_tokens: int
