"""The client of Confluent's protocol."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from thalweg.errors import SchemaUnavailable, SchemaUnknown, UserError
from thalweg.ports import http_client as module
from thalweg.ports.http_client import ATTEMPTS, bare_url
from thalweg.ports.schemas import RegisteredSchema
from thalweg.registries.confluent.client import ConfluentRegistry
from thalweg.registries.confluent.options import read_options
from thalweg.testing.registry import RESET, TestRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def server() -> Iterator[TestRegistry]:
    """A registry below a path, as Apicurio has it."""
    with TestRegistry("/apis/ccompat/v7") as running:
        yield running


@pytest.fixture
def client() -> Iterator[Callable[..., ConfluentRegistry]]:
    """Makes clients that pause for a millisecond, and closes them."""
    made: list[ConfluentRegistry] = []

    def make(url: str, **options: str) -> ConfluentRegistry:
        found = read_options({k.replace("__", ".").replace("_", "-"): v for k, v in options.items()})
        made.append(ConfluentRegistry(url, found, wait_initial=0.001))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_schemas_by_id_guid_and_subject(server: TestRegistry, client: Callable[..., ConfluentRegistry]) -> None:
    """Each question once, below the base path of the URL (REG-04, REG-06)."""
    stored = server.add("team/orders-value", '"long"', schema_id=7)
    server.add("p-value", "message P {}", kind="PROTOBUF")
    known = client(server.url + "/")
    for _ in range(3):
        assert known.by_id(7) == RegisteredSchema(7, "AVRO", '"long"')
        assert known.by_id(stored.guid).text == '"long"'
        assert known.latest("team/orders-value") == RegisteredSchema(7, "AVRO", '"long"')
    assert known.latest("p-value").kind == "PROTOBUF"

    assert server.calls == {
        "/schemas/ids/7": 1, f"/schemas/guids/{stored.guid}": 1, "/subjects/team%2Forders-value/versions/latest": 1, "/subjects/p-value/versions/latest": 1,
    }  # fmt: skip


def test_many_threads_make_one_request(server: TestRegistry, client: Callable[..., ConfluentRegistry]) -> None:
    """Sixteen threads that need the same unknown id ask once."""
    known, together = client(server.url), threading.Barrier(16)

    def ask() -> str:
        together.wait()
        with pytest.raises(SchemaUnknown):
            known.by_id(999)
        return "asked"

    with ThreadPoolExecutor(16) as pool:
        assert len([f.result() for f in [pool.submit(ask) for _ in range(16)]]) == 16
    assert server.calls == {"/schemas/ids/999": 1}


def test_unknown_and_refused_are_different(server: TestRegistry, client: Callable[..., ConfluentRegistry]) -> None:
    """404 with the protocol's code is permanent; other answers say that nothing is known about the schema (RG-05)."""
    known = client(server.url)
    with pytest.raises(SchemaUnknown, match=r"knows no schemas/ids/5: Schema 5 not found"):
        known.by_id(5)
    with pytest.raises(SchemaUnknown, match=r"Subject 'no-value' not found"):
        known.latest("no-value")
    for status in (400, 401, 403, 404, 302):
        server.fail(status)
        with pytest.raises(SchemaUnavailable, match=f"refuses \\(status {status}\\)"):
            known.by_id(6)
    with pytest.raises(SchemaUnavailable, match="status 404"):
        client(server.url + "/wrong").by_id(7)
    assert sum(server.calls.values()) == 8


def test_what_may_pass_is_retried(server: TestRegistry, client: Callable[..., ConfluentRegistry]) -> None:
    """503 twice, a reset, 429: the answer comes all the same; too many of them are no answer, and no bad one is kept (RG-05)."""
    server.add("t-value", '"long"', schema_id=7)
    known = client(server.url)
    server.fail(503, RESET, 429)
    assert known.by_id(7).text == '"long"'
    server.add("t-value", '"int"', schema_id=8)
    server.fail(*[500] * ATTEMPTS)
    with pytest.raises(SchemaUnavailable, match="gives no answer: status 500"):
        known.by_id(8)

    assert known.by_id(8).text == '"int"'
    assert server.calls["/schemas/ids/8"] == ATTEMPTS + 1


def test_a_registry_that_goes_and_comes_back(client: Callable[..., ConfluentRegistry]) -> None:
    """What was answered is known while it is away; the rest is unavailable until it is back."""
    server = TestRegistry()
    server.add("t-value", '"long"', schema_id=7)
    known = client(server.url)
    known.by_id(7)
    port = int(server.url.rpartition(":")[2])
    server.close()
    assert known.by_id(7).text == '"long"'
    with pytest.raises(SchemaUnavailable, match=r"127\.0\.0\.1.*gives no answer"):
        known.by_id(8)
    with TestRegistry(port=port) as again:
        again.add("t-value", '"int"', schema_id=8)
        assert known.by_id(8).text == '"int"'


