"""Where records begin in a block, by the reference."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.oracle.containers import ORDER, long, order
from thalweg.codecs.avro.split import MAX_EMPTY_RECORDS, Blocks
from thalweg.errors import UserError
from thalweg.ports.codec import Split

SCHEMA = json.dumps(ORDER)


def split(block: bytes, count: int, schema: object = ORDER) -> tuple[list[int], str | None]:
    """Offsets and fault."""
    found = Blocks().split(json.dumps(schema), block, count)
    return found.offsets.tolist(), found.fault


def test_records_are_told_apart() -> None:
    """Each record is passed over by the writer's schema; an empty block has none (AV-26)."""
    one, two = order(1), order(3)

    assert split(one + two, 2) == ([0, len(one), len(one + two)], None)
    assert split(b"", 0) == ([0], None)
    assert split(b"", 3, {"type": "record", "name": "E", "fields": []}) == ([0, 0, 0, 0], None)


@pytest.mark.parametrize(
    ("block", "count", "offsets", "says"),
    [
        (order(1) + order(2), 1, [0, len(order(1) + order(2))], "has 8 bytes left behind it"),
        (order(1), 2, [0, len(order(1)), len(order(1))], "the block ends inside it"),
        (order(1) + b"\x02\x04" + order(2), 3, [0, 6, 16], "branch 2 is out of range 0 to 1"),
        (b"\x02", 0, [0, 1], "has 1 bytes left behind it"),
        (b"", 1 << 40, [0, 0], "more records of no bytes than are read (1048576)"),
        (order(1), 1 << 30, [0, len(order(1))], "more records of no bytes"),
    ],
)  # fmt: skip
def test_counts_that_lie(block: bytes, count: int, offsets: list[int], says: str) -> None:
    """Too many, too few, or damage in the middle: the records before are kept, the rest is one bad record (AV-26, law 4)."""
    found, fault = split(block, count)

    assert fault is not None
    assert says in fault
    assert found == offsets


def test_hostile_nesting_ends() -> None:
    """A record that goes on inside itself for ever is a fault, not a full stack (AV-22)."""
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}

    assert split(b"\x02" * 5_000, 1, node) == ([0, 5_000], "cannot be read: nested more than 64 levels deep")


def test_another_way_takes_over() -> None:
    """What is given to ``use`` splits from the next block on; a schema that is none is the user's affair."""
    blocks = Blocks()
    assert blocks.split(SCHEMA, order(1), 1).fault is None
    blocks.use(lambda _node: lambda block, _count: Split(np.array([0, len(block)], np.int32), "quick"))
    assert blocks.split(SCHEMA, order(1), 1).fault == "quick"
    with pytest.raises(UserError, match="the schema in the file's header cannot be read"):
        blocks.split('{"type": "recrod"}', long(1), 1)
    assert MAX_EMPTY_RECORDS == 1 << 20
