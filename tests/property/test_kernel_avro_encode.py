"""Decoded batches encode to data that decodes to the same batch, for every schema."""

from __future__ import annotations

import os
from random import Random

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.avro import plain_rows
from tests.oracle.avro_schemas import Maker, Writer, parsed
from thalweg.codecs.avro.kernel_decoder import Unsupported, compile_decoder
from thalweg.codecs.avro.kernel_encoder import compile_encoder
from thalweg.codecs.avro.match import Incompatible
from thalweg.codecs.avro.schema import SchemaError
from thalweg.kernels import program as p


@settings(max_examples=int(os.environ.get("KERNEL_EXAMPLES", "150")), deadline=None)
@given(st.integers(0, 2**48), st.sampled_from(["dense", "struct"]), st.sampled_from([2, 4, 24]), st.integers(0, 5))
def test_batches_survive_the_wire(seed: int, union: str, depth: int, skipped: int) -> None:
    """Whatever was decoded is written and read again, slices included; only text of records too deep cannot be written."""
    random = Random(seed)
    node = parsed(Maker(random).root())
    try:
        program = compile_decoder(node, max_depth=depth, union=union)
    except (Incompatible, SchemaError, Unsupported):
        return
    writer = Writer(random)
    batch = program.decode(pa.array([writer.datum(node) for _ in range(20)], pa.binary())).batch.slice(skipped)

    found = compile_encoder(node, program.schema).encode(batch)
    found.payloads.validate(full=True)
    good = [i for i, code in enumerate(found.codes.tolist()) if code == p.OK]
    again = program.decode(found.payloads.drop_null())

    assert set(found.codes.tolist()) <= {p.OK, p.TYPE}
    assert not again.codes.any()
    assert plain_rows(again.batch) == plain_rows(batch.take(pa.array(good, pa.int64())))
    if not (program.cuts or union == "dense" or node.kind == "union"):
        assert len(good) == batch.num_rows
