"""The compiled decoder behind the codec's port: what it gives is what the reference decoder gives, message for message."""

from __future__ import annotations

import dataclasses
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.protobuf import message, plain_rows, table
from tests.oracle.protobuf_schemas import payloads, schema
from tests.unit.codecs.protobuf.test_decoder import GUID, SECOND, Known, bench, framed
from thalweg.arrow.columns import JSON_TEXT
from thalweg.arrow.metadata import HEADERS
from thalweg.codecs.protobuf import fast
from thalweg.codecs.protobuf.decoder import ProtobufDecoder
from thalweg.codecs.protobuf.descriptors import DescriptorError
from thalweg.codecs.protobuf.fast import FastProtobufDecoder
from thalweg.codecs.protobuf.framing import from_prefix, write_indexes
from thalweg.codecs.protobuf.kernel_framing import prefixes_of
from thalweg.errors import SchemaUnavailable, UserError
from thalweg.testing.codecs import CodecBench, decode, mutated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.ports.codec import Decoder
    from thalweg.ports.schemas import RegisteredSchema

Headers = "Sequence[Sequence[tuple[str, bytes | None]]] | None"
HOSTILE = [
    b"", b"\0", b"\0\0\0\0\1", b'{"n":1}', framed(1, b"\0"), framed(3, b"\0"), framed(4, b"\0"), framed(6, b"\0"), framed(99, b"\0"),
    framed(1, write_indexes([0, 0])), framed(1, write_indexes([9])), framed(1, b"\x03"), framed(1, b"\xff" * 6), framed(1, b"\x04\x02"),
    framed(1, write_indexes([1] * 32)), framed(1, b"\x02"), framed(1, b"\x82"), framed(1, b"\x02\x81"), framed(1, b"\x42" + b"\x02" * 40),
    framed(1, SECOND, b"\x08"), framed(1, SECOND, b"\x12\x01\xff"), framed(1, SECOND, b"\x0b"), framed(2, b"\0", b"\xff" * 12),
]  # fmt: skip
GOOD = [
    framed(1, SECOND), framed(1, SECOND, b""), framed(2, b"\0", b"\x08\x09\x18\x01"), framed(1, b"\x82\x00\x02", b"\x08\x0a"), framed(1, b"\x02\x82\x00"),
    framed(2, b"\x02\x00", b"\x12\x01x"),
]  # fmt: skip


def both(of: CodecBench) -> tuple[FastProtobufDecoder, Decoder]:
    """The compiled decoder of a bench, and another reference decoder than its own."""
    made = fast.make(of.request, of.registry, of.decoder())
    assert isinstance(made, FastProtobufDecoder)
    return made, of.decoder()


def same(one: FastProtobufDecoder, two: Decoder, sent: Sequence[bytes], headers: Headers = None) -> None:
    """Assert that rows, places, faults and counts agree."""
    found, expected = decode(one, sent, headers), decode(two, sent, headers)

    assert plain_rows(found.batch) == plain_rows(expected.batch)
    assert found.rows.equals(expected.rows)
    assert found.bad == expected.bad
    assert (one.finer, dict(one.fallbacks)) == (two.finer, dict(two.fallbacks))


def test_a_batch_of_everything() -> None:
    """Several schemas and messages, and broken ones among them: each row is what the reference makes of it (PRO-08, PRO-09, RG-05, RG-06)."""
    random = Random(1)
    sent = [*GOOD, *HOSTILE] * 5
    random.shuffle(sent)
    one, two = both(bench())

    same(one, two, sent)
    same(one, two, sent[:1])
    assert one.schema == two.schema
    assert one.notices == two.notices
    assert one.slow_rows["protobuf"] <= 5  # a count of indexes that is longer than it needs to be, where it is not the first of its kind


@pytest.mark.parametrize("seed", range(4))
def test_damaged_framing(seed: int) -> None:
    """Whatever is changed in a payload, its prefix included, it costs its own row and says what the reference says (PRO-08, RG-05)."""
    damaged = list(mutated(GOOD, seed, 400))
    values = [None if n % 5 else value for n, value in enumerate(mutated([b"\x00\x00\x00\x00\x01" + SECOND, b"\x01" + GUID.bytes + SECOND], seed, 400))]

    same(*both(bench()), damaged)
    same(*both(bench()), damaged, [[] if value is None else [("__value_schema_id", value)] for value in values])


