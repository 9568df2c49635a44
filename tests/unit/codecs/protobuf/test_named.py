"""Protobuf behind Glue's and Apicurio's envelopes: which message a payload is, by both decoders."""

from __future__ import annotations

import random
import uuid
import zlib
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.unit.codecs.enveloped.test_decoder import Several, said
from thalweg.codecs.enveloped import fast
from thalweg.codecs.protobuf.descriptors import messages_of
from thalweg.codecs.protobuf.named import NAMINGS, before_message
from thalweg.errors import SchemaUnavailable, UserError
from thalweg.ports.schemas import RegisteredSchema
from thalweg.testing.codecs import CodecBench, decode, mutated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.arrow.batch import Decoded

NESTED = """
syntax = "proto3";
package p;
message B { message C { int32 a = 1; } message A { message D { int32 a = 1; } } map<string, int32> counts = 2; int32 a = 1; }
message Ab { int32 a = 1; }
message D { int32 z = 1; }
"""
ORDER = 'syntax = "proto3"; package shop; import "part.proto"; message Line { int32 n = 1; } message Order { int32 a = 1; Part part = 2; }'
LATER = 'syntax = "proto3"; package shop; message Order { int32 a = 1; string b = 9; }'
CLASHING = 'syntax = "proto3"; package shop; message Order { string a = 1; }'
PART = 'syntax = "proto3"; package shop; message Part { string s = 1; }'
FIRST, SECOND, THIRD, AVRO, BROKEN = (uuid.UUID(int=(n << 100) | n) for n in range(1, 6))
UUIDS = {1: FIRST, 2: SECOND, 3: THIRD, 4: AVRO, 5: BROKEN}
Header = list[tuple[str, bytes | None]]


def known(kind: str) -> Several:
    """Schemas of messages called ``shop.Order``, and others; the newest is the first one's."""

    def schema(number: int, text: str, *references: tuple[str, RegisteredSchema], is_avro: bool = False) -> RegisteredSchema:
        return RegisteredSchema(str(UUIDS[number]) if kind == "glue" else number, "AVRO" if is_avro else "PROTOBUF", text, references)

    part = ("part.proto", RegisteredSchema(9, "PROTOBUF", PART))
    found = [schema(2, LATER), schema(3, CLASHING), schema(4, '"int"', is_avro=True), schema(5, "no schema"), schema(1, ORDER, part)]
    return Several({s.id: s for s in found})


def bench(kind: str, **options: str) -> CodecBench:
    """The table of ``shop.Order``."""
    more = {"apicurio.url": "http://h"} if kind == "apicurio" else {}
    return CodecBench(f"protobuf-{kind}", options={"protobuf.message": "shop.Order", **more, **options}, registry=known(kind))


def glued(number: int, index: bytes, data: bytes, *, zipped: bool = False) -> bytes:
    """A payload as AWS's serialiser writes it."""
    inner = index + data
    return (b"\x03\x05" if zipped else b"\x03\x00") + UUIDS.get(number, uuid.UUID(int=99)).bytes + (zlib.compress(inner) if zipped else inner)


def ref(name: bytes) -> bytes:
    """A delimited Ref of a short name."""
    return bytes([len(name) + 2, 10, len(name)]) + name


def framed(number: int, data: bytes) -> bytes:
    """Apicurio's framing without headers."""
    return b"\0" + number.to_bytes(4, "big") + data


def numbered(number: int, name: bytes | None = None) -> Header:
    """Apicurio's headers."""
    typed: Header = [] if name is None else [("apicurio.value.msgType", b"shop.Shop$Order"), ("apicurio.protobuf.type", name)]
    return [("apicurio.value.contentId", number.to_bytes(8, "big")), *typed]


def both(of: CodecBench, payloads: Sequence[bytes], headers: Sequence[Header] | None = None) -> tuple[Decoded, int]:
    """What both decoders give, which must be the same, and how many rows only the exact path could read."""
    quick = fast.make(of.request, of.registry, of.decoder())
    assert quick is not None
    found, wanted = decode(quick, payloads, headers), of.decode(payloads, headers)
    assert found.batch.equals(wanted.batch)
    assert found.rows.equals(wanted.rows)
    assert said(found) == said(wanted)
    return wanted, quick.slow_rows["protobuf"]


