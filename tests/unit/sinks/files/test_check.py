"""What is refused before anything is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg import registry
from thalweg.model import options
from thalweg.ports.sink import Guarantee, Target
from thalweg.sinks.files.check import fingerprint, unholdable

if TYPE_CHECKING:
    from collections.abc import Callable

PLUGIN = registry.load("sinks", "files")
GOOD = pa.schema([("a", pa.int64()), ("b", pa.string()), ("s", pa.struct([("x", pa.float64()), ("y", pa.string())]))])


def problems(schema: pa.Schema | None = GOOD, location: str = "./out", partition_by: tuple[str, ...] = (), **named: str) -> list[str]:
    """What the plug-in says; underscores in option names stand for dots."""
    values, errors = options.read(PLUGIN.options, {k.replace("_", "."): v for k, v in named.items()})
    assert not errors
    found: list[str] = PLUGIN.check(Target(location, values, schema, partition_by))
    return found


REFUSED = {
    "interval": pa.month_day_nano_interval(), "union": pa.dense_union([pa.field("a", pa.int8())]),
    "sparse": pa.sparse_union([pa.field("a", pa.int8())]), "runs": pa.run_end_encoded(pa.int32(), pa.string()), "empty": pa.struct([]),
    "null": pa.null(), "nothing": pa.binary(0), "scale": pa.decimal128(5, -2), "views": pa.dictionary(pa.int8(), pa.string_view()),
    "views in a list view": pa.list_view(pa.string_view()), "large": pa.large_list_view(pa.struct([("v", pa.binary_view())])),
    "rows": pa.dictionary(pa.int8(), pa.struct([("a", pa.int8())])), "twice": pa.struct([("a", pa.int8()), ("a", pa.int8())]),
}
HELD = {
    "ns": pa.timestamp("ns", "Europe/Berlin"), "s": pa.timestamp("s"), "duration": pa.duration("us"), "half": pa.float16(), "time": pa.time64("ns"),
    "d256": pa.decimal256(76, 10), "view": pa.string_view(), "lists": pa.list_view(pa.int8()), "fixed": pa.list_(pa.int8(), 2), "uuid": pa.uuid(),
    "map": pa.map_(pa.string(), pa.list_(pa.binary())), "dict": pa.dictionary(pa.int32(), pa.string()), "u64": pa.uint64(), "dates": pa.date64(),
    "big": pa.large_binary(), "bytes": pa.binary(16),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("depth", ["top", "list", "struct", "map"])
def test_types_parquet_cannot_hold(name: str, depth: str) -> None:
    """Refused by name at plan time, wherever they are, with what to do instead (PQ-01, SNK-23)."""
    kind = REFUSED[name]
    nested = {"top": kind, "list": pa.list_(kind), "struct": pa.struct([("f", kind)]), "map": pa.map_(pa.string(), kind)}[depth]
    (message,) = problems(pa.schema([("ok", pa.int8()), ("wrong", nested)]))

    assert message.startswith("column 'wrong")
    assert "; " in message or "rename" in message


@pytest.mark.parametrize("name", HELD)
def test_types_parquet_holds(name: str) -> None:
    """What passes the check can be written."""
    schema = pa.schema([(name, HELD[name])])

    assert problems(schema) == []
    with pq.ParquetWriter(pa.BufferOutputStream(), schema) as writer:
        writer.write_table(pa.Table.from_arrays([pa.nulls(2, HELD[name])], schema=schema))


def test_check_agrees_with_the_writer() -> None:
    """Everything that the writer refuses is refused before, and the null type as well."""
    for name, kind in REFUSED.items():
        assert list(unholdable(kind, name))


def test_duplicate_and_missing_columns() -> None:
    """Two columns of one name, or none at all, are refused."""
    assert problems(pa.schema([("a", pa.int8()), ("a", pa.int8())])) == ["column 'a' is there 2 times; give each its own name with AS"]
    assert problems(pa.schema([])) == ["the relation has no columns"]


def test_partition_columns() -> None:
    """They must exist, once, with a type that has a short text."""
    assert problems(partition_by=("b", "a")) == []
    (missing,) = problems(partition_by=("c",))
    (twice,) = problems(partition_by=("b", "b"))
    (struct,) = problems(partition_by=("s",))

    assert missing == "PARTITIONED BY column 'c' is not in the relation; columns: a, b, s"
    assert twice == "PARTITIONED BY names 'b' 2 times"
    assert "'s' is struct<" in struct


@pytest.mark.parametrize("name", ["_twg_source_topic", "_", ".day"])
def test_partition_columns_that_hide_their_folders(name: str) -> None:
    """A folder that readers skip is refused, with what to do instead; an underscore elsewhere in the name is fine."""
    (said,) = problems(pa.schema([("a", pa.int64()), (name, pa.string())]), partition_by=("a", name))

    assert said.startswith(f"PARTITIONED BY column {name!r}: readers take folders")
    assert "with AS in the query" in said
    assert "METADATA FROM" in said
    assert problems(pa.schema([("a_.b", pa.string())]), partition_by=("a_.b",)) == []


def test_unknown_schema_waits() -> None:
    """A schema that lies in a registry is checked when it is known."""
    assert problems(None, partition_by=("whatever",)) == []


def test_options_that_do_not_go_together() -> None:
    """Levels need a codec that has them; named columns must exist and take their encoding."""
    assert problems(compression="zstd", compression_level="22") == []
    assert problems(compression="zstd", compression_level="23") == ["option 'compression.level': zstd has the levels 1 to 22, found 23"]
    assert problems(compression_level="3") == ["option 'compression.level' needs 'compression' zstd or gzip, not snappy"]
    assert problems(parquet_dictionary="b, s") == []
    assert problems(parquet_dictionary="zz") == ["option 'parquet.dictionary': there is no column 'zz'; columns: a, b, s.x, s.y"]
    assert problems(parquet_encoding="b=DELTA_BINARY_PACKED") == [
        "option 'parquet.encoding': DELTA_BINARY_PACKED does not fit column 'b', which Parquet stores as BYTE_ARRAY"
    ]
    (unreadable,) = problems(parquet_encoding="b")
    assert "expected auto, plain or pairs" in unreadable


def test_locations() -> None:
    """A location that names no folder is said so; URLs are left to their file system."""
    (message,) = problems(location="x.parquet")

    assert "names one file" in message
    assert problems(location="s3://bucket/x") == []


def test_guarantees() -> None:
    """The publish log makes local targets exactly once; objects are at least once (SNK-03)."""
    found = {loc: PLUGIN.guarantee(Target(loc, None, None)) for loc in ("./x", "file:///x", "s3://b/x", "gs://b/x", "hdfs://h/x")}

    assert list(found.values()) == [Guarantee.EXACTLY_ONCE] * 2 + [Guarantee.AT_LEAST_ONCE] * 3


def test_fingerprint_is_of_names_and_types() -> None:
    """Metadata does not count, order and types do."""
    assert fingerprint(GOOD) == fingerprint(GOOD.with_metadata({"a": "b"}))
    assert len({fingerprint(s) for s in (GOOD, pa.schema(list(GOOD)[::-1]), GOOD.set(0, pa.field("a", pa.int32())))}) == 3


def test_views_do_not_change_the_fingerprint() -> None:
    """Text that lies in views is text in the files, so new files have the same columns as the ones before."""
    assert fingerprint(pa.schema([("a", pa.string_view())])) == fingerprint(pa.schema([("a", pa.string())]))


def test_the_hint_for_a_union_works() -> None:
    """Parquet holds no union; what is advised names the column and a branch."""
    kind = pa.dense_union([pa.field("null", pa.null()), pa.field("long", pa.int64()), pa.field("string", pa.string())])

    (said,) = unholdable(kind, "either")

    assert "'avro.union' 'struct'" in said
    assert "union_extract(either, 'long')" in said


@pytest.mark.parametrize(("around", "most"), [(lambda t: pa.struct([("a", t)]), 98), (pa.list_, 49), (lambda t: pa.map_(pa.string(), t), 49)])
def test_columns_that_no_reader_opens(around: Callable[[pa.DataType], pa.DataType], most: int) -> None:
    """A column nested deeper than Parquet's readers go is named when the target is checked, not when a file is read."""
    kind = pa.int64()
    for _ in range(most):
        kind = around(kind)
    fine, deep = (problems(pa.schema([("c", t)])) for t in (kind, around(kind)))

    assert fine == []
    assert len(deep) == 1
    assert "column 'c' is nested" in deep[0]
    assert "'decode.max_depth'" in deep[0]
