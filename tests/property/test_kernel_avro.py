"""The Avro kernel equals the reference decoder: generated schemas, readers and data, and damage to them."""

from __future__ import annotations

import io
import os
from random import Random
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.agreement import avro_agrees
from tests.oracle.avro import plain_rows
from tests.oracle.avro_schemas import Maker, Writer, mutated, parsed
from thalweg.codecs.avro.kernel_decoder import AvroProgram, Unsupported, compile_decoder
from thalweg.codecs.avro.match import Incompatible
from thalweg.codecs.avro.schema import SchemaError

if TYPE_CHECKING:
    from thalweg.codecs.avro.schema import Node

EXAMPLES = int(os.environ.get("KERNEL_EXAMPLES", "150"))
SLOW = 20
"""As few examples as this are asked for where kernels run without their compiler."""


def compiled(writer: Node, reader: Node, *, max_depth: int, union: str = "dense") -> AvroProgram | None:
    """A program; None where the reference decoder does not resolve the schemas either."""
    try:
        return compile_decoder(writer, reader, max_depth=max_depth, union=union)
    except (Incompatible, SchemaError, Unsupported):
        return None


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**48), st.sampled_from(["dense", "struct"]), st.integers(1, 4))
def test_kernel_equals_reference(seed: int, union: str, depth: int) -> None:
    """Whatever a schema holds, the kernel reads what the reference decoder reads, damage included (AV-01, AV-03, AV-06, AV-21)."""
    random = Random(seed)
    writer = parsed(Maker(random).root())
    program = compiled(writer, writer, union=union, max_depth=depth)
    if program is None:
        return
    bytes_of = Writer(random)
    good = [bytes_of.datum(writer) for _ in range(12)]
    bad = [mutated(random, random.choice(good), random.choice(good)) for _ in range(12)]

    avro_agrees(program, writer, writer, [*good, *bad, *good], union=union, max_depth=depth)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**48), st.sampled_from(["dense", "struct"]))
def test_resolution_equals_reference(seed: int, union: str) -> None:
    """Promotions, defaults, aliases, skipped fields and unions resolve as in the reference decoder (AV-18, AV-19, AV-20)."""
    random = Random(seed)
    schema = Maker(random).root()
    writer, reader = parsed(schema), None
    try:
        reader = parsed(Maker(random).evolved(schema))
    except SchemaError:
        return
    program = compiled(writer, reader, union=union, max_depth=3)
    if program is None:
        return
    bytes_of = Writer(random)
    good = [bytes_of.datum(writer) for _ in range(12)]
    bad = [mutated(random, random.choice(good), random.choice(good)) for _ in range(8)]

    avro_agrees(program, writer, reader, [*good, *bad, *good], union=union, max_depth=3)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**48))
def test_dropped_columns_change_nothing_else(seed: int) -> None:
    """Columns that nobody wants are checked all the same: the rows and the other columns stay as they are."""
    random = Random(seed)
    writer = parsed(Maker(random).record(3))
    program = compiled(writer, writer, max_depth=3)
    if program is None:
        return
    names = program.schema.names
    wanted = random.sample(names, random.randint(0, len(names)))
    few = compile_decoder(writer, writer, max_depth=3, wanted=wanted)
    bytes_of = Writer(random)
    good = [bytes_of.datum(writer) for _ in range(10)]
    payloads = pa.array([*good, *(mutated(random, random.choice(good), random.choice(good)) for _ in range(20))], pa.binary())

    everything, some = program.decode(payloads), few.decode(payloads)

    some.batch.validate(full=True)
    slow = set(everything.slow.tolist()) | set(some.slow.tolist())
    assert [(i, c) for i, c in enumerate(everything.codes.tolist()) if i not in slow] == [
        (i, c) for i, c in enumerate(some.codes.tolist()) if i not in slow
    ]
    if not slow:
        assert plain_rows(everything.batch.select([n for n in names if n in wanted])) == plain_rows(some.batch)