def test_glue_numbers_messages_by_full_name() -> None:
    """All messages of the file, those inside others and the entries of maps too, in the order of their full names."""
    messages = messages_of(RegisteredSchema(1, "PROTOBUF", NESTED))
    names = ["p.Ab", "p.B", "p.B.A", "p.B.A.D", "p.B.C", "p.B.CountsEntry", "p.D"]

    assert [messages.at(i).full_name for i in range(7)] == names
    assert [before_message(NAMINGS["protobuf-glue"], messages.find(n)) for n in names if "Entry" not in n] == [b"\0", b"\1", b"\2", b"\3", b"\4", b"\6"]


def test_glue_versions_messages_and_faults() -> None:
    """Two versions in one batch, plain and compressed; another message, an unknown index and broken ones cost their row (REG-02, REG-03, REG-07)."""
    payloads = [
        glued(1, b"\1", b"\x08\x05\x12\x03\x0a\x01x"), glued(2, b"\0", b"\x08\x06\x4a\x01y"), glued(1, b"\1", b"", zipped=True),
        glued(1, b"\x81\x00", b"\x08\x07"), glued(1, b"\0", b"\x08\x01"), glued(1, b"\2", b""), glued(1, b"", b""), glued(1, b"\x80", b""),
        glued(1, b"\xff" * 5, b""), glued(3, b"\0", b""), glued(4, b"\0", b""), glued(5, b"\0", b""), glued(6, b"\0", b""), glued(1, b"\1", b"\x0b"),
        b"\x03\x00" + bytes(3), glued(2, b"\0", b"\x08\x08", zipped=True), glued(1, b"\xff\xff\xff\xff\x0f", b""),
    ]  # fmt: skip
    found, slow = both(bench("glue"), payloads)

    part = {"part": {"s": "x"}}
    empty = {"part": None}
    assert found.batch.to_pylist() == [{"a": 5, **part}, {"a": 6, **empty}, {"a": 0, **empty}, {"a": 7, **empty}, {"a": 8, **empty}]
    assert found.rows.to_pylist() == [0, 1, 2, 3, 15]
    assert slow == 1  # the index that takes two bytes where one does
    faults = [(row, code.removeprefix("decode."), message) for row, code, message in said(found)]
    assert [(row, code) for row, code, _ in faults] == [
        (4, "type"), (5, "framing"), (6, "framing"), (7, "framing"), (8, "framing"), (9, "type"), (10, "framing"), (11, "schema_unknown"),
        (12, "schema_unknown"), (13, "malformed"), (14, "framing"), (16, "framing"),
    ]  # fmt: skip
    for (*_, message), part_of in zip(faults, (
        "wrote message shop.Line, the table reads shop.Order", "no message with index 2 of its 2 messages", "end inside the message index, at byte 0",
        "end inside the message index, at byte 1", "at byte 0 of the data is no number of 32 bits: 0xffffffffff", "field 'a' is written as string",
        "is AVRO, not Protobuf", "cannot be read", "there is no schema", "", "expected 18 bytes", "no message with index 4294967295",
    ), strict=True):  # fmt: skip
        assert part_of in message


