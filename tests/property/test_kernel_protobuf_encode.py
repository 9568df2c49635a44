"""What the Protobuf encode kernel writes, the reference decoder and Google's runtime read: generated schemas and rows."""

from __future__ import annotations

import json
import os
from random import Random
from typing import Any

from google.protobuf import message_factory
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.protobuf import normal, plain_rows, reference, state_of, table
from tests.oracle.protobuf_schemas import payloads, schema
from thalweg.codecs.protobuf.declared import Incompatible
from thalweg.codecs.protobuf.descriptors import DescriptorError
from thalweg.codecs.protobuf.kernel_encoder import compile_encoder
from thalweg.codecs.protobuf.oracle import Parser
from thalweg.errors import UserError

EXAMPLES = int(os.environ.get("KERNEL_EXAMPLES", "150"))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**48), st.sampled_from(["string", "number"]), st.booleans())
def test_rows_come_back(seed: int, enum: str, sliced: bool) -> None:  # noqa: FBT001 - drawn
    """Decoding what was encoded gives the rows again, in any slice of a batch, and Google's runtime reads the same (PRO-01)."""
    random = Random(seed)
    try:
        of = table(schema(random).roots[0], enum=enum, max_depth="4")
        batch = reference(of, payloads(random, of.form, 20)[0]).batch
        encoder = compile_encoder(of.form, of.schema)
    except (UserError, DescriptorError, Incompatible):
        return
    if sliced:
        batch = batch.slice(random.randint(0, batch.num_rows // 2), random.randint(0, batch.num_rows // 2))
    out = encoder.encode(batch)
    out.payloads.validate(full=True)
    good = [i for i, code in enumerate(out.codes.tolist()) if code == 0]
    sent = [p for p in out.payloads.to_pylist() if p is not None]
    back = reference(of, sent)

    assert back.bad.messages == []
    assert _loose(plain_rows(back.batch)) == _loose([plain_rows(batch)[i] for i in good])
    assert all(out.paths.values())
    make = message_factory.GetMessageClass(of.message)
    for payload in sent:
        assert normal(of.form, Parser(of.form, 1 << 20).parse(payload)) == state_of(of.form, make.FromString(payload))


def _loose(value: Any) -> Any:  # noqa: ANN401 - any plain value
    """JSON text by its meaning: a Struct has no order of members."""
    if isinstance(value, str) and value[:1] in {"{", "["}:
        return json.loads(value)
    if isinstance(value, list | tuple):
        return [_loose(v) for v in value]
    return value
