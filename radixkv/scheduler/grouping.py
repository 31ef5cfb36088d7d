"""Which sequences of a step begin with the same blocks."""

from __future__ import annotations

from collections.abc import Sequence

from radixkv.step_plan import SequencePlan, SharedPrefix

BlockTable = tuple[int, ...]


def shared_prefixes(sequences: Sequence[SequencePlan], block_size: int) -> tuple[SharedPrefix, ...]:
    """Groups of at least two sequences that share whole, finished blocks from the first one on.

    A block in which a sequence writes in this step is not part of a group. Groups nest: for each branching of
    the tables there is one, the longer ones after those that they extend. Cost: linear in the number of
    sequences where nothing is shared, else in the length of the tables of those that share.
    """
    rows_by_block: dict[int, list[int]] = {}
    for row, sequence in enumerate(sequences):
        if sequence.start >= block_size:
            rows_by_block.setdefault(sequence.block_table[0], []).append(row)
    groups: list[SharedPrefix] = []
    for rows in rows_by_block.values():
        if len(rows) > 1:
            tables = {row: sequences[row].block_table[: sequences[row].start // block_size] for row in rows}
            groups.extend(_branchings(tables))
    return tuple(groups)


def _branchings(tables: dict[int, BlockTable]) -> list[SharedPrefix]:
    """One group per branching of tables that all begin with the same block."""
    groups = []
    pending = [list(tables)]
    while pending:
        rows = pending.pop()
        depth = _common_length([tables[row] for row in rows])
        groups.append(SharedPrefix(tables[rows[0]][:depth], tuple(rows)))
        rows_by_block: dict[int, list[int]] = {}
        for row in rows:
            if len(tables[row]) > depth:
                rows_by_block.setdefault(tables[row][depth], []).append(row)
        pending.extend(branch for branch in rows_by_block.values() if len(branch) > 1)
    return groups


def _common_length(tables: list[BlockTable]) -> int:
    """Length of the common prefix of all tables: that of the lexically least and greatest, by bisection."""
    least, greatest = min(tables), max(tables)
    low, high = 0, min(len(least), len(greatest))
    if least[:high] == greatest[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if least[low:middle] == greatest[low:middle]:
            low = middle
        else:
            high = middle
    return low