def test_a_server_that_never_answers(client: Callable[..., ConfluentRegistry]) -> None:
    """The time-out is an option; a server that takes the connection and says nothing is unavailable."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        known = client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout="50 ms")
        with pytest.raises(SchemaUnavailable, match="ReadTimeout"):
            known.by_id(1)


def test_answers_that_make_no_sense(server: TestRegistry, client: Callable[..., ConfluentRegistry], monkeypatch: pytest.MonkeyPatch) -> None:
    """No schema in the answer, or more of it than fits, is no answer about the schema."""
    with pytest.raises(SchemaUnavailable, match="holds no schema"):
        client(server.url)._schema({}, "/x", None, (), {})
    with pytest.raises(SchemaUnavailable, match="holds no schema"):
        client(server.url)._schema({"schema": "{}", "references": [{"name": "n"}]}, "/x", None, (), {})
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 1000)
    server.add("t-value", '"' + "x" * 2000 + '"', schema_id=7)
    with pytest.raises(SchemaUnavailable, match="larger than 1000 bytes"):
        client(server.url).by_id(7)


def test_credentials_are_sent_and_never_shown(server: TestRegistry, client: Callable[..., ConfluentRegistry]) -> None:
    """User and password from the option or the URL, or a bearer token; no message holds them."""
    inside = server.url.replace("http://", "http://me:geheim@")
    for known in (client(server.url, basic_auth__user_info="me:geheim"), client(inside), client(server.url, bearer_auth__token="geheim")):
        server.fail(401)
        with pytest.raises(SchemaUnavailable) as caught:
            known.by_id(1)
        assert "geheim" not in f"{caught.value} {caught.value!r}"

    assert server.authorization == ["Basic bWU6Z2VoZWlt", "Basic bWU6Z2VoZWlt", "Bearer geheim"]
    assert bare_url("https://u:p@h:1/x?secret=1#f") == "https://h:1/x"
    assert "geheim" not in repr(read_options({"basic-auth.user-info": "me:geheim", "bearer-auth.token": "geheim"}))


def test_urls_that_are_none(client: Callable[..., ConfluentRegistry]) -> None:
    """Refused before anything is asked."""
    for url in ("localhost:8081", "ftp://h/", "http://", "//h"):
        with pytest.raises(UserError, match="is no URL of a schema registry"):
            client(url)


def test_references_are_fetched_to_the_bottom(server: TestRegistry, client: Callable[..., ConfluentRegistry]) -> None:
    """A diamond asks for each version once; a cycle is an error that shows it (RG-07)."""
    server.add("address", '"a"')
    for name in ("order", "invoice"):
        server.add(name, f'"{name}"', references=(("Address", "address", 1),))
    root = server.add("root", '"r"', references=(("Order", "order", 1), ("Invoice", "invoice", 1)))
    found = client(server.url).by_id(root.id)

    assert [(name, s.text, [n for n, _ in s.references]) for name, s in found.references] == [("Order", '"order"', ["Address"]), ("Invoice", '"invoice"', ["Address"])]
    assert found.references[0][1].references[0][1] is found.references[1][1].references[0][1]
    assert server.calls["/subjects/address/versions/1"] == 1
    server.add("x", '"x"', references=(("Y", "y", 1),))
    server.add("y", '"y"', references=(("X", "x", 1),))
    with pytest.raises(SchemaUnknown, match=r"cycle: x version 1 -> y version 1 -> x version 1|cycle: y version 1 -> x version 1 -> y version 1"):
        client(server.url).latest("x")


def test_schemas_are_registered(server: TestRegistry, client: Callable[..., ConfluentRegistry]) -> None:
    """The id comes back, the same for the same text; for test and quickstart data."""
    known = client(server.url)
    first = known.register("t-value", RegisteredSchema("", "AVRO", '"long"'))

    assert known.register("t-value", RegisteredSchema("", "AVRO", '"long"')) == first
    assert known.by_id(first).text == '"long"'


def test_a_closed_client(server: TestRegistry, client: Callable[..., ConfluentRegistry]) -> None:
    """It answers from what it knows."""
    server.add("t-value", '"long"', schema_id=7)
    known = client(server.url)
    known.by_id(7)
    known.close()

    assert known.by_id(7).text == '"long"'
    with pytest.raises(SchemaUnavailable, match="closed"):
        known.by_id(8)
