"""The scheduler: requests in, step plans out, step results in, updates out."""

from __future__ import annotations

from dataclasses import replace

from radixkv.cache import PrefixCache
from radixkv.config import SchedulerConfig
from radixkv.errors import InvalidRequest
from radixkv.request import FinishReason, Request
from radixkv.scheduler.admission import end_rules
from radixkv.scheduler.grouping import shared_prefixes
from radixkv.scheduler.holds import HoldTable
from radixkv.scheduler.messages import SchedulerLimits, SchedulerStats, SequenceUpdate, last_update, step_update
from radixkv.scheduler.placement import Placement
from radixkv.scheduler.planning import plan_sequence
from radixkv.scheduler.running import Running
from radixkv.sequence import Sequence
from radixkv.step_plan import SequencePlan, SequenceResult, StepPlan, StepResult

HELD_AT_THE_END = frozenset({FinishReason.STOP, FinishReason.LENGTH})


class Scheduler:
    """Turns requests into step plans and step results into updates. Not thread-safe; one step is open at a time.

    Time per step: linear in the running sequences, their block tables and the tokens of the step; independent of
    how many requests wait.
    """

    def __init__(self, config: SchedulerConfig, cache: PrefixCache, limits: SchedulerLimits) -> None:
        self._cache = cache
        self._limits = limits
        self._pool_tokens = cache.stats().total_blocks * cache.block_size
        self._placement = Placement(config, cache)
        self._batch = self._placement.batch
        self._waiting = self._placement.waiting
        self._holds = HoldTable(cache)
        self._live: dict[str, dict[int, Sequence]] = {}  # request id -> choice -> sequence that has not ended
        self._next_id = 0
        self._step = 0
        self._open: StepPlan | None = None
        self._computed_tokens = 0
        self._finished = 0
        self._forced_tokens = 0

    # -- requests come and go

    def add(self, request: Request) -> None:
        """Queue a request. Raises InvalidRequest, and RequestTooLarge for a prompt that can never fit."""
        if request.request_id in self._live:
            raise InvalidRequest("request_id", request.request_id, "an id that no unfinished request has")
        rules = end_rules(request, self._limits, self._pool_tokens)
        sequence = Sequence(self._next_id, request, rules, self._step)
        self._next_id += request.sampling.n  # its siblings are as old as it is
        self._live[request.request_id] = {0: sequence}
        self._waiting.add(sequence)

    def abort(self, request_id: str) -> list[SequenceUpdate]:
        """End all unfinished choices of a request now and free what they hold; an unknown id is no error.

        If a step is open, its result for them will be dropped.
        """
        updates = []
        for sequence in list(self._live.get(request_id, {}).values()):
            updates.extend(self._end_early(sequence, FinishReason.ABORT))
        return updates

    def stop(self, request_id: str, choice: int, kept_tokens: int, stopped_by: str) -> SequenceUpdate | None:
        """End a sequence from outside and forget its output beyond `kept_tokens`; None if it has ended already.

        The request's hold, if it asked for one, then covers prompt and kept output.
        """
        sequence = self._live.get(request_id, {}).get(choice)
        if sequence is None:
            self._holds.cut(request_id, kept_tokens)
            return None
        sequence.keep_output(kept_tokens)
        running = self._batch.get(sequence.sequence_id)
        if running is not None:
            self._cache.truncate(running.lease, min(running.lease.length, len(sequence.tokens)))
        return self._end_early(sequence, FinishReason.STOP, stopped_by)[0]

    def release_hold(self, name: str) -> None:
        """Give the blocks of that hold back. Idempotent."""
        if self._holds.release(name):
            self._placement.pool_eased()

    def clear_cache(self) -> int:
        """Forget every prefix and every hold; blocks freed. Running sequences go on with what they have.

        A held context loses nothing but time: its next request computes it again.
        """
        free = self._cache.stats().free_blocks
        self._holds.clear()
        self._cache.clear()
        self._waiting.end_waits()
        self._placement.pool_eased()
        return self._cache.stats().free_blocks - free

    # -- steps

    @property
    def has_work(self) -> bool:
        """Whether any sequence runs or waits."""
        return bool(self._live)

    def schedule(self) -> StepPlan | None:
        """The next step; None where there is nothing to do. It must be closed by `finish_step` or `fail_step`."""
        if self._open is not None:
            raise RuntimeError(f"step {self._open.step} is still open: close it with finish_step or fail_step first")
        self._placement.place(self._step)
        sequences = tuple([plan_sequence(running) for running in self._batch if running.granted])
        if not sequences:
            return None
        self._step += 1
        groups = shared_prefixes(sequences, self._cache.block_size)
        self._open = StepPlan(self._step, sequences, groups, self._cache.take_copies())
        return self._open

    def finish_step(self, plan: StepPlan, result: StepResult) -> list[SequenceUpdate]:
        """Commit what the step computed. Results of sequences that ended meanwhile are dropped.

        A sequence whose result is an error ends with ERROR and publishes nothing of the step.
        """
        self._close(plan)
        updates: list[SequenceUpdate] = []
        for planned, got in zip(plan.sequences, result.sequences, strict=True):
            if planned.sequence_id != got.sequence_id:
                raise ValueError(f"step {plan.step}: expected sequence {planned.sequence_id}, found {got.sequence_id}")
            running = self._batch.get(planned.sequence_id)
            if running is None:
                continue
            if got.error is not None:
                ended = self._end_early(running.sequence, FinishReason.ERROR)
                updates.extend(replace(update, error=got.error) for update in ended)
            else:
                self._settle(running, planned, got, updates)
        return updates

    def fail_step(self, plan: StepPlan) -> list[SequenceUpdate]:
        """The forward raised: its sequences end with ERROR and nothing of the step is published."""
        self._close(plan)
        updates = []
        for planned in plan.sequences:
            running = self._batch.get(planned.sequence_id)
            if running is not None:
                updates.extend(self._end_early(running.sequence, FinishReason.ERROR))
        return updates

    def stats(self) -> SchedulerStats:
        """Gauges and counters."""
        return SchedulerStats(
            waiting=len(self._waiting),
            waiting_for_prefix=self._waiting.num_parked,
            running=len(self._batch),
            holds=len(self._holds),
            steps=self._step,
            computed_tokens=self._computed_tokens,
            recomputed_tokens=self._placement.recomputed_tokens,
            preemptions=self._placement.preemptions,
            stalls=self._placement.stalls,
            prefix_waits=self._waiting.prefix_waits,
            finished=self._finished,
            forced_tokens=self._forced_tokens,
        )

    def check_integrity(self) -> None:
        """Raise AssertionError unless every lease belongs to exactly one running sequence or hold."""
        self._cache.check_integrity()
        self._batch.check_integrity()
        self._waiting.check_integrity()
        leases = [running.lease for running in self._batch] + self._holds.leases()
        ids = {lease.lease_id for lease in leases}
        assert len(ids) == len(leases), f"a lease has two owners: {[lease.owner for lease in leases]}"
        assert self._cache.stats().leases == len(leases), f"leases of nobody: the scheduler knows {sorted(ids)}"
        running_ids = [running.sequence.sequence_id for running in self._batch]
        live_ids = [sequence.sequence_id for choices in self._live.values() for sequence in choices.values()]
        assert sorted([*running_ids, *self._waiting.sequence_ids()]) == sorted(live_ids), (
            "live, running, waiting differ"
        )
        assert len(self._batch) <= self._placement.slots, f"{len(self._batch)} run, at most {self._placement.slots} may"

    # -- settling a step

    def _close(self, plan: StepPlan) -> None:
        if plan is not self._open:
            raise ValueError(f"step {plan.step} is not open")
        self._open = None

    def _settle(
        self, running: Running, planned: SequencePlan, got: SequenceResult, updates: list[SequenceUpdate]
    ) -> None:
        """Commit the step of one sequence and append what it got to `updates`."""
        sequence, length = running.sequence, planned.kv_length
        running.granted = 0
        self._cache.commit(running.lease, planned.token_ids)
        self._computed_tokens += len(planned.token_ids)
        if len(planned.token_ids) > 1 or length <= sequence.prompt_length:
            self._note_prefill(running, length)
        if length < len(sequence.tokens):  # unfinished prefill
            if got.targets:
                updates.append(SequenceUpdate(sequence.request.request_id, sequence.choice, targets=got.targets))
            return
        born = self._fork_choices(running) if sequence.unborn else []
        if sequence.request.constraint is not None:
            updates.append(self._accept_constrained(sequence, got))
        else:
            kept = sequence.accept(got.token_ids)
            if not sequence.samples:
                sequence.finish(FinishReason.LENGTH)
            updates.append(step_update(sequence, got, kept))
        updates.extend(born)
        if sequence.finish_reason is not None:
            self._end(running)

    def _accept_constrained(self, sequence: Sequence, got: SequenceResult) -> SequenceUpdate:
        """Give a sequence its opening, if that was not told yet, and its new ids."""
        opening = sequence.take_opening()
        kept = sequence.accept(got.token_ids, complete=got.complete) if sequence.samples else 0
        if not sequence.samples and sequence.finish_reason is None:
            sequence.finish(FinishReason.LENGTH)
        self._forced_tokens += len(opening) + max(0, kept - 1)
        return step_update(sequence, got, kept, opening)

    def _note_prefill(self, running: Running, length: int) -> None:
        sequence = running.sequence
        sequence.reach(length)
        sequence.scored_until = max(sequence.scored_until, min(length, sequence.prompt_length))
        if length < len(sequence.tokens):
            self._waiting.progressed(running.group, length)
        else:
            self._waiting.changed(running.group)

    def _fork_choices(self, first: Running) -> list[SequenceUpdate]:
        """The prompt is computed: let the other choices share it. They compute its last token themselves.

        Choices without a place in the batch wait, and find the prompt in the cache. Where nothing is sampled,
        they have ended; their updates are returned.
        """
        parent = first.sequence
        if not parent.samples:
            return self._end_unsampled(parent)
        siblings = parent.take_siblings()
        places = min(self._placement.slots - self._batch.slots, len(siblings))
        leases = self._cache.fork(first.lease, places, owner=parent.request.request_id) if places else []
        self._live[parent.request.request_id].update({sibling.choice: sibling for sibling in siblings})
        for sibling, lease in zip(siblings, leases, strict=False):
            self._cache.truncate(lease, len(sibling.tokens) - 1)
            self._batch.add(Running(sibling, lease, first.group))
        for sibling in siblings[places:]:
            self._waiting.add(sibling, resumed_from=0)
        return []

    # -- ending

    def _end_early(
        self, sequence: Sequence, reason: FinishReason, stopped_by: str | None = None
    ) -> list[SequenceUpdate]:
        """End a sequence wherever it is, and the choices that would have forked from it."""
        sequence.finish(reason, stopped_by)
        running = self._batch.get(sequence.sequence_id)
        if running is not None:
            self._end(running)
        else:
            self._waiting.remove(sequence.sequence_id)
            self._forget(sequence)
        return [last_update(sequence), *self._end_unborn(sequence, reason, stopped_by)]

    def _end_unsampled(self, parent: Sequence) -> list[SequenceUpdate]:
        """End choices that are over without sampling, as their parent is."""
        siblings = parent.take_siblings()
        self._finished += len(siblings)
        return [self._accept_constrained(sibling, SequenceResult(sibling.sequence_id)) for sibling in siblings]

    def _end_unborn(
        self, sequence: Sequence, reason: FinishReason, stopped_by: str | None = None
    ) -> list[SequenceUpdate]:
        siblings = sequence.take_siblings()
        for sibling in siblings:
            sibling.finish(reason, stopped_by)
        self._finished += len(siblings)
        return [last_update(sibling) for sibling in siblings]

    def _end(self, running: Running) -> None:
        """Give a finished sequence's blocks to its hold, or back. A tail whose copy may not have run is not held."""
        sequence = running.sequence
        if sequence.request.hold is not None and sequence.finish_reason in HELD_AT_THE_END:
            self._batch.remove(running)
            if running.granted:
                length = running.lease.length
                self._cache.truncate(running.lease, length - length % self._cache.block_size)
            self._holds.put(sequence.request.hold, sequence, running.lease)
        else:
            self._placement.release(running)
        self._forget(sequence)
        self._placement.pool_eased()
        self._waiting.changed(running.group)

    def _forget(self, sequence: Sequence) -> None:
        self._finished += 1
        choices = self._live[sequence.request.request_id]
        del choices[sequence.choice]
        if not choices:
            del self._live[sequence.request.request_id]
