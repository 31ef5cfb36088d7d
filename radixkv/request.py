"""What a caller asks of the engine and what it gets back: plain values, no torch.

These types cross the border between the caller and the engine thread, so they are
frozen and hold nothing but ints, floats, strings and tuples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import partial
from types import MappingProxyType

from radixkv.constraint import Constrained
from radixkv.errors import InvalidRequest
from radixkv.tokens import TokenArray

MAX_SEED = 2**63 - 1
MAX_STOP_STRINGS = 64
MAX_STOP_CHARACTERS = 4096
MAX_LOGPROBS = 100
MAX_TOKEN_ID = 2**31 - 1
MAX_TOKENS = 2**31 - 1


class FinishReason(StrEnum):
    """Why a sequence ended."""

    STOP = "stop"  # an end-of-sequence id, a stop id or a stop string
    LENGTH = "length"  # max_tokens, the context limit or the end of the pool
    ABORT = "abort"  # the caller went away or asked for it
    ERROR = "error"


@dataclass(frozen=True)
class Namespace:
    """All that must be equal before two requests may share KV. Compared field by field, never joined into a string."""

    model: str = ""  # digest of the weights
    epoch: int = 0  # bumped when the weights change in place
    kv_format: str = ""
    adapter: str = ""
    salt: str = ""  # tenant


@dataclass(frozen=True)
class SamplingParams:
    """How tokens are chosen and when generation ends. Checked when made; a bad value raises InvalidRequest.

    `stop` may be given as one string or a list, `stop_token_ids` as a list: they become tuples. `logit_bias` is copied
    and read-only from then on. Defaults are the language's: temperature 1, nothing cut off.

    `seed` None means that the engine draws one and reports it. Noise depends on
    (seed, choice index, position) alone. `repetition_penalty` looks at prompt and output
    (divides a positive logit, multiplies a negative one); `frequency_penalty` and
    `presence_penalty` look at the output only. `logprobs` counts the top entries beside the
    chosen token (0: the chosen token alone; None: no logprobs). `prompt_logprobs` likewise
    for the prompt.
    """

    temperature: float = 1.0
    top_k: int = 0  # 0: off
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    logit_bias: Mapping[int, float] = field(default_factory=dict, hash=False)  # a mapping has no hash; equality sees it
    seed: int | None = None
    n: int = 1
    max_tokens: int = 256
    min_tokens: int = 0
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    include_stop: bool = False  # keep the stop string in the text
    logprobs: int | None = None
    prompt_logprobs: int | None = None

    def __post_init__(self) -> None:
        _check_number("temperature", self.temperature, 0.0, 100.0)
        _check_int("top_k", self.top_k, 0, 2**31 - 1)
        _check_number("top_p", self.top_p, 0.0, 1.0, low_open=True)
        _check_number("min_p", self.min_p, 0.0, 1.0)
        _check_number("repetition_penalty", self.repetition_penalty, 0.0, 100.0, low_open=True)
        _check_number("frequency_penalty", self.frequency_penalty, -2.0, 2.0)
        _check_number("presence_penalty", self.presence_penalty, -2.0, 2.0)
        if self.seed is not None:
            _check_int("seed", self.seed, 0, MAX_SEED)
        _check_int("n", self.n, 1, 128)
        _check_int("max_tokens", self.max_tokens, 0, MAX_TOKENS)
        _check_int("min_tokens", self.min_tokens, 0, self.max_tokens)
        for name in ("logprobs", "prompt_logprobs"):
            if getattr(self, name) is not None:
                _check_int(name, getattr(self, name), 0, MAX_LOGPROBS)
        for name in ("ignore_eos", "include_stop"):
            _check_bool(name, getattr(self, name))
        object.__setattr__(self, "stop", _checked_stops(self.stop))
        object.__setattr__(self, "stop_token_ids", _checked_ids("stop_token_ids", self.stop_token_ids))
        object.__setattr__(self, "logit_bias", _checked_bias(self.logit_bias))

    def __reduce__(self) -> tuple[Callable[[], SamplingParams], tuple[()]]:
        """Pickled and copied as its fields, for the read-only view of the bias has no pickle of its own."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return partial(SamplingParams, **(values | {"logit_bias": dict(self.logit_bias)})), ()

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is taken without noise."""
        return self.temperature == 0.0

    @property
    def looks_at_prompt(self) -> bool:
        """Whether a penalty looks at the prompt's ids."""
        return self.repetition_penalty != 1.0

    @property
    def counts_output(self) -> bool:
        """Whether a penalty counts the generated ids."""
        return self.frequency_penalty != 0.0 or self.presence_penalty != 0.0

    @property
    def looks_at_output(self) -> bool:
        """Whether a penalty looks at the generated ids."""
        return self.looks_at_prompt or self.counts_output

    @property
    def changes_logits(self) -> bool:
        """Whether bias or penalties move logits."""
        return bool(self.logit_bias) or self.looks_at_output


