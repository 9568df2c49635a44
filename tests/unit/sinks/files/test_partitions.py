"""Rows by Hive folder."""

from __future__ import annotations

import decimal

import pyarrow as pa
import pytest

from thalweg.sinks.files.partitions import is_partitionable, split


def test_without_columns_nothing_is_split() -> None:
    """One batch, no folder."""
    batch = pa.record_batch({"a": [1, 2]})

    assert [(f, b.num_rows) for f, b in split(batch, ())] == [("", 2)]


def test_rows_keep_their_order() -> None:
    """Folders come in the order of their first row, rows in theirs."""
    batch = pa.record_batch({"k": ["b", "a", "b", None, "a"], "n": [0, 1, 2, 3, 4]})
    found = [(f, b["n"].to_pylist()) for f, b in split(batch, ("k",))]

    assert found == [("k=b", [0, 2]), ("k=a", [1, 4]), ("k=__HIVE_DEFAULT_PARTITION__", [3])]


def test_several_columns() -> None:
    """Every combination that occurs is one folder."""
    batch = pa.record_batch({"a": [1, 1, 2, 2], "b": [True, False, True, None], "n": [0, 1, 2, 3]})

    assert [f for f, _ in split(batch, ("a", "b"))] == ["a=1/b=true", "a=1/b=false", "a=2/b=true", "a=2/b=__HIVE_DEFAULT_PARTITION__"]


@pytest.mark.parametrize(
    ("values", "folder"),
    [
        (pa.array([decimal.Decimal("1.20")]), "k=1.20"), (pa.array([0], pa.date32()), "k=1970-01-01"),
        (pa.array([0], pa.timestamp("s")), "k=1970-01-01%2000%3A00%3A00"),
        (pa.array([0], pa.timestamp("ms", "UTC")), "k=1970-01-01%2000%3A00%3A00.000Z"), (pa.array(["x"]).dictionary_encode(), "k=x"),
        (pa.array(["x"], pa.large_string()), "k=x"), (pa.array(["x"], pa.string_view()), "k=x"), (pa.array([2**64 - 1], pa.uint64()), f"k={2**64 - 1}"),
        (pa.array([-5], pa.int8()), "k=-5"),
    ],
)
def test_text_of_each_type(values: pa.Array, folder: str) -> None:
    """Every type that may partition has one exact text."""
    assert is_partitionable(values.type)
    assert [f for f, _ in split(pa.record_batch([values], ["k"]), ("k",))] == [folder]


@pytest.mark.parametrize("kind", [pa.float64(), pa.binary(), pa.list_(pa.int8()), pa.struct([]), pa.dictionary(pa.int8(), pa.float32())])
def test_types_without_short_text(kind: pa.DataType) -> None:
    """Floats, bytes and nested values do not partition."""
    assert not is_partitionable(kind)


def test_empty_batch_has_no_folder() -> None:
    """No rows, no files."""
    assert list(split(pa.record_batch({"k": pa.array([], pa.string())}), ("k",))) == []


def test_part_does_not_keep_the_batch_alive() -> None:
    """Rows of one folder are copied, so a rare value does not hold a whole batch in memory."""
    batch = pa.record_batch({"k": ["rare"] + ["often"] * 9999, "n": range(10_000)})
    rare = next(b for f, b in split(batch, ("k",)) if f == "k=rare")

    assert rare.get_total_buffer_size() < 200
