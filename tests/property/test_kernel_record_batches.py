"""Answers to fetches: what the loops read is what was written, and damage is read as a plain parser reads it, or refused."""

from __future__ import annotations

import os
import tracemalloc
from itertools import cycle
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.record_answers import PLACES, Log, Pen, mutated
from tests.oracle.record_batches import answer
from tests.oracle.record_reader import Row, agrees, loaded, taken
from thalweg.sources.kafka.fetch import answer as module
from thalweg.sources.kafka.rooms import Rooms

if TYPE_CHECKING:
    from thalweg.sources.kafka.fetch.answer import Batches

EXAMPLES = int(os.environ.get("KERNEL_EXAMPLES", "150"))
ROOM = 16 << 20
"""Bytes that reading an answer of a few hundred may take, the slow reader's included."""
LARGE = 1 << 20
WINDOWS = st.sampled_from((1, 50, 300, LARGE))
"""How much is unpacked at a time."""
SEEDS = st.integers(0, 2**48)


def logs(random: Random) -> list[tuple[Log, int]]:
    """Partitions, and the offset that is wanted of each: it lies within a batch or between two."""
    found = [Pen(random).log(key, random.randrange(9)) for key in random.choice((PLACES, PLACES[1:], (PLACES[1], PLACES[0])))]
    return [(log, random.randrange(max(log.next, 1))) for log in found]


def opened(found: list[tuple[Log, int]]) -> Batches:
    """What a broker answers to that."""
    return loaded(answer(tuple(log.part(wanted) for log, wanted in found)), {log.key: wanted for log, wanted in found})


@settings(max_examples=EXAMPLES, deadline=None)
@given(SEEDS, st.lists(st.integers(1, 9), min_size=1, max_size=5), WINDOWS)
def test_what_was_written_is_read(seed: int, portions: list[int], window: int) -> None:
    """Any records, codec, transaction, gap and offset, in any portions and unpacked in any lots: each record that counts comes once and in order (KF-01, REP-06, REP-07)."""
    found = logs(Random(seed))
    batches, rooms, rows, most = opened(found), Rooms(), list[Row](), cycle(portions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WINDOW", window)
        while batches:
            rows += taken(batches, next(most), rooms)

    assert rows == [row for log, wanted in found for row in log.rows(wanted)]
    assert batches.next == {log.key: log.next for log, _ in found if log.batches}


@settings(max_examples=EXAMPLES, deadline=None)
@given(SEEDS, st.integers(1, 30), st.integers(1, 5), st.sets(st.sampled_from(PLACES), min_size=1), WINDOWS)
def test_partitions_may_go_at_any_time(seed: int, before: int, portion: int, gone: set[tuple[str, int]], window: int) -> None:
    """What was taken stays, nothing more comes of the partitions that went, and everything of the others."""
    found = logs(Random(seed))
    batches = opened(found)
    expected = [row for log, wanted in found for row in log.rows(wanted)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WINDOW", window)
        rows = taken(batches, before)
        batches.drop(gone)
        rest = list[Row]()
        while batches:
            rest += taken(batches, portion)

    assert rows == expected[: len(rows)]
    assert len(rows) == min(before, len(expected)) or window < LARGE
    assert rest == [row for row in expected[len(rows) :] if row.key not in gone]


@settings(max_examples=EXAMPLES, deadline=None)
@given(SEEDS, st.integers(1, 20))
def test_a_cut_answer_loses_its_last_batch_only(seed: int, cut: int) -> None:
    """The batches in front of the one that is cut count, and positions stop there."""
    log = Pen(Random(seed)).log(PLACES[0], 6)
    if len(log.batches) < 2:
        return
    batches = loaded(answer((log.part(0, cut),)), {})
    end = log.batches[-2].next

    assert batches.next == {log.key: end}
    assert taken(batches, 1_000) == [row for row in log.rows(0) if row.offset < end]


@settings(max_examples=EXAMPLES, deadline=None)
@given(SEEDS, st.integers(1, 5))
def test_damage_is_refused_or_read_alike(seed: int, portion: int) -> None:
    """Damaged answers have the rows that a plain parser finds, or are garbled; no other fault, and no memory for what is only claimed."""
    random = Random(seed)
    pen, arrow = Pen(random), pa.default_memory_pool().max_memory()
    good = pen.answer()
    sent = [mutated(random, good, pen.answer()) for _ in range(9)]
    tracemalloc.start()
    try:
        refused = [agrees(data, {PLACES[0]: random.choice((0, 2))}, portion) for data in [good, *sent]]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(refused) == 10
    assert peak < ROOM
    assert pa.default_memory_pool().max_memory() - arrow < ROOM
