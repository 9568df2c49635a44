"""The registry client and the Avro decoder over a real Apicurio Registry, through its Confluent API."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

import httpx
import pytest

from thalweg.errors import SchemaUnknown
from thalweg.ports.schemas import RegisteredSchema
from thalweg.registries.confluent.client import ConfluentRegistry
from thalweg.registries.confluent.options import read_options
from thalweg.testing.codecs import CodecBench

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.service

ONE = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
TWO = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string", "default": "none"}]}


@pytest.fixture
def client(apicurio: str) -> Iterator[ConfluentRegistry]:
    """A client of the running registry."""
    made = ConfluentRegistry(apicurio, read_options({}), wait_initial=0.01)
    yield made
    made.close()


def test_schemas_of_two_versions_in_one_batch(apicurio: str, client: ConfluentRegistry) -> None:
    """Registered ids are found again, the subject's newest schema gives the columns, older records get the default (REG-04, RG-06)."""
    topic = f"orders-{uuid.uuid4().hex[:8]}"
    ids = [client.register(f"{topic}-value", RegisteredSchema("", "AVRO", json.dumps(s))) for s in (ONE, TWO)]
    bench = CodecBench("avro-confluent", options={"avro-confluent.url": apicurio}, registry=client, topic=topic)
    payloads = [b"\0" + i.to_bytes(4, "big") + d for i, d in ((ids[0], b"\x02"), (ids[1], b"\x04\x02x"), (ids[0], b"\x06"))]

    assert bench.decode(payloads).batch.to_pylist() == [{"a": 1, "b": "none"}, {"a": 2, "b": "x"}, {"a": 3, "b": "none"}]


def test_unknown_ids_and_subjects(client: ConfluentRegistry) -> None:
    """Its answers for what is not there are the protocol's (RG-05)."""
    with pytest.raises(SchemaUnknown):
        client.by_id(987_654_321)
    with pytest.raises(SchemaUnknown):
        client.latest(f"none-{uuid.uuid4().hex}")


def test_references(apicurio: str, client: ConfluentRegistry) -> None:
    """A schema that refers to another subject's is read with it (RG-07)."""
    topic, part = (f"{n}-{uuid.uuid4().hex[:8]}" for n in ("refs", "address"))
    client.register(part, RegisteredSchema("", "AVRO", '{"type":"record","name":"Address","fields":[{"name":"city","type":"string"}]}'))
    text = json.dumps({"type": "record", "name": "Root", "fields": [{"name": "from", "type": "Address"}, {"name": "to", "type": "Address"}]})
    body = {"schema": text, "schemaType": "AVRO", "references": [{"name": "Address", "subject": part, "version": 1}]}
    made = httpx.post(f"{apicurio}/subjects/{topic}-value/versions", json=body, trust_env=False)
    made.raise_for_status()
    bench = CodecBench("avro-confluent", options={"avro-confluent.url": apicurio}, registry=client, topic=topic)

    payload = b"\0" + int(made.json()["id"]).to_bytes(4, "big") + b"\x02a\x02b"
    assert bench.decode([payload]).batch.to_pylist() == [{"from": {"city": "a"}, "to": {"city": "b"}}]
