"""Record ids: golden vectors and what tells records apart."""

from __future__ import annotations

import pyarrow as pa

from thalweg.arrow.batch import RawBatch
from thalweg.arrow.record_id import record_id, record_ids


def test_ids_tell_null_from_empty_and_fields_from_each_other() -> None:
    """Length-prefixed and NULL-tagged: no two different records encode alike (MET-05, DDP)."""
    places = [
        ("c", "t", 0, 0, b""), ("c", "t", 0, 0, None), ("c", "t", 0, 1, b""), ("c", "t", 1, 0, b""), ("ct", "", 0, 0, b""),
        ("c", "", 0, 0, b"t"), (None, "t", 0, 0, b""), ("c", "t", 0, b"\x00" * 8, b""), ("c", "t", None, None, b""),
    ]
    ids = {record_id(*place) for place in places}

    assert len(ids) == len(places) - 1  # an offset and the message id with its bytes are one position


def test_golden_vectors() -> None:
    """Ids are stored in targets, so the encoding can never change."""
    assert record_id("c", "t", 3, 42, b"payload").hex() == "da0b0a1088f9df2107f0b69faf4ca83f"
    assert record_id(None, "t", 0, 0, None).hex() == "f353c1ea026a2a78f8586921752221ac"


def test_ids_of_a_batch_are_the_ids_of_its_records() -> None:
    """One id a record, from the metadata columns that are there."""
    records = pa.record_batch({
        "payload": pa.array([b"a", None], pa.binary()),
        "source_topic": pa.array(["t", "t"]).dictionary_encode(),
        "source_partition": pa.array([0, 1], pa.int32()),
        "source_offset": pa.array([7, 8], pa.int64()),
    })

    found = record_ids(RawBatch(records, (), 1), "c")

    assert found.type == pa.binary(16)
    assert found.to_pylist() == [record_id("c", "t", 0, 7, b"a"), record_id("c", "t", 1, 8, None)]
