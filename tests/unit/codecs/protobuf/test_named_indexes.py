"""Message indexes behind Apicurio's envelope: where the serialiser's ``send-indexes`` is on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.codecs.enveloped.test_decoder import Several
from tests.unit.codecs.protobuf.test_named import both
from thalweg.codecs.protobuf.descriptors import messages_of
from thalweg.codecs.protobuf.named import NAMINGS, before_message
from thalweg.ports.schemas import RegisteredSchema
from thalweg.testing.codecs import CodecBench, mutated

if TYPE_CHECKING:
    from tests.unit.codecs.protobuf.test_named import Header

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


def bench(message_by: str, message: str = "shop.Order") -> CodecBench:
    """The table of a message of the shop."""
    options = {"apicurio.url": "http://h", "protobuf.message": message, "apicurio.message-by": message_by}
    return CodecBench("protobuf-apicurio", options=options, registry=Several({1: RegisteredSchema(1, "PROTOBUF", SHOP)}), rows=[{"id": 5}])


def before(message: str, message_by: str) -> str:
    """What the serialiser wrote before a message, behind the number."""
    ref, indexes, _ = WRITTEN[message]
    return indexes if message_by == "indexes" else ref + indexes


@pytest.mark.parametrize("message_by", ["indexes", "ref-indexes"])
@pytest.mark.parametrize("headed", [False, True])
@pytest.mark.parametrize("message", WRITTEN)
def test_payloads_of_the_real_serialiser(message_by: str, headed: bool, message: str) -> None:  # noqa: FBT001 - a parameter
    """Of one message of each type of a file, the table's is read, by its indexes or its name, with headers and without (REG-04, PRO-08)."""
    payloads = [bytes.fromhex(("" if headed else "0000000001") + before(name, message_by) + DATA) for name in WRITTEN]
    headers: list[Header] | None = None
    if headed:
        number = (1).to_bytes(8, "big")
        headers = [[("apicurio.value.contentId", number), ("apicurio.protobuf.type", short.encode())] for *_, short in WRITTEN.values()]
    found, slow = both(bench(message_by, message), payloads, headers)

    assert found.rows.to_pylist() == [list(WRITTEN).index(message)]
    assert found.batch.to_pylist() == [{"id": 5}]
    assert all(f"the table reads {message}" in said for said in found.bad.messages)
    assert slow == 0


@pytest.mark.parametrize("message_by", ["indexes", "ref-indexes"])
def test_what_is_written_is_what_the_serialiser_writes(message_by: str) -> None:
    """The path of the first message is written in full; test data have the same bytes."""
    messages = messages_of(RegisteredSchema(1, "PROTOBUF", SHOP))

    assert [before_message(NAMINGS[message_by], messages.find(name)).hex() for name in WRITTEN] == [before(name, message_by) for name in WRITTEN]
    assert bench(message_by).encoded() == [bytes.fromhex("0000000001" + before("shop.Order", message_by) + DATA)]


def test_names_win_over_indexes() -> None:
    """The one byte 0 is the first message too; indexes that name another message than the Ref are passed over; broken ones cost their row (PRO-08)."""
    ref = WRITTEN["shop.Order"][0]
    by_index = ["00" + DATA, "0200" + DATA, "0202" + DATA, "01" + DATA, "42" + DATA, "0208" + DATA, "", "80", "8280", "0200"]
    found, _ = both(bench("indexes"), [bytes.fromhex("0000000001" + text) for text in by_index])
    assert found.rows.to_pylist() == [0, 1, 9]
    assert [code for _, code in sorted(zip(found.bad.rows, found.bad.codes, strict=True))] == ["decode.type", *["decode.framing"] * 6]
    by_name = [ref + "0202" + DATA, ref + "00" + DATA, ref, ref + "02", "0200" + DATA]
    found, _ = both(bench("ref-indexes"), [bytes.fromhex("0000000001" + text) for text in by_name])
    assert found.rows.to_pylist() == [0, 1]
    assert found.bad.codes == ["decode.framing"] * 3


@pytest.mark.parametrize("message_by", ["indexes", "ref-indexes"])
def test_damage_is_the_same_for_both(message_by: str) -> None:
    """Mutated payloads: the compiled decoder says of each what the reference says, word for word."""
    good = [bytes.fromhex("0000000001" + before(name, message_by) + DATA) for name in ("shop.Order", "shop.Refund", "shop.Order")]
    found, _ = both(bench(message_by), [*mutated(good, 3, 1500)])

    assert 0 < len(found.rows) < 1500
