from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from radixkv.scheduler.grouping import shared_prefixes
from radixkv.step_plan import SequencePlan, SharedPrefix
from radixkv.tokens import token_array

BLOCK_SIZE = 4


def plan(row: int, table: tuple[int, ...], start: int) -> SequencePlan:
    return SequencePlan(row, token_array([2]), start, table)


def test_sequences_that_share_nothing_make_no_group() -> None:
    assert shared_prefixes([plan(0, (1, 2), 4), plan(1, (3, 4), 4)], BLOCK_SIZE) == ()


def test_a_block_that_a_row_writes_in_is_not_shared() -> None:
    assert shared_prefixes([plan(0, (1, 2), 8), plan(1, (1, 3), 4), plan(2, (1, 4), 2)], BLOCK_SIZE) == (
        SharedPrefix((1,), (0, 1)),
    )


def test_groups_nest_where_tables_branch() -> None:
    tables = [(1, 2, 3, 10), (1, 2, 3, 11), (1, 2, 5, 12), (1, 6, 7, 13)]
    groups = shared_prefixes([plan(row, table, 12) for row, table in enumerate(tables)], BLOCK_SIZE)
    assert groups == (
        SharedPrefix((1,), (0, 1, 2, 3)),
        SharedPrefix((1, 2), (0, 1, 2)),
        SharedPrefix((1, 2, 3), (0, 1)),
    )


@given(st.lists(st.tuples(st.lists(st.integers(1, 2), min_size=1, max_size=6), st.integers(0, 24)), max_size=7))
def test_groups_are_exactly_the_branchings_of_the_tables(rows: list[tuple[list[int], int]]) -> None:
    """Against the definition: every maximal common prefix of two rows, with all the rows that begin with it."""
    # block ids in a tree are a path's name: equal only if all blocks before are equal
    tables = [tuple(hash(tuple(path[: i + 1])) for i in range(len(path))) for path, _ in rows]
    starts = [min(start, len(table) * BLOCK_SIZE) for table, (_, start) in zip(tables, rows, strict=True)]
    readable = [table[: start // BLOCK_SIZE] for table, start in zip(tables, starts, strict=True)]
    expected = set()
    for a in range(len(rows)):
        for b in range(a):
            depth = next((i for i, (x, y) in enumerate(zip(readable[a], readable[b], strict=False)) if x != y), None)
            prefix = readable[a][: min(len(readable[a]), len(readable[b])) if depth is None else depth]
            if prefix:
                members = tuple(row for row, table in enumerate(readable) if table[: len(prefix)] == prefix)
                expected.add(SharedPrefix(prefix, members))
    found = shared_prefixes([plan(i, t, s) for i, (t, s) in enumerate(zip(tables, starts, strict=True))], BLOCK_SIZE)
    assert len(found) == len(set(found))
    assert set(found) == expected
