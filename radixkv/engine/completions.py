"""Events of one request put together: deltas for a stream, and the whole completion."""

from __future__ import annotations

from dataclasses import dataclass, field

from radixkv.engine.messages import Finish, Progress
from radixkv.request import Choice, Completion, FinishReason, Request, TokenLogprob, Usage


@dataclass(frozen=True)
class CompletionDelta:
    """News of one choice. `text` may be empty while a character or a possible stop string is incomplete."""

    choice: int
    text: str
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    finish_reason: FinishReason | None = None


def delta_of(event: Progress) -> CompletionDelta:
    """The delta that an event is to the caller."""
    reason = None if event.finish is None else event.finish.reason
    return CompletionDelta(event.choice, event.text, event.token_ids, event.logprobs, reason)


@dataclass
class ChoiceBuilder:
    """One choice as its events come in."""

    text: list[str] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    targets: list[TokenLogprob] = field(default_factory=list)
    finish: Finish | None = None

    def add(self, event: Progress) -> None:
        """Take one event."""
        if event.text:
            self.text.append(event.text)
        self.token_ids += event.token_ids
        self.logprobs += event.logprobs
        self.targets += event.targets
        self.finish = event.finish

    @property
    def ending(self) -> Finish:
        """How it ended; to be asked only once it has."""
        if self.finish is None:
            raise RuntimeError("asked for the end of a choice that is running")
        return self.finish


class CompletionBuilder:
    """Gathers the events of a request."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self.choices = [ChoiceBuilder() for _ in range(request.sampling.n)]

    def add(self, event: Progress) -> None:
        """Take one event."""
        self.choices[event.choice].add(event)

    def completion(self) -> Completion:
        """The whole, once every choice has ended."""
        request = self._request
        first = self.choices[0]
        wants_prompt = request.sampling.prompt_logprobs is not None
        return Completion(
            request.request_id,
            request.prompt,
            tuple(self._choice(index) for index in range(len(self.choices))),
            self._usage(),
            request.seed,
            (None, *first.targets) if wants_prompt else None,
            () if wants_prompt else tuple(target.logprob for target in first.targets),
        )

    def _choice(self, index: int) -> Choice:
        built = self.choices[index]
        logprobs = None if self._request.sampling.logprobs is None else tuple(built.logprobs)
        ending = built.ending
        return Choice(index, "".join(built.text), tuple(built.token_ids), ending.reason, logprobs, ending.stopped_by)

    def _usage(self) -> Usage:
        """Summed over the choices."""
        return sum((choice.ending.usage for choice in self.choices), Usage())