@pytest.mark.parametrize("seed", range(4 if EXAMPLES > SLOW else 1))
def test_a_payload_never_takes_from_its_neighbour(seed: int) -> None:
    """Cut anywhere, or with bytes too many, between payloads whose bytes would do: it is bad as the reference says, and all others are right."""
    random = Random(seed)
    line = {"type": "record", "name": "L", "fields": [{"name": "sku", "type": "string"}, {"name": "n", "type": "int"}, {"name": "p", "type": "double"}]}
    writer = parsed({"type": "record", "name": "R", "fields": [
        {"name": "id", "type": "long"}, {"name": "c", "type": ["null", "string"]}, {"name": "ok", "type": "boolean"},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}}, {"name": "lines", "type": {"type": "array", "items": line}},
        {"name": "deep", "type": {"type": "array", "items": {"type": "array", "items": "float"}}}, {"name": "m", "type": {"type": "map", "values": "string"}},
    ]})  # fmt: skip
    bytes_of = Writer(random)
    good = sorted((bytes_of.datum(writer) for _ in range(6)), key=len)[: None if EXAMPLES > SLOW else 1]
    payloads = [part for whole in good for n in range(len(whole)) for part in (whole, whole[:n], whole + whole[:n])]

    sent = pa.array([*payloads, *good], pa.binary())
    whole_program, few = compile_decoder(writer, writer), compile_decoder(writer, writer, wanted=["id", "deep"])
    everything, some = whole_program.decode(sent), few.decode(sent)
    some.batch.validate(full=True)
    left = set(everything.slow.tolist())  # keys that repeat, which nobody looks at in a column that nobody wants

    avro_agrees(whole_program, writer, writer, sent.to_pylist())
    assert [c for i, c in enumerate(everything.codes.tolist()) if i not in left] == [c for i, c in enumerate(some.codes.tolist()) if i not in left]


@pytest.mark.parametrize("size", [1, 7, 64])
def test_arena_grows_without_a_trace(size: int) -> None:
    """Batches that outgrow their first guess give the same rows as small ones."""
    random = Random(size)
    writer = parsed({"type": "record", "name": "R", "fields": [
        {"name": "a", "type": {"type": "array", "items": ["null", "string", {"type": "map", "values": "bytes"}]}}, {"name": "s", "type": "string"},
    ]})  # fmt: skip
    program = compile_decoder(writer, writer)
    bytes_of = Writer(random)
    payloads = [bytes_of.datum(writer) for _ in range(40)] + [b"\2\2" + bytes_of.long(size * 1000) + b"x" * (size * 1000) + b"\0\0"] * 40

    for _ in range(2):
        avro_agrees(program, writer, writer, payloads)


def test_kernel_reads_what_fastavro_writes() -> None:
    """An independent writer's records come back value for value (AVR)."""
    schema: dict[str, Any] = {"type": "record", "name": "R", "fields": [
        {"name": "i", "type": "int"}, {"name": "l", "type": ["null", "long"]}, {"name": "f", "type": "float"}, {"name": "d", "type": "double"},
        {"name": "b", "type": "boolean"}, {"name": "s", "type": "string"}, {"name": "y", "type": "bytes"},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}}, {"name": "x", "type": {"type": "fixed", "name": "X", "size": 5}},
        {"name": "a", "type": {"type": "array", "items": {"type": "record", "name": "I", "fields": [{"name": "k", "type": "int"}]}}},
        {"name": "m", "type": {"type": "map", "values": ["null", "string"]}},
    ]}  # fmt: skip
    made = fastavro.parse_schema(schema)
    random = Random(7)
    rows = [
        {"i": random.randrange(-99, 99), "l": random.choice([None, 2**60]), "f": 0.5 * i, "d": i / 3, "b": bool(i % 2), "s": "é" * i, "y": b"\xff" * i,
         "e": "AB"[i % 2], "x": b"12345", "a": [{"k": k} for k in range(i)], "m": {str(k): random.choice([None, "v"]) for k in range(i % 4)}}
        for i in range(50)
    ]  # fmt: skip
    payloads = []
    for row in rows:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, made, row)
        payloads.append(out.getvalue())

    found = compile_decoder(schema).decode(pa.array(payloads, pa.binary()))

    assert [row | {"m": dict(row["m"])} for row in found.batch.to_pylist()] == rows
