"""Apicurio Registry's own API, versions 2 and 3, and framed JSON through its Confluent API, over the real server."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from thalweg.codecs.enveloped import fast
from thalweg.errors import SchemaUnknown
from thalweg.ports.http_options import read_registry_options
from thalweg.ports.schemas import RegisteredSchema
from thalweg.registries.apicurio.client import ApicurioRegistry
from thalweg.registries.apicurio.options import ApicurioOptions
from thalweg.registries.confluent.client import ConfluentRegistry
from thalweg.registries.confluent.options import read_options
from thalweg.testing.codecs import CodecBench, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.service

ADDRESS = {"type": "record", "name": "Address", "fields": [{"name": "city", "type": "string"}]}
ROOT = {"type": "record", "name": "Root", "fields": [{"name": "from", "type": "Address"}, {"name": "to", "type": "Address"}]}
PART = {"type": "object", "properties": {"city": {"type": "string"}}}
WHOLE = {"type": "object", "properties": {"id": {"type": "integer"}, "home": {"oneOf": [{"type": "null"}, {"$ref": "address.json"}]}}}
CITY = 'syntax = "proto3"; package geo; message City { string name = 1; }'
PLACE = 'syntax = "proto3"; package geo; import "city.proto"; message Place { int64 id = 1; City city = 2; }'


class Native:
    """Creates artifacts by version 3 of the API."""

    def __init__(self, base: str) -> None:
        """``base`` is the server's address."""
        self.base = base

    def create(self, kind: str, schema: Any, references: tuple[tuple[str, str], ...] = (), artifact: str = "") -> dict[str, Any]:  # noqa: ANN401 - JSON
        """A new artifact's first version, with its numbers; references are ``(name, artifact)``."""
        named = artifact or f"a-{uuid.uuid4().hex[:8]}"
        listed = [{"name": name, "groupId": "default", "artifactId": other, "version": "1"} for name, other in references]
        text, media = (schema, "application/x-protobuf") if isinstance(schema, str) else (json.dumps(schema), "application/json")
        content = {"content": text, "contentType": media, "references": listed}
        body = {"artifactId": named, "artifactType": kind, "firstVersion": {"content": content}}
        made = httpx.post(f"{self.base}/apis/registry/v3/groups/default/artifacts", json=body, trust_env=False)
        assert made.status_code == httpx.codes.OK, made.text
        return dict(made.json()["version"])


@pytest.fixture
def native(apicurio: str) -> Native:
    """Creates artifacts."""
    return Native(apicurio.partition("/apis/")[0])


@pytest.fixture
def client(native: Native) -> Iterator[Callable[..., ApicurioRegistry]]:
    """Makes clients, and closes them."""
    made: list[ApicurioRegistry] = []

    def make(version: str, **options: str) -> ApicurioRegistry:
        made.append(ApicurioRegistry(f"{native.base}/apis/registry/{version}", read_registry_options(ApicurioOptions, options), wait_initial=0.01))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("version", ["v2", "v3"])
@pytest.mark.parametrize("number", ["globalId", "contentId"])
def test_avro_with_references(native: Native, client: Callable[..., ApicurioRegistry], version: str, number: str) -> None:
    """By prefix and by header, with each number, in both versions of the API (REG-04, RG-04, RG-07)."""
    topic = f"orders-{uuid.uuid4().hex[:8]}"
    part = native.create("AVRO", ADDRESS)
    root = native.create("AVRO", ROOT, (("Address", part["artifactId"]),), f"{topic}-value")
    options = {"apicurio.url": native.base, "apicurio.id": number}
    bench = CodecBench("avro-apicurio", options=options, registry=client(version, id=number.lower()), topic=topic)
    data, value = b"\x02a\x02b", int(root[number])
    found = bench.decode([b"\0" + value.to_bytes(4, "big") + data, data], [[], [(f"apicurio.value.{number}", value.to_bytes(8, "big"))]])

    assert found.bad.messages == []
    assert found.batch.to_pylist() == [{"from": {"city": "a"}, "to": {"city": "b"}}] * 2


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_unknown_numbers_and_artifacts(client: Callable[..., ApicurioRegistry], version: str) -> None:
    """Its answers for what is not there are told from refusals (RG-05)."""
    for options in ({}, {"id": "globalid"}):
        with pytest.raises(SchemaUnknown):
            client(version, **options).by_id(987_654_321)
    with pytest.raises(SchemaUnknown):
        client(version).latest(f"none-{uuid.uuid4().hex}")


