"""The JSON kernel equals the reference decoder: generated schemas and documents, and damage to them."""

from __future__ import annotations

import os
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.agreement import json_agrees
from tests.oracle.json_documents import Maker, Writer, mutated
from thalweg.codecs.json.kernel_decoder import JsonProgram, compile_json
from thalweg.codecs.json.values import Unsupported

EXAMPLES = int(os.environ.get("KERNEL_EXAMPLES", "150"))
DEPTH, SIZE, PREFIX = 12, 5_000, "_"


def compiled(schema: pa.Schema, wanted: list[str] | None = None) -> JsonProgram | None:
    """A program; None where the reference decoder cannot read the schema either."""
    try:
        return compile_json(schema, max_depth=DEPTH, prefix=PREFIX, max_bytes=SIZE, wanted=wanted)
    except Unsupported:
        return None


def documents(random: Random, schema: pa.Schema, count: int) -> list[bytes]:
    """Good and damaged ones."""
    writer = Writer(random)
    good = [writer.document(schema) for _ in range(count)]
    return [*good, *(mutated(random, random.choice(good), random.choice(good)) for _ in range(count)), *good]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**48))
def test_kernel_equals_reference(seed: int) -> None:
    """Whatever a schema holds, the kernel reads what the reference decoder reads, damage included (JS-01, JS-02, JS-03, JS-06, JS-12)."""
    random = Random(seed)
    schema = Maker(random).schema()
    program = compiled(schema)
    if program is not None:
        for _ in range(2):
            json_agrees(program, schema, documents(random, schema, 12), max_depth=DEPTH, max_bytes=SIZE)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**48))
def test_dropped_columns_change_nothing_else(seed: int) -> None:
    """Columns that nobody wants are checked all the same: the rows, their codes and the other columns stay as they are."""
    random = Random(seed)
    schema = Maker(random).schema()
    wanted = random.sample(schema.names, random.randint(0, len(schema)))
    program = compiled(schema, wanted)
    if program is not None:
        json_agrees(program, schema, documents(random, schema, 12), max_depth=DEPTH, max_bytes=SIZE)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_arena_grows_without_a_trace(size: int) -> None:
    """Batches that outgrow their first guess give the same rows as small ones."""
    random = Random(size)
    inner = pa.struct([("s", pa.string()), ("m", pa.map_(pa.string(), pa.int32()))])
    schema = pa.schema([("a", pa.list_(pa.list_(inner))), ("t", pa.string()), ("d", pa.decimal256(50, 3))])
    program = compiled(schema)
    assert program is not None
    writer = Writer(random)
    payloads = [writer.document(schema) for _ in range(40)]
    payloads += [b'{"a":[[' + b",".join([b'{"s":"x"}'] * size * 8) + b"]]}", b'{"t":"' + b"x" * (size * 70) + b'","d":1.5}'] * 40

    for _ in range(2):
        json_agrees(program, schema, payloads, max_depth=DEPTH, max_bytes=SIZE)
