"""Sequences in the batch, each tied to its lease, in the order in which they are served."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass

from radixkv.cache import Lease
from radixkv.scheduler.waiting import GroupKey
from radixkv.sequence import Sequence

Rank = tuple[int, int]


@dataclass(eq=False, slots=True)
class Running:
    """A running sequence and its lease. `granted`: tokens that it computes in the open step, 0 if it sits it out."""

    sequence: Sequence
    lease: Lease
    group: GroupKey
    granted: int = 0

    @property
    def remaining(self) -> int:
        """Tokens without KV; the last of them gives the next token."""
        return len(self.sequence.tokens) - self.lease.length

    @property
    def rank(self) -> Rank:
        """Priority, then age; choices of one request in order. The last one is the first victim of preemption."""
        return (-self.sequence.request.priority, self.sequence.sequence_id)


def _rank(running: Running) -> Rank:
    return running.rank


class Batch:
    """Running sequences by rank, first the one that is served first."""

    def __init__(self) -> None:
        self._order: list[Running] = []
        self._by_id: dict[int, Running] = {}

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Running]:
        return iter(self._order)

    def get(self, sequence_id: int) -> Running | None:
        """The running sequence of that id."""
        return self._by_id.get(sequence_id)

    @property
    def last(self) -> Running:
        """Lowest priority, youngest. The batch must not be empty."""
        return self._order[-1]

    @property
    def slots(self) -> int:
        """Places taken, those of choices to come included. O(running)."""
        return len(self._order) + sum([running.sequence.unborn for running in self._order])

    def add(self, running: Running) -> None:
        """Insert by rank."""
        insort(self._order, running, key=_rank)
        self._by_id[running.sequence.sequence_id] = running

    def remove(self, running: Running) -> None:
        """Take out; it must be there."""
        del self._by_id[running.sequence.sequence_id]
        del self._order[bisect_left(self._order, running.rank, key=_rank)]

    def check_integrity(self) -> None:
        """Raise AssertionError if order or index are wrong."""
        ranks = [running.rank for running in self._order]
        assert ranks == sorted(set(ranks)), f"running sequences out of order: {ranks}"
        assert [running.sequence.sequence_id for running in self._order] == [rank[1] for rank in ranks]
        assert {id(running) for running in self._order} == {id(running) for running in self._by_id.values()}
        for running in self._order:
            assert not running.lease.released, f"{running.sequence.owner} runs on a released lease"
            assert running.remaining >= 1, f"{running.sequence.owner} has nothing to compute"
            assert running.sequence.finish_reason is None, f"{running.sequence.owner} runs although it has ended"