def test_apicurio_ref_behind_the_number() -> None:
    """A Ref names the message; one of another or an unknown name, and anything that is none, is a bad record (REG-04, RG-06)."""
    payloads = [
        framed(1, ref(b"Order") + b"\x08\x05"), framed(2, ref(b"Order")), framed(1, ref(b"shop.Order") + b"\x08\x06"),
        framed(1, b"\x87\x00\x0a\x05Order\x08\x07"), framed(1, ref(b"Line")), framed(1, ref(b"Nope")), framed(1, b""), framed(1, b"\0"),
        framed(1, b"\x09\x0a\x05Order"), framed(1, b"\x07\x12\x05Order"), framed(1, b"\x07\x0a\x04Order"), framed(1, b"\x02\x0a\x00"),
        framed(1, ref(b"\xd6rder")), framed(1, ref(b"Part")), framed(3, ref(b"Order")), framed(6, ref(b"Order")), framed(1, b"\x08\x05"),
        framed(1, b"\x84\x08\x0a\x81\x08" + b"n" * 1025), framed(1, b"\x07\x0a\x85"), b"", framed(1, ref(b"Order") + b"\x0b"),
    ]  # fmt: skip
    found, slow = both(bench("apicurio"), payloads)

    assert [row["a"] for row in found.batch.to_pylist()] == [5, 0, 6, 7]
    assert slow == 2  # a full name, and a length that takes two bytes where one does
    faults = [(row, code.removeprefix("decode."), message) for row, code, message in said(found)]
    assert [(row, code) for row, code, _ in faults] == [
        (4, "type"), (5, "framing"), *((n, "framing") for n in range(6, 13)), (13, "type"), (14, "type"), (15, "schema_unknown"),
        *((n, "framing") for n in range(16, 20)), (20, "malformed"),
    ]  # fmt: skip
    for (*_, message), part_of in zip(faults, (
        "wrote message shop.Line", "there is no message 'Nope'", "end inside the length of the Ref that names the message, at byte 0", "found an empty one",
        "claims 9 bytes at byte 1 of the data, which has 8", "at byte 1 of the data, found byte 18", "name of 4 bytes at byte 3 of the data does not fill",
        "name of 0 bytes at byte 3", "byte 0 of the name is 214", "wrote message shop.Part", "is written as string", "there is no schema 6",
        "claims 8 bytes at byte 1 of the data, which has 2", "names a message with 1025 bytes", "claims 7 bytes", "empty (0 bytes)", "",
    ), strict=True):  # fmt: skip
        assert part_of in message


def test_apicurio_type_in_a_header() -> None:
    """Version 2 writes no Ref behind it, version 3 the same name again; without the header a Ref is needed; the last header counts (REG-04)."""
    payloads = [b"\x08\x05", ref(b"Order") + b"\x08\x06", ref(b"Order") + b"\x08\x07", b"\x08\x08", b"\x08\x09", b"\x08\x0a", b"", b"\x08\x0c", b"x"]
    headers = [
        numbered(1, b"Order"), numbered(2, b"Order"), numbered(1), numbered(1), numbered(1, b"Line"), numbered(1, b"Nope"), numbered(1, b"Order"),
        [*numbered(1, b"Line"), *numbered(1, b"Order")], numbered(1, b"n" * 600),
    ]  # fmt: skip
    found, slow = both(bench("apicurio"), payloads, headers)

    assert [row["a"] for row in found.batch.to_pylist()] == [5, 6, 7, 0, 12]
    assert found.rows.to_pylist() == [0, 1, 2, 6, 7]
    assert slow == 0
    assert [(row, code) for row, code, _ in said(found)] == [(3, "decode.framing"), (4, "decode.type"), (5, "decode.framing"), (8, "decode.framing")]
    assert "the type's header names a message with 600 bytes" in said(found)[-1][2]
    mixed, slow = both(bench("apicurio"), [ref(b"Order") + b"\x08\x01", b"\x08\x02"] * 3, [numbered(1, b"shop.Order")] * 6)
    assert (mixed.batch.column("a").to_pylist(), slow) == ([2, 2, 2], 0)


def test_a_name_at_the_top_comes_first() -> None:
    """A message inside another one may have the same short name; one that is only inside is found by it too."""
    messages = messages_of(RegisteredSchema(1, "PROTOBUF", NESTED))

    assert [messages.at(name).full_name for name in ("D", "C", "p.B.A.D")] == ["p.D", "p.B.C", "p.B.A.D"]


REGISTERED_BY_AWS = """syntax = "proto3";

package p;

message B {
  repeated .p.B.CountsEntry counts = 2;

  int32 a = 1;

  message CountsEntry {
    option map_entry = true;
  
    string key = 1;
  
    int32 value = 2;
  }
}
"""  # noqa: W293 - as it is written


