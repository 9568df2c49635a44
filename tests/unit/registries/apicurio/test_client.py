"""The client of Apicurio's own API, versions 2 and 3."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from thalweg.errors import SchemaUnavailable, SchemaUnknown
from thalweg.ports.http_options import read_registry_options
from thalweg.ports.schemas import RegisteredSchema
from thalweg.registries.apicurio.client import ApicurioRegistry, kind_of
from thalweg.registries.apicurio.options import ApicurioOptions
from thalweg.testing.http_answers import HttpAnswers, Reply, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

V3 = "/apis/registry/v3"
LOST = Reply(404, {"error_code": 404, "message": "No artifact found.", "name": "ArtifactNotFoundException"})


class Apicurio:
    """Answers as Apicurio does: global ids are content ids and 100."""

    def __init__(self) -> None:
        """Three artifacts, two of which refer to the third, and a pair that refer to each other."""
        part = {"type": "record", "name": "Address", "fields": [{"name": "city", "type": "string"}]}
        self.texts = {1: json.dumps(part), 2: '{"type":"record","name":"Root","fields":[]}', 3: '{"type":"object","properties":{}}', 4: '"x"', 5: '"y"'}
        self.artifacts = {"address": 1, "orders-value": 2, "json-value": 3, "x": 4, "y": 5}
        self.references = {2: ["address"], 4: ["y"], 5: ["x"]}
        self.faults: list[Reply] = []

    def __call__(self, request: Request) -> Reply:
        """By the path."""
        if self.faults:
            return self.faults.pop(0)
        path = request.path.partition("?")[0]
        parts = path.strip("/").split("/")[3:]
        if parts[0] == "ids":
            number = int(parts[2]) - (100 if parts[1] == "globalIds" else 0)
            if number not in self.texts:
                return LOST
            if parts[3:] == ["references"]:
                return Reply(200, [{"name": n, "groupId": None, "artifactId": n, "version": "1"} for n in self.references.get(number, ())])
            return Reply(200, self.texts[number])
        number = self.artifacts.get(parts[3], 0)
        if not number:
            return LOST
        kind = "JSON" if number == 3 else "AVRO"
        named = {"type": kind} if "/v2/" in path else {"artifactType": kind}
        return Reply(200, {"globalId": number + 100, "contentId": number, **named})


@pytest.fixture
def apicurio() -> Apicurio:
    """What the server answers."""
    return Apicurio()


@pytest.fixture
def server(apicurio: Apicurio) -> Iterator[HttpAnswers]:
    """The server."""
    with HttpAnswers(apicurio) as running:
        yield running


def made(url: str, **options: str) -> ApicurioRegistry:
    """A client that pauses for a millisecond."""
    return ApicurioRegistry(url, read_registry_options(ApicurioOptions, options), wait_initial=0.001)


@pytest.mark.parametrize(("path", "options", "number"), [
    ("", {}, 2), (V3, {"id": "globalId"}, 102), ("/apis/registry/v2", {}, 2), ("/apis/registry/v2/", {"id": "globalId"}, 102),
])  # fmt: skip
def test_schemas_by_number_and_artifact(server: HttpAnswers, path: str, options: dict[str, str], number: int) -> None:
    """Each question once, in both versions of the API, with references (REG-04, RG-07)."""
    known = made(server.url + path, **options)
    for _ in range(2):
        found = known.by_id(number)
        assert (found.id, found.kind) == (number, "AVRO")
        assert [(n, r.kind) for n, r in found.references] == [("address", "AVRO")]
        assert known.latest("orders-value") == found
        assert known.latest("json-value").kind == "JSON"
    known.close()

    assert max(n for p, n in server.calls.items() if "latest" in p or p.endswith("orders-value/meta")) == 1
    assert known.by_id(number) == found


def test_unknown_and_refused_are_different(server: HttpAnswers, apicurio: Apicurio) -> None:
    """A 404 of the registry is permanent, one of something else is not; 5xx is asked again (RG-05)."""
    known = made(server.url)
    with pytest.raises(SchemaUnknown, match="knows no schema with contentId 9: No artifact found"):
        known.by_id(9)
    with pytest.raises(SchemaUnknown, match="knows no artifact 'lost' in group 'default'"):
        known.latest("lost")
    with pytest.raises(SchemaUnknown, match="its schemas have numbers"):
        known.by_id("c8f0f6de-0000-4000-8000-000000000000")
    apicurio.faults = [Reply(404, b"<html>")]
    with pytest.raises(SchemaUnavailable, match="status 404"):
        known.by_id(2)
    apicurio.faults = [Reply(503), Reply(500)]
    assert known.by_id(2).kind == "AVRO"
    for reply, said in ((Reply(200, {}), "holds no contentId"), (Reply(200, b"\xff"), "no contentId")):
        apicurio.faults = [reply]
        with pytest.raises(SchemaUnavailable, match=said):
            known.latest("orders-value")
    apicurio.faults = [Reply(200, b"\xff")]
    with pytest.raises(SchemaUnavailable, match="no text in UTF-8"):
        known.by_id(3)
    apicurio.faults = [Reply(200, b'"long"'), Reply(200, [{"name": "x"}])]
    with pytest.raises(SchemaUnavailable, match="list of references makes no sense"):
        known.by_id(3)
    with pytest.raises(SchemaUnavailable, match=r"ccompat|not registered through"):
        known.register("s", RegisteredSchema("", "AVRO", '"long"'))
    known.close()


def test_references_in_a_circle(server: HttpAnswers) -> None:
    """An error that shows the way (RG-07)."""
    known = made(server.url)
    with pytest.raises(SchemaUnknown, match=r"cycle: .*x version 1 -> y version 1|cycle: .*y version 1 -> x version 1"):
        known.latest("x")
    known.close()


def test_many_threads_make_one_request(server: HttpAnswers) -> None:
    """Sixteen threads that need the same unknown number ask once."""
    known, together = made(server.url), threading.Barrier(16)

    def ask() -> bool:
        together.wait()
        with pytest.raises(SchemaUnknown):
            known.by_id(999)
        return True

    with ThreadPoolExecutor(16) as pool:
        assert all(f.result() for f in [pool.submit(ask) for _ in range(16)])
    known.close()
    assert server.calls == {f"{V3}/ids/contentIds/999": 1}


def test_credentials_are_sent_and_never_shown(server: HttpAnswers, apicurio: Apicurio) -> None:
    """Basic or bearer; refused ones are no answer about the schema."""
    for options in ({"basic-auth.user-info": "me:geheim"}, {"bearer-auth.token": "geheim"}):
        known = made(server.url, **options)
        apicurio.faults = [Reply(401, {"message": "no"})]
        with pytest.raises(SchemaUnavailable, match="refuses") as caught:
            known.by_id(2)
        known.close()
        assert "geheim" not in f"{caught.value} {caught.value!r}"

    assert [r.headers["Authorization"] for r in server.requests] == ["Basic bWU6Z2VoZWlt", "Bearer geheim"]


def test_what_a_text_is() -> None:
    """Content ids come without a kind, so the text says it."""
    assert [kind_of(t) for t in ('syntax = "proto3";', '"long"', '["null","long"]', '{"type":"record","name":"R","fields":[]}')] == ["PROTOBUF", "AVRO", "AVRO", "AVRO"]
    assert [kind_of(t) for t in ('{"type":"object"}', '{"$schema":"x"}', '{"type":"long"}', '{"type":"array","items":"int"}')] == ["JSON", "JSON", "AVRO", "AVRO"]
