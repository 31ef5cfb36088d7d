"""The messages that cross between the callers' event loops and the engine thread: frozen and plain.

To the core: Submit, Abort, ReleaseHold, Ask, Stop. From it: Progress and Failed, one batch per event loop and
step, and Answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from radixkv.errors import EngineClosed
from radixkv.request import FinishReason, Request, TokenLogprob, Usage


@dataclass(frozen=True)
class Submit:
    """Run a request; its events go to the event loop registered as `client`."""

    client: int
    request: Request


@dataclass(frozen=True)
class Abort:
    """End a request wherever it is; unknown or finished ones are ignored."""

    request_id: str


@dataclass(frozen=True)
class ReleaseHold:
    """Give up the blocks held under that name; harmless when there are none."""

    name: str


class Question(StrEnum):
    """What can be asked of the core."""

    STATS = "stats"
    CLEAR_CACHE = "clear_cache"
    CHECK_INTEGRITY = "check_integrity"


@dataclass(frozen=True)
class Ask:
    """Ask for an Answer with the same id."""

    ask_id: int
    question: Question


@dataclass(frozen=True)
class Stop:
    """Take no more requests and end the thread: once the running ones are done (`drain`), or at once."""

    drain: bool


Message = Submit | Abort | ReleaseHold | Ask | Stop


@dataclass(frozen=True)
class Finish:
    """How a choice ended.

    `kept_tokens` of its tokens lie wholly before the cut of a stop string, `remainder` is the text between them
    and the cut; without a stop string all tokens are kept and nothing remains.
    """

    reason: FinishReason
    usage: Usage
    kept_tokens: int
    remainder: str = ""
    stopped_by: int | str | None = None


@dataclass(frozen=True)
class Progress:
    """What one choice of a request got in one step. `text` may lag behind `token_ids`: incomplete characters and
    possible beginnings of stop strings are held back.
    """

    request_id: str
    choice: int
    text: str = ""
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    targets: tuple[TokenLogprob, ...] = ()
    finish: Finish | None = None


@dataclass(frozen=True)
class Failed:
    """The request ended, all choices of it, by this error."""

    request_id: str
    error: Exception


Event = Progress | Failed


@dataclass(frozen=True)
class Answer:
    """Reply to an Ask: a value, or the error that asking raised."""

    ask_id: int
    value: object = None
    error: Exception | None = None


@dataclass(frozen=True)
class Closed:
    """Why the engine takes no more work."""

    reason: str = "the engine is closed"
    cause: Exception | None = None

    def error(self) -> EngineClosed:
        """A fresh one for each who is told: an error that is raised again and again collects every traceback."""
        error = EngineClosed(self.reason)
        error.__cause__ = self.cause
        return error
