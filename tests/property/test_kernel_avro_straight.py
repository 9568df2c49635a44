"""The code that is written for one Avro program gives what the machine gives, for generated schemas, readers, data and damage."""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.agreement import avro_agrees
from tests.oracle.avro import plain_rows
from tests.oracle.avro_schemas import CommonMaker, Writer, mutated, parsed
from thalweg.codecs.avro.kernel_decoder import AvroProgram, Unsupported, compile_decoder
from thalweg.codecs.avro.match import Incompatible
from thalweg.codecs.avro.schema import SchemaError
from thalweg.kernels import avro_ops, avro_straight, straight

if TYPE_CHECKING:
    from thalweg.codecs.avro.schema import Node
    from thalweg.kernels.memory import Longs

EXAMPLES = int(os.environ.get("KERNEL_EXAMPLES", "60"))
CHECKED = os.environ.get("NUMBA_BOUNDSCHECK", "0") != "0"
LINE = {"type": "record", "name": "L", "fields": [{"name": "sku", "type": "string"}, {"name": "n", "type": "int"}, {"name": "p", "type": "double"}]}
ORDER = {"type": "record", "name": "R", "fields": [
    {"name": "id", "type": "long"}, {"name": "c", "type": ["null", "string"]}, {"name": "ok", "type": "boolean"},
    {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}}, {"name": "lines", "type": {"type": "array", "items": LINE}},
    {"name": "deep", "type": {"type": "array", "items": {"type": "array", "items": "float"}}}, {"name": "m", "type": {"type": "map", "values": "string"}},
    {"name": "b", "type": "bytes"}, {"name": "x", "type": ["double", "null"]}, {"name": "when", "type": {"type": "int", "logicalType": "date"}},
]}  # fmt: skip

NASTY: tuple[list[Any], ...] = (
    [], ["null", "null"], [{"type": "enum", "name": "E", "symbols": ["A"]}], [{"type": "array", "items": {"type": "enum", "name": "E", "symbols": ["A"]}}],
    [{"type": "array", "items": {"type": "array", "items": {"type": "array", "items": "string"}}}, {"type": "map", "values": {"type": "map", "values": "long"}}],
    [["null", {"type": "map", "values": ["null", {"type": "array", "items": ["string", "null"]}]}], "bytes"],
    [{"type": "array", "items": ["boolean", "null"]}, [{"type": "array", "items": ["null", "float"]}, "null"]],
    [{"type": "array", "items": ["null", LINE]}, ["null", "bytes"]],
)  # fmt: skip
"""Types of the fields of records."""


class Watched(straight.Loaded):
    """The code, and the words of the last call."""

    last: Longs = straight.NONE

    def words(self, room: int, arrays: Any) -> Longs:  # noqa: ANN401 - as in the class above
        """Remember them."""
        self.last = super().words(room, arrays)
        return self.last


def with_code(program: AvroProgram, *, checked: bool = CHECKED) -> Watched | None:
    """Give a program code of its own, where that is possible; it is used for every row, whatever the rows before were."""
    if not straight.possible(program.steps):
        return None
    loaded = Watched(avro_straight.machine_code(program.steps, checked=checked), pause=0)
    program.written.use(loaded)
    return loaded


def compiled(writer: Node, reader: Node, **options: Any) -> AvroProgram | None:  # noqa: ANN401 - those of the decoder
    """A program; None where the schemas do not resolve."""
    try:
        return compile_decoder(writer, reader, max_depth=4, **options)
    except (Incompatible, SchemaError, Unsupported):
        return None


def same(program: AvroProgram, machine: AvroProgram, payloads: pa.BinaryArray, skip: Any = 0) -> None:  # noqa: ANN401 - a number, or one a row
    """Assert that both give the same batch, rows, codes and faults."""
    machine.written.use(None)
    found, expected = program.decode(payloads, skip), machine.decode(payloads, skip)
    found.batch.validate(full=True)

    assert plain_rows(found.batch) == plain_rows(expected.batch)
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.codes.tolist() == expected.codes.tolist()
    for row in expected.bad.tolist():
        assert program.reason(found, row) == machine.reason(expected, row)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**48))
