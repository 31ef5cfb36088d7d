"""Sequences that wait for a place in the batch, and the order in which they get one.

Order: priority, then score = hit tokens + age_weight * steps waited. All scores grow alike with time, so the order
of two sequences changes only when a hit does; a heap over `age_weight * arrival - hit` needs no upkeep per step.
Hits are looked up when a sequence comes, when blocks of its group were published or lost, and before it is taken.

Starvation bound, for sequences of equal priority: let H = min(max_context, pool tokens) - 1, the largest hit there is.
A sequence that came at step s with hit h is overtaken only by those that came before s + (H - h) / age_weight, apart
from at most `max_prefix_wait` steps in which it may wait for a prefix that is being computed.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from radixkv.cache import PrefixCache
from radixkv.request import Namespace
from radixkv.sequence import Sequence

EXAMINED_PER_STEP: Final = 32  # look-ups in one step at most, so that a step costs the same however many wait

GroupKey = tuple[Namespace, bytes]
HeapItem = tuple[int, float, int, int]  # -priority, age_weight * arrival - hit, sequence_id, version


@dataclass(eq=False, slots=True)
class Waiting:
    """One waiting sequence. `resumed_from`: tokens that had KV when it was preempted; None if it never ran."""

    sequence: Sequence
    group: GroupKey
    resumed_from: int | None = None
    hit_tokens: int = 0
    in_flight_tokens: int = 0  # beyond the hit, being computed by a running sequence
    looked_up: int = -1  # epoch of the queue
    version: int = 0  # of its place in the heap
    parked: bool = False  # waits for a prefix and is not in the heap
    wait_until: int | None = None  # step from which it waits for no prefix any more

    @property
    def needed_length(self) -> int:
        """Length that must have been published for the wait to be over."""
        return self.hit_tokens + self.in_flight_tokens


@dataclass(eq=False, slots=True)
class _Group:
    """Sequences that begin with the same block. `pending` of them, the first ones, are still to be looked up again."""

    entries: OrderedDict[int, Waiting] = field(default_factory=OrderedDict)
    pending: int = 0
    least_needed: float = math.inf  # smallest `needed_length` of the parked ones


class WaitingQueue:
    """Waiting sequences by rank. Holds no lease and no block: leaving it needs no cleaning up."""

    def __init__(self, cache: PrefixCache, block_size: int, age_weight: float, max_prefix_wait: int) -> None:
        self._cache = cache
        self._block_size = block_size
        self._age_weight = age_weight
        self._max_prefix_wait = max_prefix_wait
        self._entries: dict[int, Waiting] = {}
        self._heap: list[HeapItem] = []
        self._groups: dict[GroupKey, _Group] = {}
        self._stale: dict[GroupKey, None] = {}  # groups with pending look-ups, oldest first
        self._deadlines: deque[Waiting] = deque()  # by `wait_until`, which grows from left to right
        self._epoch = 0  # grows whenever an earlier look-up may have become untrue
        self._budget = 0  # look-ups left in this step
        self._pushes = 0  # a version is never used twice, so that a left-over of the heap cannot come to life again
        self.num_parked = 0
        self.prefix_waits = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, sequence_id: int) -> bool:
        return sequence_id in self._entries

    @property
    def highest_priority(self) -> int | None:
        """Priority of who is first in line; None where nobody is."""
        top = self._top()
        return top.sequence.request.priority if top else None

    def sequence_ids(self) -> Iterator[int]:
        """Ids of all waiting sequences."""
        return iter(self._entries)

    def add(self, sequence: Sequence, resumed_from: int | None = None) -> None:
        """Queue a new or a preempted sequence."""
        prefix = sequence.tokens[: self._block_size].tobytes()
        entry = Waiting(sequence, (sequence.request.namespace, prefix), resumed_from)
        self._entries[sequence.sequence_id] = entry
        self._groups.setdefault(entry.group, _Group()).entries[sequence.sequence_id] = entry
        self._look_up(entry)
        self._push(entry)

    def remove(self, sequence_id: int) -> Waiting:
        """Take a sequence out, wherever it stands."""
        entry = self._entries.pop(sequence_id)
        self._unpark(entry)
        group = self._groups[entry.group]
        del group.entries[sequence_id]
        group.pending = min(group.pending, len(group.entries))
        if not group.entries:
            del self._groups[entry.group]
            self._stale.pop(entry.group, None)
        self._epoch += 1  # whoever leaves may announce what others were about to compute
        return entry

    def progressed(self, key: GroupKey, length: int) -> None:
        """A running sequence of that group has published its first `length` tokens."""
        group = self._groups.get(key)
        if group is not None and length >= group.least_needed:
            self.changed(key)

    def changed(self, key: GroupKey) -> None:
        """Hits of that group may have grown, or what its sequences wait for will not come."""
        group = self._groups.get(key)
        if group is not None:
            group.pending = len(group.entries)
            group.least_needed = math.inf
            self._stale[key] = None

    def begin_step(self, step: int, *, may_wait: bool) -> None:
        """Renew look-ups that may have changed, as far as a step's budget goes; end waits that took too long."""
        self._epoch += 1
        self._budget = EXAMINED_PER_STEP
        while self._deadlines and self._expired(self._deadlines[0], step):
            self._unpark_into_heap(self._deadlines.popleft())
        if not may_wait:
            self.end_waits()
        while self._stale and self._budget:
            self._renew_one(next(iter(self._stale)))

    def end_waits(self) -> None:
        """Let every parked sequence stand in line again. O(parked)."""
        if self.num_parked:
            for entry in self._entries.values():
                self._unpark_into_heap(entry)

    def first(self, step: int, *, may_wait: bool) -> Waiting | None:
        """Who is next, freshly looked up; None where nobody is or the step's budget is spent.

        Parks sequences on the way that had better wait for a prefix. With `may_wait` False nobody is parked, and
        someone is returned if anyone waits at all.
        """
        while (entry := self._top()) is not None:
            if entry.looked_up == self._epoch:
                return entry
            if not self._budget:
                return None if may_wait else entry
            self._budget -= 1
            key = self._score(entry)
            self._look_up(entry)
            if may_wait and self._should_wait(entry, step):
                self._park(entry, step)
            elif self._score(entry) > key:  # it lost hits: another one may be first now
                self._push(entry)
        return None

    def check_integrity(self) -> None:
        """Raise AssertionError if heap, groups and entries disagree. O(waiting)."""
        in_heap = {item[2] for item in self._heap if self._is_current(item)}
        parked = {sequence_id for sequence_id, entry in self._entries.items() if entry.parked}
        assert in_heap | parked == self._entries.keys(), "a waiting sequence is neither in the heap nor parked"
        assert not in_heap & parked, "a parked sequence is in the heap"
        assert self.num_parked == len(parked), f"{self.num_parked} parked counted, {len(parked)} found"
        grouped = {key: entry for group in self._groups.values() for key, entry in group.entries.items()}
        assert grouped == self._entries, "groups and entries differ"
        assert all(entry.wait_until is not None for entry in self._entries.values() if entry.parked)

    def _look_up(self, entry: Waiting) -> None:
        sequence = entry.sequence
        found = self._cache.lookup(sequence.tokens, sequence.request.namespace, sequence.max_hit())
        entry.hit_tokens, entry.in_flight_tokens = found.hit_tokens, found.in_flight_tokens
        entry.looked_up = self._epoch

    def _renew_one(self, key: GroupKey) -> None:
        group = self._groups[key]
        sequence_id, entry = group.entries.popitem(last=False)
        group.entries[sequence_id] = entry
        group.pending -= 1
        if group.pending <= 0:
            del self._stale[key]
        score = self._score(entry)
        self._look_up(entry)
        self._budget -= 1
        if not entry.parked:
            if self._score(entry) != score:
                self._push(entry)
        elif entry.in_flight_tokens < self._block_size:
            self._unpark_into_heap(entry)
        else:
            group.least_needed = min(group.least_needed, entry.needed_length)

    def _should_wait(self, entry: Waiting, step: int) -> bool:
        return entry.in_flight_tokens >= self._block_size and not self._expired(entry, step)

    @staticmethod
    def _expired(entry: Waiting, step: int) -> bool:
        return entry.wait_until is not None and entry.wait_until <= step

    def _park(self, entry: Waiting, step: int) -> None:
        entry.parked = True
        self.num_parked += 1
        if entry.wait_until is None:
            entry.wait_until = step + self._max_prefix_wait
            self._deadlines.append(entry)
            self.prefix_waits += 1
        group = self._groups[entry.group]
        group.least_needed = min(group.least_needed, entry.needed_length)

    def _unpark(self, entry: Waiting) -> bool:
        was_parked = entry.parked
        entry.parked = False
        self.num_parked -= was_parked
        return was_parked

    def _unpark_into_heap(self, entry: Waiting) -> None:
        if self._unpark(entry):
            self._push(entry)

    def _score(self, entry: Waiting) -> float:
        return self._age_weight * entry.sequence.arrived - entry.hit_tokens

    def _push(self, entry: Waiting) -> None:
        if len(self._heap) > 2 * len(self._entries) + EXAMINED_PER_STEP:
            self._heap = [item for item in self._heap if self._is_current(item)]
            heapq.heapify(self._heap)
        self._pushes += 1
        entry.version = self._pushes
        sequence = entry.sequence
        item = (-sequence.request.priority, self._score(entry), sequence.sequence_id, entry.version)
        heapq.heappush(self._heap, item)

    def _is_current(self, item: HeapItem) -> bool:
        entry = self._entries.get(item[2])
        return entry is not None and entry.version == item[3] and not entry.parked

    def _top(self) -> Waiting | None:
        while self._heap and not self._is_current(self._heap[0]):
            heapq.heappop(self._heap)
        return self._entries[self._heap[0][2]] if self._heap else None
