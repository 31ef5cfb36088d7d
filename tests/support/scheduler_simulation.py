"""A forward that simulates KV slots, so that a wrong block table, a missed copy or a stale block changes the output.

Each slot remembers which token was written at which position. The "model" hashes all that a row's block table says
about positions 0 .. row; the oracle hashes the true tokens. They agree only if every slot is right.
"""

from __future__ import annotations

import zlib
from array import array
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from radixkv.cache import PrefixCache
from radixkv.config import SchedulerConfig
from radixkv.request import FinishReason, Namespace, Request, SamplingParams, TokenLogprob
from radixkv.scheduler import Scheduler, SchedulerLimits, SequenceUpdate
from radixkv.step_plan import SamplingState, SequencePlan, SequenceResult, StepPlan, StepResult
from radixkv.tokens import token_array

EOS = 1
VOCAB = 97
NOTHING = -1  # content of a slot that was never written


def content(tokens: Iterable[int], start: int = 0) -> array[int]:
    """What slots hold after `tokens` were written from position `start` on."""
    return array("q", [position << 32 | token for position, token in enumerate(tokens, start)])


def next_token(prefix: array[int], seed: int, choice: int, position: int, greedy: bool, banned: tuple[int, ...]) -> int:
    noise = () if greedy else (seed, choice, position)
    value = zlib.crc32(prefix.tobytes() + repr(noise).encode())
    while value % VOCAB in banned:
        value = zlib.crc32(value.to_bytes(4, "little"))
    return value % VOCAB


def logprob(prefix: array[int], token_id: int) -> float:
    return -float(zlib.crc32(prefix.tobytes() + token_id.to_bytes(4, "little")) % 1000) / 100


