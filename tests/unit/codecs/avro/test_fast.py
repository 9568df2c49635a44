"""The compiled decoder behind the codec's port: groups by schema, the rest by the reference, message for message."""

from __future__ import annotations

import dataclasses
import json
import time
import uuid
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pytest

from thalweg import registry
from thalweg.codecs.avro import fast
from thalweg.codecs.avro.kernel_decoder import AvroProgram
from thalweg.testing.codecs import CodecBench, decode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from thalweg.arrow.batch import Decoded
    from thalweg.ports.codec import Decoder

OLD = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
NEW = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": ["null", "string"], "default": None}]}
OTHER = {"type": "record", "name": "R", "fields": [{"name": "b", "type": "string"}]}
GUID = uuid.UUID(int=77)
HEADER = "__value_schema_id"
Headers = list[list[tuple[str, bytes | None]]]


@pytest.fixture
def bench(tmp_path: Path) -> CodecBench:
    """Schemas 1 and 2, one that does not resolve, one that is none, one by its GUID."""
    for name, schema in {"1": OLD, "2": NEW, "3": OTHER, "t-value": NEW, str(GUID): OLD}.items():
        (tmp_path / f"{name}.avsc").write_text(json.dumps(schema))
    (tmp_path / "4.avsc").write_text("{")
    (tmp_path / "5.proto").write_text('syntax = "proto3";')
    known = registry.load("registries", "static").make(str(tmp_path), {})
    return CodecBench("avro-confluent", options={"avro-confluent.url": str(tmp_path)}, registry=known)


def quick(bench: CodecBench) -> Decoder:
    """The compiled decoder."""
    made = fast.make(bench.request, bench.registry, bench.decoder())
    assert made is not None
    return made


def same(bench: CodecBench, payloads: Sequence[bytes], headers: Headers | None = None) -> Decoded:
    """Both ways give the same; what the compiled one gave."""
    found, expected = decode(quick(bench), payloads, headers), decode(bench.decoder(), payloads, headers)
    assert found.batch == expected.batch
    assert found.rows == expected.rows
    said = [sorted(zip(d.bad.rows, d.bad.codes, d.bad.messages, d.bad.paths, strict=True)) for d in (found, expected)]
    assert said[0] == said[1]
    return found


def framed(schema_id: int, datum: str) -> bytes:
    """Magic byte, id, datum."""
    return b"\0" + schema_id.to_bytes(4, "big") + bytes.fromhex(datum)


def test_one_batch_mixes_schemas(bench: CodecBench) -> None:
    """A thousand rows of two writers, in their order, in one batch; ids that are unknown, of another kind, or unresolvable cost their rows (RG-06)."""
    rows = [framed(1, "02") if i % 2 else framed(2, "04020278") for i in range(1_000)]
    out = same(bench, rows)
    assert out.batch.num_rows == 1_000
    assert out.batch.to_pylist()[:2] == [{"a": 2, "b": "x"}, {"a": 1, "b": None}]

    bad = same(bench, [framed(1, "02"), framed(9, "02"), framed(3, "0278"), framed(4, "02"), framed(5, "02"), framed(1, ""), b"\0\0", b"", framed(2, "04020278")])
    assert bad.rows.to_pylist() == [0, 8]
    assert bad.bad.codes.count("decode.schema_unknown") == 2


@pytest.mark.parametrize(("kind", "declared", "value"), [("int", pa.decimal128(13, 3), "03"), ("long", pa.decimal128(38, 19), "03"), ("int", pa.float64(), "03")])
def test_numbers_as_wider_types(tmp_path: Path, kind: str, declared: pa.DataType, value: str) -> None:
    """What a writer's whole number is declared as, at the least width that holds every one, is read by the kernel too."""
    (tmp_path / "1.avsc").write_text(json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]}))
    (tmp_path / "t-value.avsc").write_text((tmp_path / "1.avsc").read_text())
    known = registry.load("registries", "static").make(str(tmp_path), {})
    wide = CodecBench("avro-confluent", pa.schema([("a", declared)]), {"avro-confluent.url": str(tmp_path)}, known)
    out = same(wide, [framed(1, value)])

    assert out.batch.column("a").to_pylist() == [-2]


def test_columns_that_arrow_cannot_finish_are_the_references(monkeypatch: pytest.MonkeyPatch, bench: CodecBench) -> None:
    """A change of type that Arrow refuses shows itself before any record: those rows take the exact path, nothing fails."""
    made = quick(bench)
    monkeypatch.setattr(AvroProgram, "decode", _refused)

    assert decode(made, [framed(1, "02")]).batch.to_pylist() == [{"a": 1, "b": None}]


def _refused(*_: object) -> NoReturn:
    """What Arrow says to a cast that could lose something."""
    raise pa.ArrowInvalid("Precision is not great enough for the result")


