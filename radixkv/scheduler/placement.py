"""Who computes how many tokens in the next step: granting, admitting, preempting.

A step takes one token of every running sequence that decodes and fills its token budget with prefill chunks, the
oldest first, then with sequences that wait. Served first is the highest priority, then the oldest request.

When the pool is short, the lowest priority's youngest sequence is preempted: its blocks stay in the tree while they
can and it waits again, to resume by the same look-up as a new request. A sequence that is itself the last in rank
sits the step out instead. From then on nobody is admitted until a sequence has ended and there is a spare block
for each running one, so that preempting and resuming do not chase each other. The first in rank always proceeds.
"""

from __future__ import annotations

from radixkv.cache import Lease, PrefixCache
from radixkv.config import SchedulerConfig
from radixkv.errors import OutOfBlocks
from radixkv.scheduler.running import Batch, Running
from radixkv.scheduler.waiting import Waiting, WaitingQueue
from radixkv.sequence import Sequence


class Placement:
    """The running and the waiting sequences, and the rules by which they change places."""

    def __init__(self, config: SchedulerConfig, cache: PrefixCache) -> None:
        self._cache = cache
        self._step_tokens = config.step_tokens
        self.slots = min(config.max_running, config.step_tokens)  # so every running sequence gets a token in every step
        self.batch = Batch()
        self.waiting = WaitingQueue(cache, cache.block_size, config.age_weight, config.max_prefix_wait)
        self.preemptions = 0
        self.stalls = 0
        self.recomputed_tokens = 0
        self._short = False  # the pool was short, and nothing that would ease it has happened since

    def place(self, step: int) -> None:
        """Set `granted` of every sequence that takes part in the next step, with room for its tokens in its lease."""
        self._grant_running()
        self._admit_waiting(step)

    def pool_eased(self) -> None:
        """A sequence or a hold has ended: who did not fit may try again."""
        self._short = False

    def release(self, running: Running) -> None:
        """Out of the batch. In an open step, or one being planned, its tail may wait for a copy: not published then."""
        self.batch.remove(running)
        self._cache.release(running.lease, publish_tail=not running.granted)

    def _grant_running(self) -> None:
        """One token to every decoding sequence, what is left of the budget to chunks: forced tokens, then prefills."""
        unfinished = []
        for running in list(self.batch):
            if running.remaining == 1:
                self._grant(running, 1)
            else:
                unfinished.append(running)
        unfinished.sort(key=_is_prefill)  # keeps the order of rank
        budget, preemptions = self._budget(), self.preemptions
        for running in unfinished:
            if preemptions != self.preemptions:  # what was granted to who was preempted is free again
                budget, preemptions = self._budget(), self.preemptions
            if budget:
                self._grant(running, min(running.remaining, budget))
                budget -= running.granted

    def _budget(self) -> int:
        """Tokens that the step may still take. O(running)."""
        return self._step_tokens - sum([running.granted for running in self.batch])

    def _grant(self, running: Running, num_tokens: int) -> None:
        """Make room for the tokens of one sequence, at the cost of sequences of lower rank; else it sits out."""
        while self.batch.get(running.sequence.sequence_id) is running:  # it may have been preempted in this step
            try:
                self._cache.extend(running.lease, num_tokens)
            except OutOfBlocks:
                if not self._push_back_for(running):
                    return
            else:
                running.granted = num_tokens
                return

    def _push_back_for(self, running: Running) -> bool:
        """Preempt the last sequence for this one; False if it is the last itself and waits where it is.

        Alone, it gives its blocks back and is admitted anew in the same step, which always succeeds: a block that
        it shares only with the tree need not be copied then.
        """
        self._short = True
        victim = self.batch.last
        if victim is not running:
            self._preempt(victim)
            return True
        if len(self.batch) == 1:
            self._preempt(running)
        else:
            self.stalls += 1
        return False

    def _preempt(self, running: Running) -> None:
        computed = running.lease.length
        self.release(running)
        self.waiting.add(running.sequence, resumed_from=computed)
        self.waiting.changed(running.group)
        self.preemptions += 1
        self._short = True

    def _admit_waiting(self, step: int) -> None:
        """Give places to waiting sequences, first things first: nobody overtakes a sequence that does not fit yet."""
        if not self.waiting or self.batch.slots >= self.slots or not self._admits(self.waiting.highest_priority):
            return
        self.waiting.begin_step(step, may_wait=len(self.batch) > 0)
        while budget := self._budget():
            entry = self.waiting.first(step, may_wait=len(self.batch) > 0)
            if entry is None or not self._has_slots(entry.sequence):
                return
            priority = entry.sequence.request.priority
            while not (self._admits(priority) and self._start(entry, budget)):
                if not self._outranks_last(priority):
                    return
                self._preempt(self.batch.last)

    def _admits(self, priority: int | None) -> bool:
        """Whether anyone of that priority may try for a place; None: nobody stands in line."""
        return not self._short or not self.batch or self._outranks_last(priority)

    def _outranks_last(self, priority: int | None) -> bool:
        """Whether someone of that priority may take blocks from the last running sequence: only if strictly higher."""
        return priority is not None and len(self.batch) > 0 and priority > self.batch.last.sequence.request.priority

    def _has_slots(self, sequence: Sequence) -> bool:
        return not self.batch or self.batch.slots + 1 + sequence.unborn <= self.slots

    def _start(self, entry: Waiting, budget: int) -> bool:
        """Admit a sequence if the pool has room for all its tokens; False, and nothing has changed, if it has not."""
        if not self._has_room(entry.sequence):
            self._short = True
            return False
        sequence = entry.sequence
        lease = self._acquire(sequence, resumed=entry.resumed_from is not None)
        self.waiting.remove(sequence.sequence_id)
        running = Running(sequence, lease, entry.group)
        running.granted = min(running.remaining, budget)
        self.batch.add(running)
        if entry.resumed_from is None:
            sequence.reach(lease.length, cached=True)
        else:
            self.recomputed_tokens += max(entry.resumed_from - lease.length, 0)
        return True

    def _has_room(self, sequence: Sequence) -> bool:
        """Whether there are blocks for all tokens of a sequence and a spare one for each running sequence.

        While nothing runs there always are: whatever leases the scheduler has then can be revoked.
        """
        spare = self.batch.slots + 1 + sequence.unborn
        return not self.batch or self._cache.has_room(
            sequence.tokens, sequence.request.namespace, max_hit=sequence.max_hit(), spare=spare
        )

    def _acquire(self, sequence: Sequence, *, resumed: bool) -> Lease:
        """A lease with blocks for all tokens of a sequence for which there is room."""
        lease = self._cache.acquire(
            sequence.tokens,
            sequence.request.namespace,
            owner=sequence.owner,
            reason="resumed request" if resumed else "request",
            max_hit=sequence.max_hit(),
            resumed=resumed,
        )
        self._cache.extend(lease, len(sequence.tokens) - lease.length)
        return lease


def _is_prefill(running: Running) -> bool:
    """Whether its prompt is not computed yet; else it has forced tokens to catch up with."""
    return running.lease.length < running.sequence.prompt_length