class SimulatedForward:
    """Runs plans on simulated slots and checks each plan's own consistency."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.slots = array("q", [NOTHING]) * (num_blocks * block_size)
        self.computed = 0
        self.copies = 0

    def run(self, plan: StepPlan) -> StepResult:
        self.check(plan)
        for copy in plan.copies:
            source, target = copy.source * self.block_size, copy.target * self.block_size
            self.slots[target : target + copy.tokens] = self.slots[source : source + copy.tokens]
            self.copies += 1
        for sequence in plan.sequences:
            self.write(sequence)
            self.computed += len(sequence.token_ids)
        return StepResult(plan.step, tuple(self.result(sequence) for sequence in plan.sequences))

    def write(self, sequence: SequencePlan) -> None:
        for position, value in enumerate(content(sequence.token_ids, sequence.start), sequence.start):
            block, offset = divmod(position, self.block_size)
            self.slots[sequence.block_table[block] * self.block_size + offset] = value

    def read(self, sequence: SequencePlan, length: int) -> array[int]:
        found = array("q")
        for block in sequence.block_table[: -(-length // self.block_size)]:
            found += self.slots[block * self.block_size : (block + 1) * self.block_size]
        return found[:length]

    def result(self, sequence: SequencePlan) -> SequenceResult:
        targets = tuple(
            TokenLogprob(t.token_id, logprob(self.read(sequence, sequence.start + t.row + 1), t.token_id))
            for t in sequence.targets
        )
        state = sequence.sampling
        if state is None:
            return SequenceResult(sequence.sequence_id, targets=targets)
        prefix = self.read(sequence, sequence.kv_length)
        token = next_token(prefix, state.seed, state.choice, state.position, state.params.greedy, state.banned_ids)
        self.check_penalties(state, prefix)
        logprobs = () if state.params.logprobs is None else (TokenLogprob(token, logprob(prefix, token)),)
        return SequenceResult(sequence.sequence_id, (token,), logprobs, targets)

    def check_penalties(self, state: SamplingState, prefix: array[int]) -> None:
        if state.params.repetition_penalty != 1.0:
            assert len(state.output_ids) == state.position
            assert content([*state.prompt_ids, *state.output_ids]) == prefix

    def check(self, plan: StepPlan) -> None:
        written: dict[int, int] = {}
        for row, sequence in enumerate(plan.sequences):
            assert len(sequence.token_ids) > 0
            assert len(sequence.block_table) * self.block_size >= sequence.kv_length
            assert len(set(sequence.block_table)) == len(sequence.block_table)
            first, last = sequence.start // self.block_size, (sequence.kv_length - 1) // self.block_size
            for block in sequence.block_table[first : last + 1]:
                assert block not in written, f"rows {written[block]} and {row} write to block {block}"
                written[block] = row
        for row, sequence in enumerate(plan.sequences):
            for block in sequence.block_table[: sequence.start // self.block_size]:
                assert block not in written, f"row {row} reads block {block}, which row {written[block]} writes"
        for group in plan.groups:
            assert len(group.rows) >= 2
            assert group.block_ids
            for row in group.rows:
                assert plan.sequences[row].block_table[: len(group.block_ids)] == group.block_ids
                assert plan.sequences[row].start >= len(group.block_ids) * self.block_size


@dataclass
class Outcome:
    """All that one choice got."""

    token_ids: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    targets: list[TokenLogprob] = field(default_factory=list)
    last: SequenceUpdate | None = None

    @property
    def finish_reason(self) -> FinishReason | None:
        return self.last.finish_reason if self.last else None


class Simulation:
    """A scheduler, a cache and a simulated forward, with every invariant checked after every step."""

    def __init__(
        self,
        num_blocks: int = 64,
        block_size: int = 4,
        *,
        max_context: int = 4096,
        enabled: bool = True,
        check: bool = True,
        **config: float,
    ) -> None:
        self.cache = PrefixCache(num_blocks, block_size, enabled=enabled)
        self.config = SchedulerConfig(**config)  # type: ignore[arg-type]
        self.limits = SchedulerLimits(max_context, (EOS,))
        self.scheduler = Scheduler(self.config, self.cache, self.limits)
        self.forward = SimulatedForward(num_blocks, block_size)
        self.outcomes: dict[tuple[str, int], Outcome] = defaultdict(Outcome)
        self.plans: list[StepPlan] = []
        self.check = check

    def add(self, *requests: Request) -> None:
        for request in requests:
            self.scheduler.add(request)
        self.checked()

    def step(self) -> bool:
        """One step; False when there was nothing to do."""
        plan = self.scheduler.schedule()
        self.checked()
        if plan is None:
            assert not self.scheduler.has_work, "the scheduler idles although it has work"
            return False
        assert plan.num_tokens <= self.config.step_tokens
        self.plans.append(plan)
        self.take(self.scheduler.finish_step(plan, self.forward.run(plan)))
        return True

    def drain(self, limit: int = 100_000) -> None:
        for _ in range(limit):
            if not self.step():
                return
        raise AssertionError(f"not drained after {limit} steps: {self.scheduler.stats()}")

    def abort(self, request_id: str) -> None:
        self.take(self.scheduler.abort(request_id))

    def stop(self, request_id: str, choice: int, kept: int, stopped_by: str = "stop") -> None:
        update = self.scheduler.stop(request_id, choice, kept, stopped_by)
        if update is not None:
            del self.outcomes[request_id, choice].token_ids[kept:]
            self.take([update])

    def take(self, updates: Iterable[SequenceUpdate]) -> None:
        for update in updates:
            outcome = self.outcomes[update.request_id, update.choice]
            assert outcome.finish_reason is None, f"{update} came after the end"
            outcome.token_ids += update.token_ids
            outcome.logprobs += update.logprobs
            outcome.targets += update.targets
            if update.finish_reason is not None:
                outcome.last = update
        self.checked()

    def checked(self) -> None:
        if self.check:
            self.scheduler.check_integrity()

    def tokens(self, request_id: str, choice: int = 0) -> list[int]:
        return self.outcomes[request_id, choice].token_ids

    def assert_as_if_alone(self, request: Request) -> None:
        """Every choice of a finished request is what the tokens alone say."""
        for choice in range(request.sampling.n):
            outcome = self.outcomes[request.request_id, choice]
            expected, reason = self.expected(request, choice)
            if outcome.finish_reason is FinishReason.ABORT:
                assert outcome.token_ids == expected[: len(outcome.token_ids)]
                continue
            assert (outcome.token_ids, outcome.finish_reason) == (expected, reason), f"{request.request_id}/{choice}"
            if not choice:
                assert outcome.targets == self.expected_targets(request)

    def expected(self, request: Request, choice: int) -> tuple[list[int], FinishReason]:
        """Output and end of a choice that runs alone, from the tokens: no cache, no blocks, no schedule."""
        sampling, length = request.sampling, len(request.prompt)
        pool_tokens = self.cache.stats().total_blocks * self.cache.block_size
        limit = min(sampling.max_tokens, self.limits.max_context - length, pool_tokens + 1 - length)
        ends = {*sampling.stop_token_ids, *(() if sampling.ignore_eos else self.limits.eos_token_ids)}
        prefix, output = content(request.prompt), list[int]()
        while len(output) < limit:
            banned = tuple(ends) if len(output) < sampling.min_tokens else ()
            token = next_token(prefix, request.seed, choice, len(output), sampling.greedy, banned)
            if token in ends:
                return output, FinishReason.STOP
            output.append(token)
            prefix.append((length + len(output) - 1) << 32 | token)
        return output, FinishReason.LENGTH

    def expected_targets(self, request: Request) -> list[TokenLogprob]:
        prefix = content(request.prompt)
        wanted = [(target.position, 1, target.token_id) for target in request.targets]
        if request.sampling.prompt_logprobs is not None:
            wanted += [(p, 0, request.prompt[p + 1]) for p in range(len(request.prompt) - 1)]
        wanted.sort(key=lambda each: each[:2])
        return [TokenLogprob(token, logprob(prefix[: position + 1], token)) for position, _, token in wanted]

    def assert_drained(self) -> None:
        """Nobody holds anything; after a clear everything is free."""
        assert not self.scheduler.has_work
        stats = self.cache.stats()
        assert stats.leases == 0
        assert stats.free_blocks + stats.cached_blocks == stats.total_blocks
        self.scheduler.clear_cache()
        self.checked()
        assert self.cache.stats().free_blocks == stats.total_blocks


def request(name: str, prompt: Iterable[int], *, seed: int = 0, salt: str = "", **fields: Any) -> Request:
    """A greedy request of 10 tokens that ignores the end-of-sequence id, unless told otherwise.

    Fields of Request and of SamplingParams may be given side by side.
    """
    own = {key: fields.pop(key) for key in ("targets", "hold", "priority") if key in fields}
    sampling = SamplingParams(**{"temperature": 0.0, "max_tokens": 10, "ignore_eos": True, **fields})
    return Request(name, token_array(prompt), sampling, seed, Namespace(salt=salt), **own)
