"""Rows of several decoders, back in the order of their payloads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from thalweg.arrow.batch import BadRows, Decoded
from thalweg.arrow.splice import spliced, taken

SCHEMA = pa.schema([("x", pa.int64())])


def part(values: list[int], rows: list[int], bad: dict[int, str] | None = None) -> Decoded:
    """What a decoder gave."""
    found = BadRows()
    for row, code in (bad or {}).items():
        found.add(row, code, "message", "x")
    return Decoded(pa.record_batch([pa.array(values, pa.int64())], schema=SCHEMA), pa.array(rows, pa.int32()), found)


def test_rows_come_back_in_order() -> None:
    """The second decoder was given payloads 1, 3 and 4; one of them was bad."""
    whole = spliced(SCHEMA, [(part([0, 20, 50], [0, 2, 5]), None), (part([10, 40], [0, 2], {1: "decode.type"}), np.array([1, 3, 4]))])

    assert whole.batch.column(0).to_pylist() == [0, 10, 20, 40, 50]
    assert whole.rows.to_pylist() == [0, 1, 2, 4, 5]
    assert (whole.bad.rows, whole.bad.codes, whole.bad.paths) == ([3], ["decode.type"], ["x"])


def test_nothing_stays_nothing() -> None:
    """No rows at all keep their schema."""
    whole = spliced(SCHEMA, [(part([], []), None), (part([], [], {0: "a"}), np.array([7]))])

    assert whole.batch.schema == SCHEMA
    assert whole.batch.num_rows == 0
    assert whole.bad.rows == [7]


def test_headers_follow_their_payloads() -> None:
    """Or stay away."""
    payloads, headers = pa.array([b"a", b"b", b"c"]), pa.array([[1], [2], [3]])

    assert taken(payloads, headers, np.array([2, 0]))[0].to_pylist() == [b"c", b"a"]
    assert taken(payloads, headers, np.array([1]))[1].to_pylist() == [[2]]
    assert taken(payloads, None, np.array([1]))[1] is None


def test_refused_payloads_need_no_decoder() -> None:
    """What was never given to a decoder is bad at its place; no decoder at all gives no rows, of unions too."""
    refused = BadRows()
    refused.add(0, "decode.framing", "message", None)
    both = spliced(SCHEMA, [(part([10], [0], {1: "decode.type"}), np.array([2, 3]))], refused)
    union = pa.schema([("u", pa.dense_union([pa.field("a", pa.int32()), pa.field("b", pa.string())]))])

    assert both.rows.to_pylist() == [2]
    assert (both.bad.rows, both.bad.codes) == ([0, 3], ["decode.framing", "decode.type"])
    assert spliced(union, [], refused).batch.schema == union
    assert refused.rows == [0]
