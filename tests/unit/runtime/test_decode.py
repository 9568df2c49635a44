"""From raw records to the rows of a relation."""

from __future__ import annotations

import dataclasses
from typing import Any

import pyarrow as pa
import pytest

from thalweg.arrow.batch import BadRows, Decoded, RawBatch
from thalweg.arrow.metadata import HEADERS, ROW
from thalweg.model.events import Notice, SchemaResolved
from thalweg.model.position import Partition, Span
from thalweg.plan.graph import MetadataColumn, SourceTable
from thalweg.ports.codec import Decoder, DecodeRequest
from thalweg.runtime.decode import Decoding, Rows, Side
from thalweg.testing.fakes import RecordingObserver

P = Partition("orders", "t", 0)


class Numbers(Decoder):
    """Payloads are decimal digits; ``none`` is a NULL, anything else is bad."""

    def __init__(self, name: str = "n") -> None:
        """One column."""
        self._name = name

    @property
    def schema(self) -> pa.Schema:
        """One int64 column."""
        return pa.schema([(self._name, pa.int64())])

    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:
        """Row by row."""
        assert payloads.null_count == 0
        bad, rows, out = BadRows(), [], []
        for i, payload in enumerate(payloads.to_pylist()):
            if payload.isdigit() or payload == b"none":
                rows.append(i)
                out.append(None if payload == b"none" else int(payload))
            else:
                bad.add(i, "decode.malformed", f"{payload!r} is no number", self._name)
        return Decoded(pa.record_batch([pa.array(out, pa.int64())], schema=self.schema), pa.array(rows, pa.int32()), bad)


def table(**changes: Any) -> SourceTable:  # noqa: ANN401 - fields of the dataclass
    """A source with one decoded column and one declared metadata column."""
    schema = pa.schema([("n", pa.int64()), ("at", pa.timestamp("us")), ("place", pa.int64())])
    nothing: Any = None
    made = SourceTable(
        "orders", "KAFKA", "kafka://h/t", nothing, nothing, nothing, schema,
        metadata=(MetadataColumn("at", "source_timestamp", pa.timestamp("us")), MetadataColumn("place", "source_offset", pa.int64())),
    )
    return dataclasses.replace(made, **changes)


def raw(payloads: list[bytes | None], keys: list[bytes | None] | None = None) -> RawBatch:
    """Records at offsets 100, 101, ..."""
    n = len(payloads)
    columns = {
        "payload": pa.array(payloads, pa.binary()),
        "source_topic": pa.array(["t"] * n).dictionary_encode(),
        "source_partition": pa.array([0] * n, pa.int32()),
        "source_offset": pa.array(range(100, 100 + n), pa.int64()),
        "source_timestamp": pa.array([5] * n, pa.timestamp("ms", "UTC")),
        "source_headers": pa.array([[]] * n, HEADERS),
    }
    if keys is not None:
        columns["source_key"] = pa.array(keys, pa.binary())
    return RawBatch(pa.record_batch(columns), (Span(P, 100, 100 + n),), 1)


def side(decoder: Decoder) -> Side:
    """A side that has nothing but its decoder and the name of its format."""
    nothing: Any = None
    return Side(nothing, DecodeRequest("digits", None, None, None, "_twg_"), None, decoder)


def run(t: SourceTable, batch: RawBatch, key: Decoder | None = None) -> Rows:
    """Decode, and check that what came out is sound Arrow."""
    rows = Decoding(t, side(Numbers()), side(key) if key is not None else None).relation(batch)
    rows.batch.validate(full=True)
    return rows


def test_rows_carry_their_number_and_declared_metadata() -> None:
    """Columns in the order of the relation, metadata converted as declared, the row number last (MET-34)."""
    rows = run(table(), raw([b"1", b"2"]))

    assert rows.batch.to_pylist() == [
        {"n": 1, "at": pa.scalar(5000, pa.timestamp("us")).as_py(), "place": 100, ROW: 0},
        {"n": 2, "at": pa.scalar(5000, pa.timestamp("us")).as_py(), "place": 101, ROW: 1},
    ]


def test_a_bad_record_costs_one_record() -> None:
    """Its neighbours keep their numbers and their metadata (DEC, law 4)."""
    rows = run(table(), raw([b"1", b"x", b"3", None, b"5"]))

    assert rows.batch.column("n").to_pylist() == [1, 3, 5]
    assert rows.batch.column("place").to_pylist() == [100, 102, 104]
    assert rows.batch.column(ROW).to_pylist() == [0, 2, 4]
    assert (rows.bad.rows, rows.bad.codes) == ([1], ["decode.malformed"])
    assert rows.tombstones == 1


@pytest.mark.parametrize("policy", ["dlq", "fail"])
def test_tombstones_can_be_dead_letters(policy: str) -> None:
    """A record without payload is not an empty one (KF-01)."""
    rows = run(table(tombstones=policy), raw([b"1", None]))

    assert rows.batch.num_rows == 1
    assert (rows.bad.rows, rows.bad.codes) == ([1], ["source.tombstone"])


def test_tombstones_can_be_rows_of_nulls() -> None:
    """In their place, with their metadata."""
    rows = run(table(tombstones="null_row"), raw([None, b"2", None, b"x"]))

    assert rows.batch.column("n").to_pylist() == [None, 2, None]
    assert rows.batch.column("place").to_pylist() == [100, 101, 102]
    assert rows.bad.rows == [3]