def test_headers_name_schemas(bench: CodecBench) -> None:
    """A GUID or an id in a header counts before the prefix; the last of several wins; a malformed one is a bad record (RG-04)."""
    by_guid, by_id = b"\x01" + GUID.bytes, b"\x00" + (2).to_bytes(4, "big")
    payloads = [b"\x02", bytes.fromhex("04020278"), framed(1, "06"), b"\x08", b"\x02", b"\x02"]
    headers: Headers = [[(HEADER, by_guid)], [("x", None), (HEADER, by_id)], [("x", b"1")], [], [(HEADER, b"abc")], [(HEADER, b"\x01" + bytes(16))]]
    out = same(bench, payloads, headers)
    assert out.batch.to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": "x"}, {"a": 3, "b": None}]
    assert out.bad.codes == ["decode.framing", "decode.framing", "decode.schema_unknown"]

    twice: Headers = [[(HEADER, b"no"), (HEADER, by_guid)], [(HEADER, None)], [], [(HEADER, by_id), (HEADER, by_guid)], [], []]
    assert same(bench, payloads, twice).rows.to_pylist() == [0, 2, 3]


def test_rows_that_need_the_exact_path(bench: CodecBench) -> None:
    """Repeated keys of a map are left to the reference, and counted."""
    table = CodecBench("avro", options={"avro.schema": json.dumps({"type": "record", "name": "R", "fields": [{"name": "m", "type": {"type": "map", "values": "int"}}]})})
    decoder = quick(table)
    out = decode(decoder, [bytes.fromhex("04 02 61 02 02 61 04 00".replace(" ", "")), bytes.fromhex("0202610200")])

    assert out.batch.to_pylist() == [{"m": [("a", 2)]}, {"m": [("a", 1)]}]
    assert decoder.slow_rows == {"avro": 1}
    assert (decoder.notices, decoder.fallbacks) == ((), {})
    assert fast.make(bench.request, bench.registry, _Stranger()) is None


@pytest.mark.parametrize("items", ["null", {"type": "array", "items": "null"}, {"type": "record", "name": "E", "fields": []}])
def test_seven_bytes_that_claim_a_trillion_items(items: Any) -> None:  # noqa: ANN401 - any schema
    """2^40 items of no bytes end in milliseconds with a code, on both decoders, wherever they lie (AV-03)."""
    table = CodecBench("avro", options={"avro.schema": json.dumps({"type": "array", "items": items})})
    hostile = bytes.fromhex("80808080804000")
    for decoder in (table.decoder(), quick(table)):
        decode(decoder, [b"\x00"])
        begin = time.monotonic()
        out = decode(decoder, [b"\x00", hostile, b"\x00"])

        assert time.monotonic() - begin < 0.25
        assert (out.bad.rows, out.bad.codes) == ([1], ["decode.malformed" if isinstance(items, dict) and items["type"] == "array" else "decode.limit"])
        assert out.batch.to_pylist() == [{"value": []}] * 2


class _Stranger:
    """No Avro decoder."""


CHAIN = {"type": "record", "name": "Node", "fields": [{"name": "v", "type": "string"}, {"name": "next", "type": ["null", "Node"], "default": None}]}
SHORT, DEEP, DEEPER = "02 61 00", "02 61 02 02 61 02 02 61 00", "02 61 02 02 61 02 02 61 02 02 61 00"


def chain(**options: str) -> CodecBench:
    """A record inside itself, two levels of which become columns."""
    return CodecBench("avro", options={"avro.schema": json.dumps(CHAIN), "decode.max_depth": "2", **options})


def test_cuts_of_good_rows_count_once() -> None:
    """A bad row's cuts do not count, also where the exact path reads the rows of a batch again; both decoders say the same (DEC-11)."""
    one, two = quick(chain()), chain().decoder()
    good = [bytes.fromhex(text) for text in (SHORT, DEEP, DEEPER)]
    trailing, no_text = bytes.fromhex(DEEP + "00"), bytes.fromhex("02 61 02 02 61 02 02 ff 00")
    for sent, cut in ((good, 2), ([*good, trailing], 4), ([*good, no_text, *good], 8), ([no_text], 8), ([], 8)):
        assert decode(one, sent).batch == decode(two, sent).batch
        assert dict(one.fallbacks) == dict(two.fallbacks) == {"Node": cut}


def test_cuts_that_nobody_reads_do_not_count() -> None:
    """What lies too deep in a column that no query reads is made by neither decoder, or at least not counted (DEC-04, DEC-11)."""
    bench = chain()
    request = dataclasses.replace(bench.request, wanted=frozenset({"v"}))
    two = registry.load("codecs", "avro").decoder(request, None)
    one = fast.make(request, None, two)
    assert one is not None
    for decoder in (two, one):
        assert decode(decoder, [bytes.fromhex(DEEP)]).batch.num_rows == 1
        assert dict(decoder.fallbacks) == {}