def test_a_map_as_the_serialiser_registers_it() -> None:
    """AWS's serialiser writes a map's entries out, which the compiler refuses; here it is a map, and no schema can make it anything else."""

    def of(text: str) -> CodecBench:
        return CodecBench("protobuf-glue", registry=Several({str(FIRST): RegisteredSchema(str(FIRST), "PROTOBUF", text)}))

    found, slow = both(of(REGISTERED_BY_AWS), [glued(1, b"\0", b"\x08\x05\x12\x05\x0a\x01k\x10\x02")])
    assert (found.batch.to_pylist(), slow) == ([{"counts": [("k", 2)], "a": 5}], 0)
    with pytest.raises(UserError, match=r"field p\.B\.counts is an entry of a map, but not repeated"):
        _ = of(REGISTERED_BY_AWS.replace("repeated", "")).schema
    with pytest.raises(UserError, match="the Protobuf schema cannot be read"):
        _ = of(REGISTERED_BY_AWS.replace("int32 value", "repeated int32 value")).schema


def test_payloads_of_the_real_serialiser() -> None:
    """What AWS's serialiser 1.1.24 writes for one message of each type of a file, plain and compressed (REG-02, REG-03)."""
    start = "00000000000000010000000000000002"
    written = {
        "p.B": ("010805", "789c63e4600500001b000f"), "p.B.C": ("040805", "789c63e160050000240012"), "p.B.A": ("02", "789c63020000030003"),
        "p.B.A.D": ("030805", "789c63e660050000210011"), "p.Ab": ("000805", "789c63e06005000018000e"), "p.D": ("06", "789c63030000070007"),
    }  # fmt: skip
    version = str(uuid.UUID(start))
    registry = Several({version: RegisteredSchema(version, "PROTOBUF", NESTED)})
    payloads = [bytes.fromhex(before + start + data) for pair in written.values() for before, data in zip(("0300", "0305"), pair, strict=True)]
    for place, name in enumerate(written):
        if name == "p.B.A":
            continue  # a table needs a column
        of = CodecBench("protobuf-glue", options={"protobuf.message": name}, registry=registry)
        found, slow = both(of, payloads)
        assert found.rows.to_pylist() == [2 * place, 2 * place + 1]
        assert found.batch.column(found.batch.schema.names.index("z" if name == "p.D" else "a")).to_pylist() == [0 if name == "p.D" else 5] * 2
        assert all(f"the table reads {name}" in message for message in found.bad.messages)
        assert slow == 0


def test_keys_have_their_own_header() -> None:
    """``apicurio.protobuf.type.key``."""
    of = CodecBench("protobuf-apicurio", options={"apicurio.url": "http://h", "protobuf.message": "Order"}, registry=known("apicurio"), is_key=True)
    number = (1).to_bytes(8, "big")
    found, _ = both(of, [b"\x08\x05"] * 2, [[("apicurio.key.contentId", number), (f"apicurio.protobuf.type{end}", b"Order")] for end in (".key", "")])

    assert found.rows.to_pylist() == [0]


def test_options_reach_the_message() -> None:
    """The first message by default; an enum's numbers."""
    text = 'syntax = "proto3"; message M { E e = 1; } enum E { NO = 0; YES = 1; } message N {}'
    registry = Several({str(FIRST): RegisteredSchema(str(FIRST), "PROTOBUF", text)})
    of = CodecBench("protobuf-glue", options={"protobuf.enum": "number", "protobuf.timestamp": "ns", "protobuf.defaults": "true"}, registry=registry)
    found, slow = both(of, [glued(1, b"\0", b"\x08\x01")])

    assert (found.batch.to_pylist(), slow) == ([{"e": 1}], 0)