def test_an_empty_payload_is_data() -> None:
    """It reaches the decoder, which says what it thinks of it."""
    assert run(table(), raw([b""])).bad.codes == ["decode.malformed"]


def test_not_null_is_checked_after_decoding() -> None:
    """A NULL where the table says NOT NULL is a bad record with its column as path."""
    rows = run(table(not_null=("n",)), raw([b"1", b"none"]))

    assert rows.batch.column("n").to_pylist() == [1]
    assert (rows.bad.rows, rows.bad.codes, rows.bad.paths) == ([1], ["decode.not_null"], ["n"])


def test_keys_are_decoded_beside_values() -> None:
    """A NULL key gives NULLs, a bad key a bad record; both sides must decode."""
    schema = pa.schema([("k", pa.int64()), ("n", pa.int64())])
    rows = run(table(schema=schema, metadata=()), raw([b"1", b"2", b"x", b"4"], [b"10", None, b"30", b"?"]), Numbers("k"))

    assert rows.batch.to_pylist() == [{"k": 10, "n": 1, ROW: 0}, {"k": None, "n": 2, ROW: 1}]
    assert sorted(rows.bad.rows) == [2, 3]


def test_records_that_the_transport_called_bad_stay_bad() -> None:
    """A header that is not UTF-8 cannot be mended by a decoder."""
    bad = BadRows()
    bad.add(0, "source.header", "header 1 is not UTF-8")
    batch = raw([b"1", b"2"])
    rows = run(table(), dataclasses.replace(batch, bad=bad))

    assert rows.batch.column("n").to_pylist() == [2]
    assert rows.bad.codes == ["source.header"]


@pytest.mark.parametrize("policy", ["drop", "dlq", "null_row"])
def test_what_the_source_calls_bad_is_never_decoded(policy: str) -> None:
    """Neither its value nor its key, whatever they are, and it is no tombstone: one record is bad once (law 4)."""
    bad = BadRows()
    for row in (0, 2):
        bad.add(row, "source.block", "damage")
    batch = dataclasses.replace(raw([b"?", b"2", None, b"x"], [b"?", b"20", None, b"?"]), bad=bad)
    schema = pa.schema([("k", pa.int64()), ("n", pa.int64())])
    rows = run(table(schema=schema, metadata=(), tombstones=policy), batch, Numbers("k"))

    assert rows.batch.to_pylist() == [{"k": 20, "n": 2, ROW: 1}]
    assert list(zip(rows.bad.rows, rows.bad.codes, rows.bad.paths, strict=True)) == [
        (0, "source.block", None), (2, "source.block", None), (3, "decode.malformed", "n"),
    ]
    assert rows.tombstones == 0


def test_an_unresolved_schema_is_a_fault_of_the_caller() -> None:
    """Nothing runs on a guess."""
    with pytest.raises(ValueError, match="no schema"):
        Decoding(table(schema=None), side(Numbers()), None)


def test_what_payloads_become_is_said_before() -> None:
    """One fact a side with every field and type; what lies too deep is a warning, coarse times a note (DEC-03, DEC-09)."""

    class Deep(Numbers):
        """Says something."""

        @property
        def notices(self) -> tuple[str, ...]:
            """One cut."""
            return ("'a.b': message t.M lies deeper than 'decode.max_depth' (2) and becomes JSON text",)

        @property
        def coarse(self) -> tuple[str, ...]:
            """Seven columns."""
            return tuple(f"t{n}" for n in range(7))

    seen = RecordingObserver()
    Decoding(table(), side(Deep()), side(Numbers("k"))).announce(seen)

    assert [(r.side, r.format, r.columns, r.fields) for r in seen.of(SchemaResolved)] == [("value", "digits", 1, "n int64"), ("key", "digits", 1, "k int64")]
    assert [(n.level, n.code) for n in seen.of(Notice)] == [("warning", "decode.depth"), ("info", "decode.finer")]
    assert "t.M" in seen.of(Notice)[0].message
    assert "'t4' and 2 more" in seen.of(Notice)[1].message


def test_another_decoder_takes_over_between_two_batches() -> None:
    """The compiled one gives the same; from the next batch on it is the one that is asked."""

    class Counting(Numbers):
        """Counts."""

        asked = 0

        def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:
            """The same, counted."""
            self.asked += 1
            return super().decode(payloads, headers)

        @property
        def slow_rows(self) -> dict[str, int]:
            """Some were slow."""
            return {"digits": 3}

    value = side(Numbers())
    decoding = Decoding(table(), value, None)
    before = decoding.relation(raw([b"1", b"x"]))
    fast = Counting()
    decoding.use(value, fast)
    after = decoding.relation(raw([b"1", b"x"]))

    assert after.batch.equals(before.batch)
    assert after.bad == before.bad
    assert fast.asked == 1
    assert decoding.counted() == {"slow": 3}
    assert decoding.counted() == {}


@pytest.mark.parametrize(("rows", "waited"), [(10, False), (5_000, True)])
def test_only_a_large_batch_waits_for_faster_decoders(rows: int, waited: bool) -> None:  # noqa: FBT001 - a parameter
    """The first large batch waits until they are there or given up, once; a small one is decoded at once."""
    made = Decoding(table(), side(Numbers()), None)
    waits: list[int] = []
    made.soon = lambda: waits.append(1)

    assert made.relation(raw([b"1"] * rows)).batch.num_rows == rows
    assert made.relation(raw([b"1"] * rows)).batch.num_rows == rows
    assert waits == [1] * waited
