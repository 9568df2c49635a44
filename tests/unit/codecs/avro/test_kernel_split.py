"""The kernel splits blocks exactly as the reference does."""

from __future__ import annotations

import time
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.avro_schemas import Maker, Writer, mutated, parsed
from tests.oracle.containers import ORDER, order
from thalweg.codecs.avro.kernel_split import machine
from thalweg.codecs.avro.split import reference


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**48))
def test_kernel_equals_reference(seed: int) -> None:
    """Whatever the schema, records begin where the reference says, and a fault has its words, damage included (AV-01, AV-03, AV-26)."""
    random = Random(seed)
    node = parsed(Maker(random).root())
    write = Writer(random)
    good = [write.datum(node) for _ in range(8)]
    kernel, slow = machine(node), reference(node)
    whole = b"".join(good)
    for block, count in [(whole, 8), (whole, 7), (whole, 9), *((mutated(random, whole, whole), 8) for _ in range(12))]:
        found, expected = kernel(block, count), slow(block, count)

        assert found.offsets.tolist() == expected.offsets.tolist()
        assert found.fault == expected.fault


@pytest.mark.parametrize("node", [{"type": "array", "items": "null"}, {"type": "map", "values": {"type": "array", "items": "null"}}])
def test_items_of_no_bytes_are_bounded(node: object) -> None:
    """A record of 7 bytes that claims 2^40 nulls ends at once, with a fault (AV-03)."""
    hostile = bytes.fromhex("80808080804000")
    split = machine(parsed(node))
    split(b"\x00", 1)
    begin = time.monotonic()

    assert split(hostile, 1).fault is not None
    assert time.monotonic() - begin < 1


def test_many_records_of_one_block() -> None:
    """Twenty thousand records are told apart, each at its place."""
    records = [order(i) for i in range(20_000)]
    found = machine(parsed(ORDER))(b"".join(records), len(records))

    assert [int(size) for size in np.diff(found.offsets)] == [len(record) for record in records]
