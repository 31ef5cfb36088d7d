"""From the batch to a step plan: plain ints for the runner."""

from __future__ import annotations

from radixkv.scheduler.running import Running
from radixkv.sequence import Sequence
from radixkv.step_plan import SamplingState, SequencePlan, Target
from radixkv.tokens import NO_TOKENS


def plan_sequence(running: Running) -> SequencePlan:
    """The granted tokens of one running sequence. Cost: its block table and its new tokens."""
    sequence, lease = running.sequence, running.lease
    start = lease.length
    end = start + running.granted
    samples = end == len(sequence.tokens) and sequence.samples
    return SequencePlan(
        sequence.sequence_id,
        sequence.tokens[start:end],
        start,
        tuple(lease.block_table),
        sampling_state(sequence) if samples else None,
        _targets(sequence, start, end) if start < sequence.prompt_length else (),
        sequence.request.sampling.prompt_logprobs or 0,
        (sequence.request.request_id, sequence.choice) if samples and sequence.request.constraint else None,
    )


def _targets(sequence: Sequence, start: int, end: int) -> tuple[Target, ...]:
    return tuple(Target(target.position - start, target.token_id) for target in sequence.targets_between(start, end))


def sampling_state(sequence: Sequence) -> SamplingState:
    """What the sampler needs for the next token; prompt and output only where a penalty looks at them."""
    request = sequence.request
    params = request.sampling
    return SamplingState(
        params,
        request.seed,
        sequence.choice,
        sequence.num_output,
        request.prompt if params.looks_at_prompt else NO_TOKENS,
        sequence.output_ids if params.looks_at_output else NO_TOKENS,
        sequence.banned_ids,
    )
