"""What goes into the scheduler beside requests and plans, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass

from radixkv.errors import RadixKVError
from radixkv.request import FinishReason, TokenLogprob, Usage
from radixkv.sequence import Sequence
from radixkv.step_plan import SequenceResult, forced_logprob


@dataclass(frozen=True)
class SchedulerLimits:
    """Facts about the model. `max_context`: tokens of prompt and output together."""

    max_context: int
    eos_token_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SequenceUpdate:
    """What one sequence got in one step, or how it ended.

    `token_ids` never has the end-of-sequence or stop id that ended the sequence. `targets`: prompt logprobs and
    scored targets of this step in position order, at equal position the prompt logprob first. `usage` comes with
    `finish_reason`; its computed tokens count once even where preemption made the engine compute them
    again. `error` says why a sequence ended with ERROR, where the step itself went well.
    """

    request_id: str
    choice: int
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    targets: tuple[TokenLogprob, ...] = ()
    finish_reason: FinishReason | None = None
    stopped_by: int | str | None = None
    usage: Usage | None = None
    error: str | RadixKVError | None = None


@dataclass(frozen=True)
class SchedulerStats:
    """Gauges (waiting, waiting_for_prefix, running, holds), then counters since the start."""

    waiting: int  # waiting_for_prefix included
    waiting_for_prefix: int
    running: int
    holds: int
    steps: int
    computed_tokens: int  # tokens run forward, prefill and decode
    recomputed_tokens: int  # of them: tokens whose KV had been lost by preemption
    preemptions: int
    stalls: int  # a sequence sat a step out because the pool was short
    prefix_waits: int  # times a request began to wait for a prefix that another one was computing
    finished: int  # sequences ended, for whatever reason
    forced_tokens: int  # output that constraints forced, without sampling


def step_update(sequence: Sequence, got: SequenceResult, kept: int, opening: tuple[int, ...] = ()) -> SequenceUpdate:
    """What a step gave to a sequence, which kept the first `kept` of its new ids. They follow its opening."""
    ended = sequence.finish_reason is not None
    token_ids, logprobs = got.token_ids[:kept], got.logprobs[:kept]
    if opening:
        asked = sequence.request.sampling.logprobs is not None
        token_ids = opening + token_ids
        logprobs = (*(forced_logprob(token_id) for token_id in opening if asked), *logprobs)
    return SequenceUpdate(
        sequence.request.request_id,
        sequence.choice,
        token_ids,
        logprobs,
        got.targets,
        sequence.finish_reason,
        sequence.stopped_by,
        sequence.usage() if ended else None,
    )


def last_update(sequence: Sequence) -> SequenceUpdate:
    """The last update of a sequence that got nothing more."""
    return SequenceUpdate(
        sequence.request.request_id,
        sequence.choice,
        finish_reason=sequence.finish_reason,
        stopped_by=sequence.stopped_by,
        usage=sequence.usage(),
    )