def test_json_schema_with_references(native: Native, client: Callable[..., ApicurioRegistry]) -> None:
    """The registry's references are followed (REG-04, RG-07)."""
    topic = f"json-{uuid.uuid4().hex[:8]}"
    part = native.create("JSON", PART)
    root = native.create("JSON", WHOLE, (("address.json", part["artifactId"]),), f"{topic}-value")
    bench = CodecBench("json-apicurio", options={"apicurio.url": native.base}, registry=client("v3"), topic=topic)
    payload = b"\0" + int(root["contentId"]).to_bytes(4, "big") + b'{"id":7,"home":{"city":"Oslo"}}'

    assert bench.decode([payload]).batch.to_pylist() == [{"id": 7, "home": {"city": "Oslo"}}]


@pytest.mark.parametrize("version", ["v2", "v3"])
@pytest.mark.parametrize("number", ["globalId", "contentId"])
def test_protobuf_with_references(native: Native, client: Callable[..., ApicurioRegistry], version: str, number: str) -> None:
    """Both framings of Protobuf, versions 2 and 3 of the serialisers, with an import that the registry resolves (REG-04, RG-04, RG-07)."""
    topic = f"places-{uuid.uuid4().hex[:8]}"
    part = native.create("PROTOBUF", CITY)
    root = native.create("PROTOBUF", PLACE, (("city.proto", part["artifactId"]),), f"{topic}-value")
    options = {"apicurio.url": native.base, "apicurio.id": number}
    bench = CodecBench("protobuf-apicurio", options=options, registry=client(version, id=number.lower()), topic=topic)
    data, value = b"\x08\x07\x12\x06\x0a\x04Oslo", int(root[number])
    ref, ids = b"\x07\x0a\x05Place", [(f"apicurio.value.{number}", value.to_bytes(8, "big"))]
    typed = [*ids, ("apicurio.value.msgType", b"geo.Places$Place"), ("apicurio.protobuf.type", b"Place")]
    payloads = [b"\0" + value.to_bytes(4, "big") + ref + data, data, ref + data, ref + data, b"\0" + value.to_bytes(4, "big") + b"\x06\x0a\x04City"]
    headers = [[], typed, typed, ids, []]
    found = bench.decode(payloads, headers)
    quick = fast.make(bench.request, bench.registry, bench.decoder())

    assert found.batch.to_pylist() == [{"id": 7, "city": {"name": "Oslo"}}] * 4
    assert found.bad.codes == ["decode.type"]
    assert "wrote message geo.City, the table reads geo.Place" in found.bad.messages[0]
    assert quick is not None
    assert decode(quick, payloads, headers).batch.equals(found.batch)


def test_framed_json_through_the_confluent_api(apicurio: str) -> None:
    """JSON Schema with a reference, registered and read by Confluent's protocol below a path (REG-04, RG-10)."""
    known = ConfluentRegistry(apicurio, read_options({}), wait_initial=0.01)
    topic, part = (f"{n}-{uuid.uuid4().hex[:8]}" for n in ("framed", "address"))
    known.register(part, RegisteredSchema("", "JSON", json.dumps(PART)))
    body = {"schema": json.dumps(WHOLE), "schemaType": "JSON", "references": [{"name": "address.json", "subject": part, "version": 1}]}
    made = httpx.post(f"{apicurio}/subjects/{topic}-value/versions", json=body, trust_env=False)
    made.raise_for_status()
    bench = CodecBench("json-confluent", options={"json-confluent.url": apicurio}, registry=known, topic=topic)
    payloads = [b"\0" + int(made.json()["id"]).to_bytes(4, "big") + d for d in (b'{"id":1,"home":{"city":"Bergen"}}', b'{"id":2}')]
    found = bench.decode([*payloads, b"\0\xff\xff\xff\xff{}"])
    known.close()

    assert found.batch.to_pylist() == [{"id": 1, "home": {"city": "Bergen"}}, {"id": 2, "home": None}]
    assert found.bad.codes == ["decode.schema_unknown"]