def test_code_equals_machine_and_reference(seed: int) -> None:
    """Generated schemas and evolved readers, good data and damaged, NULLs, framing of any length and batches that are parts of others."""
    random = Random(seed)
    maker = CommonMaker(random)
    schema = maker.record(3)
    writer = reader = parsed(schema)
    if random.random() < 0.4:
        try:
            reader = parsed(maker.evolved(schema))
        except SchemaError:
            return
    program, machine = compiled(writer, reader), compiled(writer, reader)
    if program is None or machine is None or with_code(program) is None:
        return
    pen = Writer(random)
    good = [pen.datum(writer) for _ in range(14)]
    bad = [mutated(random, random.choice(good), random.choice(good)) for _ in range(20)]

    avro_agrees(program, writer, reader, [*good, *bad, *good], max_depth=4)

    framed = [None if random.random() < 0.05 else b"f" * 5 + d for d in (*good, *bad, *good, b"")]
    same(program, machine, pa.array(framed, pa.binary())[random.randrange(9) :], 5)
    skips = np.array([random.choice((0, 1, 5, 6)) for _ in framed], np.int32)
    same(program, machine, pa.array([None if d is None else b"f" * int(n) + d[5:] for d, n in zip(framed, skips, strict=True)], pa.binary()), skips)


@pytest.mark.parametrize("wanted", [None, ["id", "deep"], ["m"]])
def test_a_payload_never_takes_from_its_neighbour(wanted: list[str] | None) -> None:
    """Cut anywhere, or with bytes too many, between payloads whose bytes would do: it is as bad as the machine says."""
    random, writer = Random(7), parsed(ORDER)
    program, machine = compile_decoder(writer, writer, wanted=wanted), compile_decoder(writer, writer, wanted=wanted)
    assert with_code(program) is not None
    pen = Writer(random)
    good = sorted((pen.datum(writer) for _ in range(5)), key=len)[: None if EXAMPLES > 20 else 1]

    same(program, machine, pa.array([part for whole in good for n in range(len(whole)) for part in (whole, whole[:n], whole + whole[:n])], pa.binary()))


@pytest.mark.parametrize("kinds", NASTY)
def test_nothing_outside_is_touched(kinds: list[Any]) -> None:
    """Code that checks every access finds none outside: rows good and damaged, in memory that ends with any of them."""
    random, writer = Random(len(str(kinds))), parsed({"type": "record", "name": "R", "fields": [{"name": f"f{i}", "type": kind} for i, kind in enumerate(kinds)]})
    program, machine = compile_decoder(writer, writer), compile_decoder(writer, writer)
    assert with_code(program, checked=True) is not None
    pen = Writer(random)
    for _ in range(max(EXAMPLES // 6, 1)):
        good = [pen.datum(writer) for _ in range(6)]
        rows = [*good, *(mutated(random, random.choice(good), random.choice(good)) for _ in range(30)), *good]

        same(program, machine, pa.array(rows[: random.randrange(1, len(rows))], pa.binary()))


def test_common_rows_never_reach_the_machine() -> None:
    """All rows but the first, which asks for room, and the last, which lies at the end of the batch, are decoded by the code alone."""
    writer = parsed(ORDER)
    program = compile_decoder(writer, writer)
    loaded = with_code(program)
    assert loaded is not None
    datum = b"\x80\x01" + b"\2\6abc" + b"\1" + b"\2" + b"\4" + b"\2x\2" + bytes(8) + b"\2y\4" + bytes(8) + b"\0" + b"\2\2" + bytes(4) + b"\0\0" + b"\2\2k\2v\0" + b"\0\2\x90\4"

    found = program.decode(pa.array([datum] * 1_000, pa.binary()))

    assert found.batch.num_rows == 1_000
    assert loaded.last[avro_ops.A_ROW] == loaded.last[avro_ops.A_SLOT] == 999
    assert loaded.last[avro_ops.A_OUTSIDE] == 0
    assert found.batch.column("when").to_pylist()[5].isoformat() == "1970-09-22"


@pytest.mark.parametrize("size", [1, 64])
def test_arena_grows_without_a_trace(size: int) -> None:
    """Batches that outgrow their first guess give the same rows, by code and by machine."""
    random = Random(size)
    writer = parsed({"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": "string"}}, {"name": "s", "type": "string"}]})
    program, machine = compile_decoder(writer, writer), compile_decoder(writer, writer)
    assert with_code(program) is not None
    pen = Writer(random)
    payloads = [pen.datum(writer) for _ in range(40)] + [b"\2" + pen.long(size * 1000) + b"x" * (size * 1000) + b"\0\0"] * 40

    for _ in range(2):
        same(program, machine, pa.array(payloads, pa.binary()))
