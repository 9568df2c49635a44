"""A schema registry for tests: Confluent's protocol over HTTP on the loopback address, with faults on demand and counted calls."""

from __future__ import annotations

import json
import socket
import struct
import threading
import uuid
from collections import Counter
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from types import TracebackType

RESET: Final = 0
"""A fault that is no status: the connection is reset."""
_OK, _NOT_FOUND, _BAD_REQUEST = 200, 404, 422
_NO_SUBJECT, _NO_VERSION, _NO_SCHEMA = 40401, 40402, 40403
_ID_PATH, _VERSION_PATH, _REGISTER_PATH = 3, 4, 3


@dataclass(frozen=True, slots=True)
class Stored:
    """A schema as the registry keeps it."""

    id: int
    guid: str
    kind: str
    text: str
    references: tuple[tuple[str, str, int], ...]
    """``(name, subject, version)``."""

    def answer(self) -> dict[str, Any]:
        """What the protocol says about it; AVRO is left out, as registries do."""
        out: dict[str, Any] = {"id": self.id, "guid": self.guid, "schema": self.text}
        if self.kind != "AVRO":
            out["schemaType"] = self.kind
        if self.references:
            out["references"] = [{"name": n, "subject": s, "version": v} for n, s, v in self.references]
        return out


class TestRegistry:
    """The server; use it as a context manager. Thread-safe."""

    __test__ = False

    def __init__(self, base: str = "", port: int = 0) -> None:
        """Listen on ``port``, by default a free one; ``base`` is the path before the protocol's own, such as ``/apis/ccompat/v7``."""
        self.base = base
        self.calls: Counter[str] = Counter()
        """How often each path was asked for, without the base."""
        self.authorization: list[str | None] = []
        """The Authorization header of each request."""
        self.lock = threading.Lock()
        self._schemas: dict[int, Stored] = {}
        self._subjects: dict[str, list[Stored]] = {}
        self._faults: list[tuple[str, int]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._closed = False
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="test registry", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.base}"

    def __enter__(self) -> Self:
        """The running server."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop it."""
        self.close()

    def close(self) -> None:
        """Stop answering: open connections are reset, new ones refused."""
        self._closed = True
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def add(
        self, subject: str, schema: object, *, schema_id: int | None = None, kind: str = "AVRO", references: tuple[tuple[str, str, int], ...] = ()
    ) -> Stored:
        """Store a new version of a subject; ``schema`` is text or becomes JSON."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        with self.lock:
            known = next((s for s in self._schemas.values() if (s.text, s.kind, s.references) == (text, kind, references)), None)
            if known is None or (schema_id is not None and known.id != schema_id):
                number = schema_id if schema_id is not None else max(self._schemas, default=0) + 1
                known = self._schemas[number] = Stored(number, str(uuid.uuid4()), kind, text, references)
            versions = self._subjects.setdefault(subject, [])
            if known not in versions:
                versions.append(known)
            return known

    def fail(self, *statuses: int, path: str = "") -> None:
        """The next requests whose path begins with ``path`` get these statuses, one each; RESET cuts the connection."""
        with self.lock:
            self._faults += [(path, status) for status in statuses]

    def mend(self) -> None:
        """No more faults."""
        with self.lock:
            self._faults.clear()

    def fault(self, path: str) -> int | None:
        """The fault for a request, taken off the list; counts the call."""
        if self._closed:
            return RESET
        with self.lock:
            self.calls[path] += 1
            for at, (prefix, status) in enumerate(self._faults):
                if path.startswith(prefix):
                    del self._faults[at]
                    return status
        return None

    def find(self, path: str) -> tuple[int, dict[str, Any]]:
        """Status and answer of a GET."""
        parts = [unquote(p) for p in path.strip("/").split("/")]
        with self.lock:
            if parts[0] == "schemas" and len(parts) == _ID_PATH:
                found = next((s for s in self._schemas.values() if parts[2] == (str(s.id) if parts[1] == "ids" else s.guid)), None)
                return (_OK, found.answer()) if found else (_NOT_FOUND, _error(_NO_SCHEMA, f"Schema {parts[2]} not found"))
            if parts[0] == "subjects" and len(parts) == _VERSION_PATH:
                return self._version(parts[1], parts[3])
            if parts == ["subjects"]:
                return _OK, {"subjects": sorted(self._subjects)}
        return _NOT_FOUND, _error(_NOT_FOUND, "HTTP 404 Not Found")

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and answer of a POST: registers a schema."""
        parts = [unquote(p) for p in path.strip("/").split("/")]
        if parts[0] != "subjects" or len(parts) != _REGISTER_PATH or not isinstance(body.get("schema"), str):
            return _BAD_REQUEST, _error(_BAD_REQUEST, "no schema")
        references = tuple((r["name"], r["subject"], r["version"]) for r in body.get("references", ()))
        return _OK, {"id": self.add(parts[1], body["schema"], kind=body.get("schemaType", "AVRO"), references=references).id}

    def _version(self, subject: str, version: str) -> tuple[int, dict[str, Any]]:
        """One version of a subject, or its newest."""
        versions = self._subjects.get(subject)
        if not versions:
            return _NOT_FOUND, _error(_NO_SUBJECT, f"Subject '{subject}' not found.")
        number = len(versions) if version == "latest" else int(version)
        if not 1 <= number <= len(versions):
            return _NOT_FOUND, _error(_NO_VERSION, f"Version {version} not found.")
        return _OK, {"subject": subject, "version": number, **versions[number - 1].answer()}


def _error(code: int, message: str) -> dict[str, Any]:
    """An error as the protocol says it."""
    return {"error_code": code, "message": message}


def _handler(registry: TestRegistry) -> type[BaseHTTPRequestHandler]:
    """A request handler that answers for ``registry``."""

    class Handler(BaseHTTPRequestHandler):
        """One connection."""

        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Look something up."""
            self._answer(registry.find)

        def do_POST(self) -> None:
            """Register a schema."""
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
            self._answer(lambda path: registry.post(path, body))

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
            """Say nothing."""

        def _answer(self, ask: Any) -> None:  # noqa: ANN401 - one of the two methods
            """A fault, or what the registry says."""
            path = urlsplit(self.path).path
            registry.authorization.append(self.headers.get("Authorization"))
            if not path.startswith(registry.base + "/"):
                self._send(_NOT_FOUND, b"<html>nothing here</html>")
                return
            inside = path[len(registry.base):]
            fault = registry.fault(inside)
            if fault == RESET:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
                return
            status, answer = (fault, _error(fault, "a fault on demand")) if fault else ask(inside)
            self._send(status, json.dumps(answer).encode())

        def _send(self, status: int, data: bytes) -> None:
            """One answer."""
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