def _checked_stops(stop: object) -> tuple[str, ...]:
    texts = (stop,) if isinstance(stop, str) else stop
    if not isinstance(texts, tuple | list) or any(not isinstance(text, str) or not text for text in texts):
        raise InvalidRequest("stop", stop, "a non-empty string, or a tuple or list of them")
    if len(texts) > MAX_STOP_STRINGS:
        raise InvalidRequest("stop", f"{len(texts)} strings", f"at most {MAX_STOP_STRINGS}")
    if any(len(text) > MAX_STOP_CHARACTERS for text in texts):
        raise InvalidRequest("stop", f"{max(map(len, texts))} characters", f"at most {MAX_STOP_CHARACTERS} in a string")
    return tuple(texts)


def _checked_ids(name: str, ids: object) -> tuple[int, ...]:
    if not isinstance(ids, tuple | list):
        raise InvalidRequest(name, ids, "a tuple or list of token ids")
    for token_id in ids:
        _check_int(name, token_id, 0, MAX_TOKEN_ID)
    return tuple(ids)


def _checked_bias(biases: object) -> Mapping[int, float]:
    if not isinstance(biases, Mapping):
        raise InvalidRequest("logit_bias", biases, "a mapping from token id to a number from -100 to 100")
    for token_id, bias in biases.items():
        _check_int("logit_bias token id", token_id, 0, MAX_TOKEN_ID)
        _check_number(f"logit_bias[{token_id}]", bias, -100.0, 100.0)
    return MappingProxyType(dict(biases))


def _check_bool(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidRequest(name, value, "True or False")


def _check_int(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidRequest(name, value, f"an integer from {low} to {high}")


def _check_number(name: str, value: object, low: float, high: float, low_open: bool = False) -> None:
    allowed = f"a number from {low:g}{' (excluded)' if low_open else ''} to {high:g}"
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidRequest(name, value, allowed)
    if value < low or value > high or (low_open and value == low):
        raise InvalidRequest(name, value, allowed)


@dataclass(frozen=True)
class ScoreTarget:
    """Ask for the log-probability of `token_id` as the token that follows prompt position `position` (0-based)."""

    position: int
    token_id: int


@dataclass(frozen=True)
class Request:
    """One request in token ids. `sampling.max_tokens` 0 computes the prompt's KV and ends.

    `targets` are scored from the prompt's logits, sorted by position. `hold` keeps the
    finished sequence's blocks under a lease of that name until `release_hold(hold)`;
    such a lease may be revoked when the pool is short (the tokens are then computed again).
    `constraint`: what the output must be; a constrained request ends at an end-of-sequence id in any case.
    """

    request_id: str
    prompt: TokenArray
    sampling: SamplingParams
    seed: int  # the drawn or given seed
    namespace: Namespace = Namespace()
    targets: tuple[ScoreTarget, ...] = ()
    hold: str | None = None
    priority: int = 0  # higher runs first
    constraint: Constrained | None = None


@dataclass(frozen=True)
class TokenLogprob:
    """Log-probability of one token and of the likeliest ones at its place, best first."""

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Usage:
    """Tokens of one or more engine calls. prompt = cached + computed + restored.

    Of several choices of a request the first one accounts for the prompt. Each further choice that began adds one
    prompt token, a computed one: the last, whose logits it needs for itself (a prompt of p tokens with n choices:
    p + n - 1). What preemption makes the engine compute again is not in here, the scheduler's counters have it.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    computed_tokens: int = 0
    restored_tokens: int = 0
    completion_tokens: int = 0
    forks: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.computed_tokens + other.computed_tokens,
            self.restored_tokens + other.restored_tokens,
            self.completion_tokens + other.completion_tokens,
            self.forks + other.forks,
        )


@dataclass(frozen=True)
class Choice:
    """One finished sequence of a request.

    `token_ids` are the sampled ids without the end-of-sequence or stop id that ended it; with a stop
    string they may reach into or past it, `text` does not (unless `include_stop`).
    """

    index: int
    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    logprobs: tuple[TokenLogprob, ...] | None = None
    stopped_by: int | str | None = None  # the id or string that ended it


@dataclass(frozen=True)
class Completion:
    """All that a request gave back."""

    request_id: str
    prompt_token_ids: TokenArray
    choices: tuple[Choice, ...]
    usage: Usage
    seed: int
    prompt_logprobs: tuple[TokenLogprob | None, ...] | None = None  # the first entry is None: nothing precedes it
    target_logprobs: tuple[float, ...] = ()  # one per Request.targets

    @property
    def text(self) -> str:
        """Text of the first choice."""
        return self.choices[0].text if self.choices else ""
