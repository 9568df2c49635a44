"""The reference decoder equals Google's runtime, and the kernel the reference decoder: generated schemas, messages, and damage to them."""

from __future__ import annotations

import os
from random import Random

import pyarrow as pa
import pytest
from google.protobuf import message_factory
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.agreement import protobuf_agrees
from tests.oracle.protobuf import Watching, normal, state_of, table
from tests.oracle.protobuf_schemas import payloads, schema
from thalweg.arrow.rows import BadValue
from thalweg.codecs.protobuf.descriptors import DescriptorError
from thalweg.codecs.protobuf.forms import Forms
from thalweg.codecs.protobuf.kernel_decoder import compile_decoder
from thalweg.errors import UserError
from thalweg.kernels import program as p
from thalweg.kernels.jit import disabled

EXAMPLES = int(os.environ.get("KERNEL_EXAMPLES", "150"))
OURS = ("UTF-8", "is missing", "no timestamp", "no duration", "no field number", "more than")
"""Why the reference decoder refuses what the runtime takes."""


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**48))
def test_reference_equals_runtime(seed: int) -> None:
    """Both accept the same messages and read the same values; where the runtime is wrong, it is not asked (PB-01 to PB-23)."""
    random = Random(seed)
    message = schema(random).roots[0]
    form, make = Forms().of(message), message_factory.GetMessageClass(message)
    good, bad = payloads(random, form, 15)
    for payload in [*good, *bad]:
        parser = Watching(form, 1 << 20)
        try:
            state, why = parser.parse(payload), ""
        except BadValue as e:
            state, why = None, e.message
        try:
            expected = state_of(form, make.FromString(payload))
        except (DecodeError, UnicodeDecodeError):
            assert state is None, payload.hex()
            continue
        if state is None:
            assert any(said in why for said in OURS), (why, payload.hex())
        elif not parser.hidden:
            assert normal(form, state) == expected, payload.hex()


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**48), st.integers(1, 4), st.sampled_from(["string", "number"]), st.sampled_from(["us", "ns"]), st.booleans())
def test_kernel_equals_reference(seed: int, depth: int, enum: str, unit: str, defaults: bool) -> None:  # noqa: FBT001 - drawn
    """Whatever a message holds, the kernel reads what the reference decoder reads, damage included (PB-01 to PB-23, PRO-12, PRO-16)."""
    random = Random(seed)
    try:
        of = table(schema(random).roots[0], max_depth=str(depth), enum=enum, timestamp=unit, defaults=str(defaults).lower())
    except (UserError, DescriptorError):
        return
    program = compile_decoder(of)
    good, bad = payloads(random, of.form, 15)

    protobuf_agrees(program, of, [*good, *bad, *good])


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**48))
def test_skipping_is_as_strict(seed: int) -> None:
    """Rows are good, bad or slow whichever columns are wanted, and the wanted ones are the same (DEC-04)."""
    random = Random(seed)
    try:
        of = table(schema(random).roots[0], max_depth="3")
    except (UserError, DescriptorError):
        return
    names = [n for n in of.schema.names if random.random() < 0.5]
    good, bad = payloads(random, of.form, 15)

    protobuf_agrees(compile_decoder(of, wanted=names), of, [*good, *bad, *good], names)


@pytest.mark.skipif(disabled(), reason="takes minutes uncompiled; the compiled run shows it")
@settings(max_examples=max(EXAMPLES // 10, 10), deadline=None)
@given(st.integers(0, 2**48))
def test_many_rows_grow_the_arena(seed: int) -> None:
    """Batches larger than any before, and rows far larger than their neighbours, take more room without a trace (DEC-06)."""
    random = Random(seed)
    try:
        of = table(schema(random).roots[0], max_depth="2")
    except (UserError, DescriptorError):
        return
    program = compile_decoder(of)
    good, bad = payloads(random, of.form, 10)
    large = [b"".join(random.choice(good) for _ in range(200)) for _ in range(3)]

    for sent in ([*good, *large, *bad, *good], good[:1], [*bad, *large, *good * 20]):
        protobuf_agrees(program, of, sent)


def test_most_rows_are_not_slow() -> None:
    """The kernel itself reads nearly everything: what is merged, repeats a key, or is out of range is rare."""
    random, slow, rows = Random(5), 0, 0
    for _ in range(60):
        try:
            of = table(schema(random, ("proto3",)).roots[0], max_depth="3")
        except (UserError, DescriptorError):
            continue
        good, _ = payloads(random, of.form, 20)
        codes = compile_decoder(of).decode(pa.array(good, pa.binary())).codes
        slow, rows = slow + int((codes == p.SLOW).sum()), rows + len(good)

    assert rows > 500
    assert slow < rows * 0.3