@pytest.mark.parametrize(("kind", "option"), [("glue", "glue.schema"), ("apicurio", "apicurio.artifact")])
def test_a_pattern_of_topics_needs_the_schema(kind: str, option: str) -> None:
    """Declared columns are not enough for Protobuf, whose fields go by number; the message names the right option."""
    declared = pa.schema([("a", pa.int64())])
    of = CodecBench(f"protobuf-{kind}", declared, {"apicurio.url": "http://h"}, known(kind), topic=None)
    with pytest.raises(UserError, match=f"option '{option}' is missing"):
        _ = of.schema
    of.options = {"apicurio.url": "http://h", option: "orders", "protobuf.message": "Order"}
    payload = glued(1, b"\1", b"\x08\x05") if kind == "glue" else framed(1, ref(b"Order") + b"\x08\x05")

    assert of.decode([payload]).batch.to_pylist() == [{"a": 5}]


@pytest.mark.parametrize("kind", ["glue", "apicurio"])
def test_damage_is_the_same_for_both(kind: str) -> None:
    """Mutated payloads and headers: the compiled decoder says of each what the reference says, word for word."""
    good = [glued(1, b"\1", b"\x08\x05"), glued(2, b"\0", b"\x08\x06"), glued(1, b"\1", b"\x08\x05", zipped=True)]
    dice = random.Random(5)
    headers: list[Header] | None = None
    if kind == "apicurio":
        good = [framed(1, ref(b"Order") + b"\x08\x05"), framed(2, ref(b"Order") + b"\x08\x06"), b"\x08\x07", ref(b"Order") + b"\x08\x07"]
        kinds: list[Header] = [[], [], numbered(1), numbered(2, b"Order"), numbered(1, b"Line"), numbered(1, b"Order")]
        headers = [dice.choice(kinds) for _ in range(1500)]
    found, _ = both(bench(kind), [*mutated(good, 3, 1500)], headers)

    assert 0 < len(found.rows) < 1500


@pytest.mark.parametrize("kind", ["glue", "apicurio"])
def test_a_registry_that_does_not_answer(kind: str) -> None:
    """No record is bad for that, with either decoder: reading waits; what was unknown is asked for again."""
    of = bench(kind)
    quick = fast.make(of.request, of.registry, of.decoder())
    assert quick is not None
    assert isinstance(of.registry, Several)
    payload = glued(1, b"\1", b"\x08\x05") if kind == "glue" else framed(1, ref(b"Order") + b"\x08\x05")
    first = str(FIRST) if kind == "glue" else 1
    text = of.registry.schemas.pop(first)
    assert decode(quick, [payload, payload]).bad.codes == ["decode.schema_unknown"] * 2
    of.registry.schemas[first] = text
    assert decode(quick, [payload]).rows.to_pylist() == [0]

    def silent(_schema_id: int | str) -> RegisteredSchema:
        raise SchemaUnavailable("no answer")

    other = bench(kind)
    decoder = other.decoder()
    second = fast.make(other.request, other.registry, other.decoder())
    assert second is not None
    other.registry.by_id = silent  # type: ignore[method-assign, union-attr]
    for each in (decoder, second):
        with pytest.raises(SchemaUnavailable):
            decode(each, [payload])


def test_every_format_with_a_naming_is_ours() -> None:
    """The two names agree with the plug-in's."""
    assert all(name in bench("glue").plugin.formats for name in NAMINGS if name.startswith("protobuf-"))


SHOP = """
syntax = "proto3";
package shop;
message Order { message Line { message Part { int64 id = 1; } int64 id = 1; } message Other { int64 id = 1; } int64 id = 1; }
message Refund { int64 id = 1; }
"""
WRITTEN = {
    "shop.Order": ("070a054f72646572", "0200", "Order"), "shop.Refund": ("080a06526566756e64", "0202", "Refund"),
    "shop.Order.Line": ("060a044c696e65", "040000", "Line"), "shop.Order.Other": ("070a054f74686572", "040002", "Other"),
    "shop.Order.Line.Part": ("060a0450617274", "06000000", "Part"),
}  # fmt: skip
"""By message the Ref, the indexes and the type's header, as ``ProtobufKafkaSerializer`` of ``apicurio-registry-protobuf-serde-kafka`` 3.1.7 wrote
them with ``apicurio.registry.serde.send-indexes`` on, against a registry 3.0.9, for messages whose one field ``id`` is 5."""
DATA = "0805"


