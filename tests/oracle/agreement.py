"""Whether a kernel and the reference decoder of its format agree on every row of a batch: rows, codes, values, valid buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from tests.oracle import avro, protobuf
from thalweg.codecs.json.decoder import JsonDecoder
from thalweg.codecs.json.options import JsonOptions

if TYPE_CHECKING:
    from thalweg.codecs.avro.kernel_decoder import AvroProgram
    from thalweg.codecs.avro.schema import Node
    from thalweg.codecs.json.kernel_decoder import JsonProgram
    from thalweg.codecs.protobuf.kernel_decoder import ProtobufProgram
    from thalweg.codecs.protobuf.table import Table


def avro_agrees(program: AvroProgram, writer: Node, reader: Node, payloads: list[bytes], *, max_depth: int = 24, union: str = "dense") -> int:
    """Assert that kernel and reference agree on every row; returns the rows that the kernel left to the reference."""
    found = program.decode(pa.array(payloads, pa.binary()))
    found.batch.validate(full=True)
    expected = avro.reference(writer, reader, payloads, max_depth=max_depth, union=union)
    slow = set(found.slow.tolist())
    bad = {row: code for row, code in zip(expected.bad.rows, expected.bad.codes, strict=True) if row not in slow}

    assert {int(row): program.reason(found, row)[0] for row in found.bad} == bad
    kept = [i for i, row in enumerate(expected.rows.to_pylist()) if row not in slow]
    assert found.rows.tolist() == [expected.rows[i].as_py() for i in kept]
    assert found.batch.schema == expected.batch.schema
    assert avro.plain_rows(found.batch) == avro.plain_rows(expected.batch.take(pa.array(kept, pa.int64())) if slow else expected.batch)
    return len(slow)


def json_agrees(program: JsonProgram, schema: pa.Schema, payloads: list[bytes], **limits: int) -> int:
    """Assert that kernel and reference agree on every row; returns the rows that the kernel left to the reference."""
    found = program.decode(pa.array(payloads, pa.binary()))
    found.batch.validate(full=True)
    slow = set(found.slow.tolist())
    rest = [row for row in range(len(payloads)) if row not in slow]
    options = JsonOptions(**limits)
    expected = JsonDecoder(schema, options, "_").decode(pa.array([payloads[row] for row in rest], pa.binary()), None)

    bad = {rest[row]: code for row, code in zip(expected.bad.rows, expected.bad.codes, strict=True)}
    assert {int(row): program.reason(found, int(row))[0] for row in found.bad} == bad
    assert found.rows.tolist() == [rest[row] for row in expected.rows.to_pylist()]
    assert found.batch.schema == program.schema
    for name, array in zip(program.schema.names, found.batch.columns, strict=True):
        assert array.equals(expected.batch.column(name)), (name, array, expected.batch.column(name))
    return len(slow)


def protobuf_agrees(program: ProtobufProgram, of: Table, sent: list[bytes], columns: list[str] | None = None) -> int:
    """Assert that kernel and reference agree on every row; returns the rows that the kernel left to the reference."""
    found = program.decode(pa.array(sent, pa.binary()))
    found.batch.validate(full=True)
    expected = protobuf.reference(of, sent)
    slow = set(found.slow.tolist())
    bad = {row: code for row, code in zip(expected.bad.rows, expected.bad.codes, strict=True) if row not in slow}

    assert {int(row): program.reason(found, row)[0] for row in found.bad} == bad
    kept = [i for i, row in enumerate(expected.rows.to_pylist()) if row not in slow]
    assert found.rows.tolist() == [expected.rows[i].as_py() for i in kept]
    wanted = expected.batch if columns is None else expected.batch.select(columns)
    assert found.batch.schema == wanted.schema
    rows = protobuf.plain_rows(wanted)
    assert protobuf.plain_rows(found.batch) == [rows[i] for i in kept]
    return len(slow)
