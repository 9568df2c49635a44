"""The JSON encode kernel equals the row encoder, and what it writes decodes to the same columns."""

from __future__ import annotations

import datetime as dt
import os
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.json_documents import Maker, Writer
from thalweg.arrow.columns import is_list
from thalweg.codecs.json.decoder import JsonDecoder
from thalweg.codecs.json.encode import row_encoder
from thalweg.codecs.json.kernel_encoder import compile_json_encoder
from thalweg.codecs.json.options import JsonOptions
from thalweg.codecs.json.values import Unsupported, record

EXAMPLES = int(os.environ.get("KERNEL_EXAMPLES", "150"))


def as_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows as the row encoder takes them; ticks for what Python's clocks cannot hold."""
    columns = [values(array) for array in batch.columns]
    return [dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True)] if columns else [{}] * batch.num_rows


def values(array: pa.Array) -> list[Any]:
    """Python's values, integers for durations and for clocks in nanoseconds."""
    kind = array.type
    if kinds.is_struct(kind):
        parts = [values(array.field(i)) for i in range(kind.num_fields)]
        names = [kind.field(i).name for i in range(kind.num_fields)]
        return [dict(zip(names, (p[i] for p in parts), strict=True)) if ok else None for i, ok in enumerate(array.is_valid().to_pylist())]
    if kinds.is_map(kind) or is_list(kind):
        items = list(zip(values(array.keys), values(array.items), strict=True)) if kinds.is_map(kind) else values(array.values)
        ends, valid = array.offsets.to_pylist(), array.is_valid().to_pylist()
        return [items[ends[i] : ends[i + 1]] if ok else None for i, ok in enumerate(valid)]
    if kinds.is_duration(kind) or (kinds.is_temporal(kind) and getattr(kind, "unit", "") == "ns"):
        return list(array.view(pa.int64()).to_pylist())
    if kinds.is_timestamp(kind) or kinds.is_date32(kind):
        return [moment(v, kind) for v in array.view(pa.int64() if kind.bit_width == 64 else pa.int32()).to_pylist()]
    return list(array.to_pylist())


def moment(ticks: int | None, kind: pa.DataType) -> object:
    """Python's date or datetime; the number where it has none."""
    if ticks is None or (kinds.is_date32(kind) and not -719_162 <= ticks <= 2_932_896):
        return ticks
    if kinds.is_date32(kind):
        return dt.date(1970, 1, 1) + dt.timedelta(days=ticks)
    try:
        return pa.scalar(ticks, kind).as_py()
    except (OverflowError, ValueError):
        return ticks


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**48))
def test_kernel_writes_what_the_row_encoder_writes(seed: int) -> None:
    """Byte for byte, for every type and nesting; and what is written reads back as it was, slices of batches too."""
    random = Random(seed)
    schema = Maker(random).schema()
    try:
        record(list(schema))
        encoder = compile_json_encoder(schema)
    except Unsupported:
        return
    writer = Writer(random)
    decoder = JsonDecoder(schema, JsonOptions(), "_")
    batch = decoder.decode(pa.array([writer.document(schema) for _ in range(20)], pa.binary()), None).batch
    for part in (batch, batch.slice(random.randrange(batch.num_rows + 1), 5)):
        made = encoder.encode(part)
        made.payloads.validate(full=True)
        good = [i for i, code in enumerate(made.codes.tolist()) if code == 0]
        rows = as_rows(part)
        write = row_encoder(schema)
        assert [made.payloads[i].as_py() for i in good] == [write(rows[i]) for i in good]
        again = decoder.decode(pa.array([made.payloads[i].as_py() for i in good], pa.binary()), None)
        assert len(again.bad) == 0, again.bad.messages[0]
        if len(good) == part.num_rows:
            for name in schema.names:
                assert again.batch.column(name).equals(part.column(name)), name


def test_rows_without_a_text_cost_themselves() -> None:
    """NaN, infinities and years beyond 9999 have no JSON; the other rows are written."""
    batch = pa.record_batch({
        "x": pa.array([1.5, float("nan"), float("-inf"), 2.0], pa.float64()),
        "s": pa.array([{"t": 0}, {"t": 0}, {"t": 0}, {"t": 10**12}], pa.struct([("t", pa.timestamp("s"))])),
    })  # fmt: skip
    encoder = compile_json_encoder(batch.schema)
    made = encoder.encode(batch)
    assert made.payloads.to_pylist() == [b'{"x":1.5,"s":{"t":"1970-01-01T00:00:00"}}', None, None, None]
    assert [encoder.reason(made, row) for row in (1, 3)] == ["x: JSON has no NaN and no infinity", "s.t: the time is outside the years 0001 to 9999"]


def test_output_grows() -> None:
    """A batch whose text is much larger than the last one's is written whole."""
    encoder = compile_json_encoder(pa.schema([("s", pa.string()), ("b", pa.binary()), ("d", pa.date32())]))
    for size in (1, 100_000, 3):
        texts = ["\x01" * size, None, "é" * size]
        batch = pa.record_batch({"s": texts, "b": [b"\xff" * size] * 3, "d": [dt.date(2024, 2, 29)] * 3}, schema=pa.schema([("s", pa.string()), ("b", pa.binary()), ("d", pa.date32())]))
        write = row_encoder(batch.schema)
        assert encoder.encode(batch).payloads.to_pylist() == [write(row) for row in batch.to_pylist()]