def test_headers_name_schemas() -> None:
    """Rows with a header and rows with a prefix may be in one batch; malformed headers are bad records (RG-04)."""
    named = [b"\x01" + GUID.bytes + SECOND, b"\x00\x00\x00\x00\x01" + SECOND, b"", b"\x07", None]
    headers = [[("__value_schema_id", value)] for value in named] + [[], [("other", b"x")]]

    same(*both(bench()), [b"\x08\x07"] * 5 + [GOOD[0], b"\x08\x07"], headers)
    same(*both(bench()), [GOOD[0]] * 7, headers)


def test_schemas_are_asked_for_once() -> None:
    """The compiled decoder asks for what it has not seen, whichever batch it comes in (RG-05)."""
    registry = Known()
    one, _ = both(bench(registry))
    for _ in range(3):
        decode(one, [GOOD[0], GOOD[2], GOOD[5]] * 20)

    assert sorted(registry.asked) == [1, 2]


def test_a_registry_that_is_away_decodes_nothing() -> None:
    """The batch is tried again as a whole: no row is bad because of it (RG-05)."""

    class Away(Known):
        """Knows nobody at first."""

        def by_id(self, schema_id: int | str) -> RegisteredSchema:
            """No answer once."""
            if not self.asked:
                self.asked.append(0)
                raise SchemaUnavailable("no answer")
            return super().by_id(schema_id)

    one, two = both(bench(Away()))
    with pytest.raises(SchemaUnavailable):
        decode(one, GOOD)

    same(one, two, GOOD)


def test_a_slice() -> None:
    """Offsets of a sliced array are respected, with prefixes of every length."""
    one, two = both(bench())
    sent = pa.array([b"x", *GOOD, *HOSTILE, *GOOD], pa.binary()).slice(1)

    assert plain_rows(one.decode(sent, None).batch) == plain_rows(two.decode(sent, None).batch)


def test_no_rows_touch_no_reference() -> None:
    """An empty batch, as it warms a decoder up beside a running one, leaves the reference alone."""
    of = bench()
    one = fast.make(of.request, of.registry, ProtobufDecoder(of.decoder().table, None))  # type: ignore[attr-defined]
    assert one is not None

    assert one.decode(pa.array([], pa.binary()), pa.array([], HEADERS)).batch.num_rows == 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**48), st.integers(1, 3), st.sampled_from(["string", "number"]), st.sampled_from(["us", "ns"]))
def test_equals_the_reference(seed: int, depth: int, enum: str, unit: str) -> None:
    """Random schemas and payloads with damage among them: equal rows, messages and counts (PRO-09, PRO-16, DEC-11)."""
    random = Random(seed)
    try:
        of = table(schema(random).roots[0], max_depth=str(depth), enum=enum, timestamp=unit)
        one = FastProtobufDecoder(ProtobufDecoder(of, None), None)
    except (UserError, DescriptorError):
        return
    good, bad = payloads(random, of.form, 10)
    sent = [*good, *bad]
    random.shuffle(sent)

    same(one, ProtobufDecoder(of, None), sent)


@pytest.mark.parametrize("wanted", [["s"], [], ["lost"], ["s", "n"]])
def test_only_what_is_read(wanted: list[str]) -> None:
    """Columns that nobody reads are checked and left out, by either path; rows and faults stay the same (DEC-04)."""
    of = bench()
    request = dataclasses.replace(of.request, wanted=frozenset(wanted))
    one = fast.make(request, of.registry, of.decoder())
    assert one is not None
    found, expected = decode(one, [*GOOD, *HOSTILE]), decode(of.decoder(), [*GOOD, *HOSTILE])

    assert one.schema.names == ([name for name in ("n", "s") if name in wanted] or ["n"])
    assert found.batch.to_pylist() == expected.batch.select(one.schema.names).to_pylist()
    assert (found.rows.to_pylist(), found.bad) == (expected.rows.to_pylist(), expected.bad)


TEXT = """
syntax = "proto3"; package t; import "google/protobuf/timestamp.proto";
message R { int32 n = 1; google.protobuf.Timestamp at = 2; R in = 3; Color c = 4; } enum Color { RED = 0; BLUE = 1; }
"""


