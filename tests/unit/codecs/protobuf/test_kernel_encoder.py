"""What the encode kernel writes, and which rows it refuses."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.oracle.protobuf import message, reference, table
from thalweg.codecs.protobuf.declared import Incompatible
from thalweg.codecs.protobuf.forms import Forms
from thalweg.codecs.protobuf.kernel_encoder import compile_encoder
from thalweg.kernels import program as p

TEXT = """
syntax = "proto3"; package t;
import "google/protobuf/struct.proto"; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
enum E { Z = 0; Y = 5; }
message In { int32 a = 1; }
message M {
  int32 n = 1; optional string s = 2; repeated int32 packed = 3; repeated In items = 4; map<string, In> m = 5; oneof o { int32 x = 6; string y = 7; }
  E e = 8; google.protobuf.Timestamp t = 9; google.protobuf.Struct j = 10; google.protobuf.Int32Value w = 11; uint64 u = 300;
}
"""
FORM = Forms().of(message(TEXT, "M"))


def encoded(columns: dict[str, pa.Array]) -> tuple[list[bytes | None], list[int], dict[int, str]]:
    """Payloads, codes and paths."""
    batch = pa.record_batch(columns)
    out = compile_encoder(FORM, batch.schema).encode(batch)
    return out.payloads.to_pylist(), out.codes.tolist(), out.paths


def test_bytes() -> None:
    """Fields by ascending number, zeros of implicit presence left out, numbers packed, lengths in front (PRO-01)."""
    columns: dict[str, Any] = {
        "n": pa.array([7, 0, -1], pa.int32()), "s": pa.array(["x", "", None]), "packed": pa.array([[1, 300], [], None], pa.list_(pa.int32())),
        "items": pa.array([[{"a": 1}, {"a": 0}], [], None], pa.list_(pa.struct([("a", pa.int32())]))), "u": pa.array([0, 1, 0], pa.uint64()),
        "m": pa.array([[("k", {"a": 2})], [], None], pa.map_(pa.string(), pa.struct([("a", pa.int32())]))),
    }  # fmt: skip
    payloads, codes, _ = encoded(columns)

    assert codes == [p.OK] * 3
    assert payloads == [
        bytes.fromhex("0807 120178 1a0301ac02 22020801 2200 2a070a016b12020802"), bytes.fromhex("1200 e01201"), bytes.fromhex("08ffffffffffffffffff01"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "values", "code"),
    [
        ("n", pa.array([1, 2**40], pa.int64()), p.TYPE), ("items", pa.array([[], [None]], pa.list_(pa.struct([("a", pa.int32())]))), p.TYPE),
        ("packed", pa.array([[], [1, None]], pa.list_(pa.int32())), p.TYPE), ("e", pa.array(["Y", "lost"]), p.SYMBOL), ("e", pa.array([5, 2**31], pa.int64()), p.SYMBOL),
        ("t", pa.array([0, 2**62], pa.timestamp("s", "UTC")), p.RANGE), ("j", pa.array(["{}", "{"]), p.TYPE),
    ],
)  # fmt: skip
def test_rows_that_do_not_fit(name: str, values: pa.Array, code: int) -> None:
    """A value that has no place in its field costs its row, which is named (SNK-10)."""
    payloads, codes, paths = encoded({name: values})

    assert codes == [p.OK, code]
    assert payloads[1] is None
    assert paths == {1: name}


def test_two_members_of_a_oneof() -> None:
    """At most one member may be there."""
    assert encoded({"x": pa.array([1, 1, None], pa.int32()), "y": pa.array([None, "a", "b"])})[1] == [p.OK, p.BRANCH, p.OK]


def test_columns_that_do_not_fit() -> None:
    """A column without a field, or of another type, is refused when the encoder is made."""
    for columns in ({"lost": pa.array([1])}, {"n": pa.array(["x"])}, {"items": pa.array([1])}):
        with pytest.raises(Incompatible):
            encoded(columns)


def test_large_batches_prefix_and_slices() -> None:
    """The output grows, a prefix is before each message, and slices are written from where they begin."""
    batch = pa.record_batch({"s": pa.array([f"row {i} " * 40 for i in range(3_000)]), "n": pa.array(range(3_000), pa.int32())}).slice(5)
    out = compile_encoder(FORM, batch.schema).encode(batch, b"\0head").payloads
    back = reference(table(message(TEXT, "M")), [payload[5:] for payload in out.to_pylist()])

    assert {payload[:5] for payload in out.to_pylist()} == {b"\0head"}
    assert back.batch.select(["s", "n"]).to_pylist() == batch.to_pylist()
