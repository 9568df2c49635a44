"""Record ids by the kernel are the record ids of the exact path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.arrow import record_id_kernel
from thalweg.arrow.batch import RawBatch
from thalweg.arrow.record_id import record_ids
from thalweg.arrow.record_id_kernel import kernel_record_ids, make
from thalweg.kernels.jit import disabled

if TYPE_CHECKING:
    import pytest

PLACES = st.fixed_dictionaries({
    "payload": st.none() | st.binary(max_size=300),
    "source_topic": st.none() | st.text(max_size=20),
    "source_partition": st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
    "source_offset": st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
    "source_message_id": st.none() | st.binary(max_size=40),
})
TYPES = {
    "payload": pa.binary(), "source_topic": pa.string(), "source_partition": pa.int32(), "source_offset": pa.int64(), "source_message_id": pa.binary(),
}  # fmt: skip


def raw(rows: list[dict[str, Any]]) -> RawBatch:
    """Records with every column that an id takes."""
    return RawBatch(pa.record_batch({name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()}), (), 1)


@settings(deadline=None, max_examples=5 if disabled() else 150)
@given(st.lists(PLACES, max_size=12), st.none() | st.text(max_size=30), st.integers(0, 3))
def test_equal_to_the_exact_path(rows: list[dict[str, Any]], cluster: str | None, cut: int) -> None:
    """NULL and empty parts, offsets or message ids, slices (MET-05, DDP)."""
    batch = raw(rows)
    piece = RawBatch(batch.records.slice(cut), (), 1)

    assert kernel_record_ids(batch, cluster).equals(record_ids(batch, cluster))
    assert kernel_record_ids(piece, cluster).equals(record_ids(piece, cluster))


def test_columns_that_a_transport_does_not_have() -> None:
    """A dictionary of topics, no message ids: what the Kafka source gives; and nothing but payloads."""
    records = pa.record_batch({
        "payload": pa.array([b"a", None, b"", b"x" * 2000], pa.binary()),
        "source_topic": pa.array(["t", "t", "u", None]).dictionary_encode(),
        "source_partition": pa.array([0, 1, 2, 3], pa.int32()),
        "source_offset": pa.array([7, 8, 9, 10], pa.int64()),
    })
    for batch in (RawBatch(records, (), 1), RawBatch(records.select(["payload"]), (), 1)):
        assert make()(batch, "c").equals(record_ids(batch, "c"))


def test_too_many_bytes_for_offsets_take_the_exact_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Topics and message ids of gigabytes in one batch are no fault."""
    batch = raw([dict.fromkeys(TYPES)])
    monkeypatch.setattr(record_id_kernel, "_MOST_BYTES", 10)

    assert kernel_record_ids(batch, "c").equals(record_ids(batch, "c"))
