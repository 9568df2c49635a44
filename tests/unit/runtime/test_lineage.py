"""From a row back to its record."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from thalweg.arrow import metadata
from thalweg.arrow.batch import BadRows, RawBatch
from thalweg.arrow.record_id import record_id
from thalweg.runtime.lineage import Records

PREFIX = "_twg_"


def records(alias: str | None = None) -> Records:
    """Three records of one partition."""
    columns = pa.record_batch({
        "payload": pa.array([b"a", None, b""], pa.binary()),
        "source_topic": pa.array(["t", "t", "t"]).dictionary_encode(),
        "source_partition": pa.array([0, 0, 0], pa.int32()),
        "source_offset": pa.array([7, 8, 12], pa.int64()),
        "source_key": pa.array([b"k", None, b""], pa.binary()),
        "source_headers": pa.array([[{"key": "h", "value": b"1"}, {"key": "h", "value": None}], [], None], metadata.HEADERS),
    })
    return Records(RawBatch(columns, (), 3), PREFIX, cluster_id="abc", cluster_alias=alias)


def test_the_raw_lane_has_everything() -> None:
    """All metadata columns, NULL where the transport has none, bytes as they were (MET-25, MET-33, law 5)."""
    rows = records().raw_rows()
    rows.validate(full=True)

    assert rows.schema.names[:-1] == metadata.raw_schema(PREFIX).names
    assert rows.column("payload").to_pylist() == [b"a", None, b""]
    assert rows.column("_twg_source_key").to_pylist() == [b"k", None, b""]
    assert rows.column("_twg_source_headers").to_pylist()[0] == [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    assert rows.column("_twg_source_producer_id").null_count == 3
    assert rows.column("_twg_record_id").to_pylist()[0] == record_id("abc", "t", 0, 7, b"a")


def test_the_alias_is_shown_but_never_hashed() -> None:
    """Record ids use the broker's cluster id, whatever the table calls it (MET-21)."""
    rows = records("prod").raw_rows()

    assert rows.column("_twg_source_cluster").to_pylist() == ["prod"] * 3
    assert rows.column("_twg_record_id").to_pylist() == records().raw_rows().column("_twg_record_id").to_pylist()


def test_rows_get_the_metadata_of_their_record() -> None:
    """Filtered and repeated rows alike; the row number is gone (MET-38)."""
    batch = pa.record_batch({"x": [1, 2, 3], metadata.ROW: pa.array([2, 0, 0], pa.int32())})
    target = pa.schema([("x", pa.int64()), ("_twg_source_topic", pa.string()), ("_twg_source_offset", pa.int64())])

    shaped = records().shape(batch, target, 0)

    assert shaped.to_pylist() == [
        {"x": 1, "_twg_source_topic": "t", "_twg_source_offset": 12},
        {"x": 2, "_twg_source_topic": "t", "_twg_source_offset": 7},
        {"x": 3, "_twg_source_topic": "t", "_twg_source_offset": 7},
    ]


def test_repeated_text_stays_coded_for_a_sink_that_takes_it() -> None:
    """Topics are codes for the same text, of one topic or several, for some rows or all; columns of the query are left alone."""
    several = records()
    at = several.raw.records.schema.get_field_index("source_topic")
    topics = pa.array(["t", None, "u"]).dictionary_encode()
    several = Records(replace(several.raw, records=several.raw.records.set_column(at, "source_topic", topics)), PREFIX, cluster_id="abc", cluster_alias=None)
    target = pa.schema([("x", pa.string()), ("_twg_source_topic", pa.string())], metadata={"k": "v"})
    for made, chosen, wanted in (
        (records(), [2, 0, 0], ["t", "t", "t"]), (several, [2, 0, 0], ["u", "t", "t"]), (several, [0, 1, 2], ["t", None, "u"]),
    ):  # fmt: skip
        batch = pa.record_batch({"x": ["a", "a", "a"], metadata.ROW: pa.array(chosen, pa.int32())})
        coded, plain = made.shape(batch, target, 0, coded=True), made.shape(batch, target, 0)

        assert coded.schema.types == [pa.string(), pa.dictionary(pa.int32(), pa.string())]
        assert coded.schema.metadata == {b"k": b"v"}
        assert coded.column(1).to_pylist() == plain.column(1).to_pylist() == wanted
        assert plain.schema.equals(target, check_metadata=True)


def test_untouched_rows_take_whole_columns() -> None:
    """The short cut gives what the long way gives."""
    batch = pa.record_batch({"x": [1, 2, 3], metadata.ROW: pa.array([0, 1, 2], pa.int32())})
    target = pa.schema([("x", pa.int64()), ("_twg_source_offset", pa.int64()), ("_twg_emit_ts", pa.timestamp("us", "UTC"))])

    shaped = records().shape(batch, target, 1_000_000)

    assert shaped.column("_twg_source_offset").to_pylist() == [7, 8, 12]
    assert shaped.column("_twg_emit_ts").cast(pa.int64()).to_pylist() == [1_000_000] * 3


def test_as_many_rows_in_another_order_are_not_untouched() -> None:
    """As many rows as records does not mean the same rows."""
    batch = pa.record_batch({"x": [1, 2, 3], metadata.ROW: pa.array([0, 2, 2], pa.int32())})
    target = pa.schema([("x", pa.int64()), ("_twg_source_offset", pa.int64())])

    assert records().shape(batch, target, 0).column("_twg_source_offset").to_pylist() == [7, 12, 12]


def test_dead_letters_keep_the_record_and_say_why() -> None:
    """The raw columns, then code, message, relation, path, pipeline and time (DLQ-10)."""
    bad = BadRows()
    bad.add(2, "decode.malformed", "no JSON", "a.b")

    rows = records().dead_letters(bad, ["orders"], "shop", 1_000_000)
    rows.validate(full=True)
    (row,) = rows.to_pylist()

    assert rows.schema.names[:-1] == metadata.dead_letter_schema(PREFIX).names
    assert (row["payload"], row["_twg_source_offset"], row["_twg_source_key"]) == (b"", 12, b"")
    assert (row["_twg_error_code"], row["_twg_error_message"], row["_twg_error_path"]) == ("decode.malformed", "no JSON", "a.b")
    assert (row["_twg_error_relation"], row["_twg_pipeline"], row[metadata.ROW]) == ("orders", "shop", 2)
    assert records().position(2) == "t[0] offset 12"
