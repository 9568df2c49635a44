"""The JSON decoder against the standard library's parser, over generated rows and damaged documents."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.testing.codecs import CodecBench, mutated

COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "i": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "d": (pa.decimal128(20, 4), st.decimals(-(10**15), 10**15, places=4)),
    "f": (pa.float64(), st.floats(allow_nan=False, allow_infinity=False)),
    "g": (pa.float32(), st.floats(width=32, allow_nan=False, allow_infinity=False)),
    "b": (pa.bool_(), st.booleans()),
    "s": (pa.string(), st.text(max_size=20)),
    "y": (pa.binary(), st.binary(max_size=20)),
    "t": (pa.date32(), st.dates()),
    "l": (pa.list_(pa.int32()), st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=4)),
    "m": (pa.map_(pa.string(), pa.string()), st.dictionaries(st.text(max_size=5), st.none() | st.text(max_size=5), max_size=4).map(lambda d: list(d.items()))),
    "o": (pa.struct([("x", pa.int8()), ("y", pa.string())]), st.fixed_dictionaries({"x": st.none() | st.integers(-128, 127), "y": st.none() | st.text(max_size=5)})),
}  # fmt: skip
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in COLUMNS.items()])
rows = st.lists(st.fixed_dictionaries({name: st.none() | values for name, (_, values) in COLUMNS.items()}), min_size=1, max_size=4)


@settings(max_examples=40)
@given(rows)
def test_rows_come_back(given_rows: list[dict[str, Any]]) -> None:
    """What is written is valid for the standard library, and is read as the same rows (JSX-02)."""
    bench = CodecBench("json", SCHEMA, rows=given_rows)
    payloads = bench.encoded()
    out = bench.decode(payloads)

    assert out.bad.messages == []
    assert out.batch.to_pylist() == given_rows
    for payload, row in zip(payloads, given_rows, strict=True):
        document = json.loads(payload, parse_float=Decimal)
        assert (document["i"], document["b"], document["s"], document["l"]) == (row["i"], row["b"], row["s"], row["l"])
        assert row["d"] is None or Decimal(document["d"]) == row["d"]


@settings(max_examples=30)
@given(rows, st.integers(0, 2**32))
def test_damaged_documents(given_rows: list[dict[str, Any]], seed: int) -> None:
    """What is accepted of damaged documents is what the standard library makes of them; nothing raises."""
    bench = CodecBench("json", SCHEMA, rows=given_rows)
    payloads = list(mutated(bench.encoded(), seed, 50))
    out = bench.decode(payloads)

    for row, found in zip(out.rows.to_pylist(), out.batch.to_pylist(), strict=True):
        document = json.loads(payloads[row].decode())
        assert {k: found[k] for k in "ibsl"} == {k: document.get(k) for k in "ibsl"}
        assert found["f"] is None or repr(found["f"]) == repr(float(document["f"]))