def shop(message_by: str, message: str = "shop.Order") -> CodecBench:
    """The table of a message of the shop."""
    options = {"apicurio.url": "http://h", "protobuf.message": message, "apicurio.message-by": message_by}
    return CodecBench("protobuf-apicurio", options=options, registry=Several({1: RegisteredSchema(1, "PROTOBUF", SHOP)}), rows=[{"id": 5}])


def lead(message: str, message_by: str) -> str:
    """What the serialiser wrote before a message, behind the number."""
    ref, indexes, _ = WRITTEN[message]
    return indexes if message_by == "indexes" else ref + indexes


@pytest.mark.parametrize("message_by", ["indexes", "ref-indexes"])
@pytest.mark.parametrize("headed", [False, True])
@pytest.mark.parametrize("message", WRITTEN)
def test_payloads_of_apicurios_serialiser(message_by: str, headed: bool, message: str) -> None:  # noqa: FBT001 - a parameter
    """Of one message of each type of a file, the table's is read, by its indexes or its name, with headers and without (REG-04, PRO-08)."""
    payloads = [bytes.fromhex(("" if headed else "0000000001") + lead(name, message_by) + DATA) for name in WRITTEN]
    headers: list[Header] | None = None
    if headed:
        number = (1).to_bytes(8, "big")
        headers = [[("apicurio.value.contentId", number), ("apicurio.protobuf.type", short.encode())] for *_, short in WRITTEN.values()]
    found, slow = both(shop(message_by, message), payloads, headers)

    assert found.rows.to_pylist() == [list(WRITTEN).index(message)]
    assert found.batch.to_pylist() == [{"id": 5}]
    assert all(f"the table reads {message}" in said for said in found.bad.messages)
    assert slow == 0


@pytest.mark.parametrize("message_by", ["indexes", "ref-indexes"])
def test_what_is_written_is_what_the_serialiser_writes(message_by: str) -> None:
    """The path of the first message is written in full; test data have the same bytes."""
    messages = messages_of(RegisteredSchema(1, "PROTOBUF", SHOP))

    assert [before_message(NAMINGS[message_by], messages.find(name)).hex() for name in WRITTEN] == [lead(name, message_by) for name in WRITTEN]
    assert shop(message_by).encoded() == [bytes.fromhex("0000000001" + lead("shop.Order", message_by) + DATA)]


def test_names_win_over_indexes() -> None:
    """The one byte 0 is the first message too; indexes that name another message than the Ref are passed over; broken ones cost their row (PRO-08)."""
    ref = WRITTEN["shop.Order"][0]
    by_index = ["00" + DATA, "0200" + DATA, "0202" + DATA, "01" + DATA, "42" + DATA, "0208" + DATA, "", "80", "8280", "0200"]
    found, _ = both(shop("indexes"), [bytes.fromhex("0000000001" + text) for text in by_index])
    assert found.rows.to_pylist() == [0, 1, 9]
    assert [code for _, code in sorted(zip(found.bad.rows, found.bad.codes, strict=True))] == ["decode.type", *["decode.framing"] * 6]
    by_name = [ref + "0202" + DATA, ref + "00" + DATA, ref, ref + "02", "0200" + DATA]
    found, _ = both(shop("ref-indexes"), [bytes.fromhex("0000000001" + text) for text in by_name])
    assert found.rows.to_pylist() == [0, 1]
    assert found.bad.codes == ["decode.framing"] * 3


@pytest.mark.parametrize("message_by", ["indexes", "ref-indexes"])
def test_damaged_indexes_are_the_same_for_both(message_by: str) -> None:
    """Mutated payloads: the compiled decoder says of each what the reference says, word for word."""
    good = [bytes.fromhex("0000000001" + lead(name, message_by) + DATA) for name in ("shop.Order", "shop.Refund", "shop.Order")]
    found, _ = both(shop(message_by), [*mutated(good, 3, 1500)])

    assert 0 < len(found.rows) < 1500
