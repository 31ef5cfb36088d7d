"""Whether a request can ever run, and the rules under which its sequences end."""

from __future__ import annotations

from radixkv.errors import InvalidRequest, RequestTooLarge
from radixkv.request import Request
from radixkv.scheduler.messages import SchedulerLimits
from radixkv.sequence import EndRules


def end_rules(request: Request, limits: SchedulerLimits, pool_tokens: int) -> EndRules:
    """Check the request against context and pool, and cap its output by both.

    The last sampled token needs no KV, so a pool of P slots can carry a sequence to P + 1 tokens: whoever runs
    alone ends with LENGTH exactly there, and nobody has to be stopped by surprise.
    Raises InvalidRequest, RequestTooLarge.
    """
    _check_shape(request)
    _check_size(request, limits, pool_tokens)
    length = len(request.prompt)
    sampling = request.sampling
    end_ids = set(sampling.stop_token_ids)
    if not sampling.ignore_eos or request.constraint is not None:
        end_ids.update(limits.eos_token_ids)
    ignores_eos = sampling.ignore_eos and request.constraint is not None  # it goes on while the constraint lets it
    return EndRules(
        max_tokens=min(sampling.max_tokens, limits.max_context - length, pool_tokens + 1 - length),
        min_tokens=sampling.min_tokens,
        end_ids=frozenset(end_ids),
        banned_ids=tuple(sorted(end_ids)),
        never_ids=limits.eos_token_ids if ignores_eos else (),
    )


def _check_shape(request: Request) -> None:
    length = len(request.prompt)
    if not length:
        raise InvalidRequest("prompt", "no tokens", "at least 1 token")
    if request.hold is not None and request.sampling.n > 1:
        raise InvalidRequest(
            "hold", request.hold, f"None with n={request.sampling.n}: only a single choice can be held"
        )
    positions = [target.position for target in request.targets]
    if positions != sorted(positions):
        raise InvalidRequest("targets", positions, "positions in ascending order")
    if positions and not 0 <= positions[0] <= positions[-1] < length:
        raise InvalidRequest("targets", positions, f"positions from 0 to {length - 1}, the prompt's last")


def _check_size(request: Request, limits: SchedulerLimits, pool_tokens: int) -> None:
    length = len(request.prompt)
    context = limits.max_context - (1 if request.sampling.max_tokens else 0)  # room for one sampled token
    if length > min(context, pool_tokens) and limits.max_context >= pool_tokens:  # a context capped by the pool
        way_out = "shorten the prompt or raise --kv-memory"
        available = min(context, pool_tokens)
        raise RequestTooLarge("prompt tokens", length, available, "all blocks of the KV pool", way_out)
    if length > context:
        way_out = "shorten the prompt or raise --max-context, up to what the model was made for"
        raise RequestTooLarge("prompt tokens", length, context, f"the context is {limits.max_context} tokens", way_out)
