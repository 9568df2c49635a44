"""The client of AWS Glue's schema registry, over a local server that checks each signature."""

from __future__ import annotations

import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from thalweg.errors import SchemaUnavailable, SchemaUnknown, UserError
from thalweg.ports.http_options import read_registry_options
from thalweg.ports.schemas import RegisteredSchema
from thalweg.registries.glue.client import GlueRegistry
from thalweg.registries.glue.options import GlueOptions
from thalweg.testing.http_answers import HttpAnswers, Reply, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

ID = str(uuid.UUID(int=77))
KEYS = {"region": "eu-central-1", "access-key-id": "AKIATEST", "secret-access-key": "geheim", "session-token": "fluechtig"}
FOUND = {"SchemaVersionId": ID, "DataFormat": "AVRO", "SchemaDefinition": '"long"', "Status": "AVAILABLE", "VersionNumber": 3}


class Glue:
    """Answers as Glue does."""

    def __init__(self) -> None:
        """Faults to give first, one a request."""
        self.faults: list[Reply] = []
        self.unsigned = 0

    def __call__(self, request: Request) -> Reply:
        """By the body."""
        if not _signed(request):
            self.unsigned += 1
        if self.faults:
            return self.faults.pop(0)
        asked = json.loads(request.body)
        if request.headers.get("X-Amz-Target", request.headers.get("X-amz-target")) != "AWSGlue.GetSchemaVersion":
            return Reply(400, {"__type": "UnknownOperationException"})
        named = asked.get("SchemaId", {}).get("SchemaName")
        if asked.get("SchemaVersionId") == ID or (named == "orders" and asked["SchemaVersionNumber"] == {"LatestVersion": True}):
            return Reply(200, FOUND)
        return fault("EntityNotFoundException", "Schema version is not found.")


def fault(code: str, message: str = "", status: int = 400) -> Reply:
    """An error as AWS writes it."""
    return Reply(status, {"__type": f"com.amazonaws.glue#{code}", "Message": message})


def _signed(request: Request) -> bool:
    """Whether the signature is the one that botocore makes of what arrived."""
    headers = {k.lower(): v for k, v in request.headers.items()}
    again = AWSRequest(
        method=request.method, url=f"http://{headers['host']}{request.path}", data=request.body,
        headers={"Content-Type": headers["content-type"], "X-Amz-Target": headers["x-amz-target"]},
    )  # fmt: skip
    signer = SigV4Auth(Credentials("AKIATEST", "geheim", "fluechtig"), "glue", "eu-central-1")
    signer.add_auth(again)
    again.headers.replace_header("X-Amz-Date", headers["x-amz-date"])
    again.context["timestamp"] = headers["x-amz-date"]
    del again.headers["Authorization"]
    text = signer.string_to_sign(again, signer.canonical_request(again))
    return headers["authorization"].endswith(f"Signature={signer.signature(text, again)}")


@pytest.fixture
def glue() -> Glue:
    """What the server answers."""
    return Glue()


@pytest.fixture
def server(glue: Glue) -> Iterator[HttpAnswers]:
    """The server."""
    with HttpAnswers(glue) as running:
        yield running


def made(server: HttpAnswers, **more: str) -> GlueRegistry:
    """A client that pauses for a millisecond."""
    return GlueRegistry(server.url, read_registry_options(GlueOptions, {**KEYS, **more}), wait_initial=0.001)


def test_versions_by_uuid_and_the_newest_by_name(server: HttpAnswers, glue: Glue) -> None:
    """Each question once, signed with Signature Version 4 (REG-07, REG-08, REG-11)."""
    known = made(server)
    for _ in range(3):
        assert known.by_id(ID) == RegisteredSchema(ID, "AVRO", '"long"')
        assert known.latest("orders") == RegisteredSchema(ID, "AVRO", '"long"')
    known.close()

    assert len(server.requests) == 2
    assert glue.unsigned == 0
    assert json.loads(server.requests[1].body)["SchemaId"] == {"RegistryName": "default-registry", "SchemaName": "orders"}
    assert known.by_id(ID).text == '"long"'


def test_unknown_deleted_and_refused_are_different(server: HttpAnswers, glue: Glue) -> None:
    """What is not there is permanent; a missing permission says nothing about the schema (RG-05, REG-10)."""
    known = made(server)
    with pytest.raises(SchemaUnknown, match=r"knows no schema version 0.*not found"):
        known.by_id(str(uuid.UUID(int=1)))
    with pytest.raises(SchemaUnknown, match="knows no schema 'lost' in registry 'default-registry'"):
        known.latest("lost")
    for wrong in (7, "x"):
        with pytest.raises(SchemaUnknown, match="its versions have UUIDs"):
            known.by_id(wrong)
    glue.faults = [Reply(200, {**FOUND, "Status": "DELETING"})]
    with pytest.raises(SchemaUnknown, match="its status is DELETING"):
        known.by_id(ID)
    for reply, said in ((fault("AccessDeniedException", "no"), "AccessDeniedException: no"), (Reply(200, {}), "holds no schema"), (Reply(403, b"?"), "no code")):
        glue.faults = [reply]
        with pytest.raises(SchemaUnavailable, match=said) as caught:
            known.latest("orders")
        assert "geheim" not in f"{caught.value} {caught.value!r}"
    with pytest.raises(SchemaUnavailable, match="not registered in Glue from here"):
        known.register("orders", RegisteredSchema("", "AVRO", '"long"'))
    known.close()


def test_load_is_waited_for(server: HttpAnswers, glue: Glue) -> None:
    """AWS says "too fast" with status 400; that and 5xx are asked again, a few times."""
    known = made(server)
    glue.faults = [fault("ThrottlingException"), Reply(500, b""), fault("ThrottlingException")]
    assert known.by_id(ID).kind == "AVRO"
    glue.faults = [fault("ThrottlingException")] * 4
    with pytest.raises(SchemaUnavailable, match="gives no answer: status 400"):
        known.latest("orders")
    known.close()

    assert len(server.requests) == 8


def test_many_threads_make_one_request(server: HttpAnswers) -> None:
    """Sixteen threads that need the same unknown version ask once; the answer is believed for a while."""
    known, together = made(server), threading.Barrier(16)

    def ask() -> bool:
        together.wait()
        with pytest.raises(SchemaUnknown):
            known.by_id(str(uuid.UUID(int=5)))
        return True

    with ThreadPoolExecutor(16) as pool:
        assert all(f.result() for f in [pool.submit(ask) for _ in range(16)])
    known.close()
    assert len(server.requests) == 1


def test_region_and_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:  # noqa: ANN401 - a Path
    """They come from the options, else from AWS's own chain; what is missing is named."""
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))

    def options(**values: str) -> GlueOptions:
        return read_registry_options(GlueOptions, {k.replace("_", "-"): v for k, v in values.items()})

    with pytest.raises(UserError, match=r"'glue\.region' is missing"):
        GlueRegistry("", options())
    with pytest.raises(UserError, match="belong together"):
        GlueRegistry("", options(region="x", access_key_id="a"))
    with pytest.raises(UserError, match="configuration cannot be read"):
        GlueRegistry("", options(profile="nobody"))
    bare = GlueRegistry("", options(region="eu-central-1"))
    assert bare._http.url == "https://glue.eu-central-1.amazonaws.com"
    with pytest.raises(SchemaUnavailable, match="no AWS credentials"):
        bare.by_id(ID)
    bare.close()
    assert "geheim" not in repr(read_registry_options(GlueOptions, KEYS))