def test_counts() -> None:
    """Times that lose digits, messages that become text, and rows of the exact path are counted wherever they are read (DEC-11)."""
    of = table(message(TEXT, "R"), max_depth="2")
    one, two = FastProtobufDecoder(ProtobufDecoder(of, None), None), ProtobufDecoder(of, None)
    finer, deep = b"\x12\x04\x08\x01\x10\x05", b"\x1a\x04\x1a\x02\x08\x01"
    sent = [finer, deep, deep + deep, finer + finer, b"\x08\x01", b"\x08", b"\x20\x07"]
    same(one, two, sent)

    assert (one.finer, dict(one.fallbacks), dict(one.slow_rows)) == (2, {"t.R": 2}, {"protobuf": 2})


def test_what_the_kernel_does_not_take() -> None:
    """A oneof of more members than the kernel counts, and another codec's decoder, stay with the exact path."""
    members = "".join(f"int32 f{i} = {i + 1};" for i in range(300))
    of = table(message(f'syntax = "proto3"; package t; message W {{ oneof o {{ {members} }} }}', "W"))

    assert fast.make(bench().request, None, ProtobufDecoder(of, None)) is None
    assert fast.make(bench().request, None, CodecBench("json", pa.schema([("a", pa.int64())])).decoder()) is None


def test_warming_up_needs_no_schema() -> None:
    """``twg warmup protobuf`` compiles without the compiler for ``.proto`` texts."""
    fast.warm_up()


def test_prefixes() -> None:
    """Every different prefix once, and which payload has which; what is cut short or longer than the window has none."""
    sent = [*GOOD, *GOOD, b"", b"\0\0\0\0\1", framed(1, b"\x02", b""), framed(1, write_indexes([1] * 32)), framed(1, b"\x82")]
    found = prefixes_of(pa.array(sent, pa.binary()))

    assert found.which[: len(GOOD)].tolist() == found.which[len(GOOD) : 2 * len(GOOD)].tolist()
    assert [found.found[i] for i in found.which[:6]] == [GOOD[0][:7], GOOD[1], GOOD[2][:6], GOOD[3][:8], GOOD[4][:8], GOOD[5][:7]]
    assert len(found.found) == 5
    assert np.flatnonzero(found.which < 0).tolist() == [12, 13, 14, 15, 16]


def test_many_prefixes() -> None:
    """However many there are in a batch, each row has its own; what is cut short or longer than the window has none."""
    paths = [[n, n * 9] for n in range(40)] + [[300, 5, 70_000], [1] * 32]
    sent = [framed(n % 7, write_indexes(path)) for n, path in enumerate(paths)]
    found = prefixes_of(pa.array([*sent, framed(1, b"\x82"), *sent, framed(1, b"\xff" * 20), framed(1, b"\x07\x02")], pa.binary()))

    assert [from_prefix(found.found[i])[0] for i in found.which[:41]] == [(n % 7, tuple(path)) for n, path in enumerate(paths[:41])]
    assert found.which[43:84].tolist() == found.which[:41].tolist()
    assert np.flatnonzero(found.which < 0).tolist() == [41, 42, 84, 85]


def test_cuts_of_good_rows_count() -> None:
    """What becomes text in a row that turns out bad does not count, on either path; nor what nobody reads (DEC-11)."""
    of = table(message(TEXT, "R"), max_depth="2", timestamp="ns")
    one, two = FastProtobufDecoder(ProtobufDecoder(of, None), None), ProtobufDecoder(of, None)
    deep, far = b"\x1a\x04\x1a\x02\x08\x01", b"\x12\x06\x08\xff\xff\xff\xff\x7f"
    same(one, two, [deep, deep + far, far + deep])
    assert dict(two.fallbacks) == {"t.R": 1}

    unread = ProtobufDecoder(of, None, wanted={"n"})
    same(FastProtobufDecoder(unread, None, wanted={"n"}), ProtobufDecoder(of, None, wanted={"n"}), [])
    decode(unread, [deep])
    assert dict(unread.fallbacks) == {}


def test_declared_json_is_no_cut() -> None:
    """A message that is declared JSON was asked for as text: no notice and no count, on either path (DEC-11)."""
    declared = pa.schema([pa.field("n", pa.int32()), pa.field("in", pa.string(), metadata=JSON_TEXT)])
    of = table(message(TEXT, "R"), declared=declared)
    one, two = FastProtobufDecoder(ProtobufDecoder(of, None), None), ProtobufDecoder(of, None)
    found = decode(one, [b"\x1a\x02\x08\x01"])

    assert found.batch.to_pylist() == decode(two, [b"\x1a\x02\x08\x01"]).batch.to_pylist() == [{"n": 0, "in": '{"n":1}'}]
    assert (dict(one.fallbacks), dict(two.fallbacks), one.notices) == ({}, {}, ())
