"""A server for tests that answers what it was told to, on the loopback address, and keeps every request."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """What it gets: bytes, text, or JSON of anything else."""

    status: int = 200
    body: Any = b""
    headers: tuple[tuple[str, str], ...] = ()


class HttpAnswers:
    """The server; use it as a context manager. Thread-safe."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        """``answer`` is called for each request, on the request's thread."""
        self.requests: list[Request] = []
        self._answer, self._lock = answer, threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="test answers", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def calls(self) -> Counter[str]:
        """How often each path was asked for."""
        with self._lock:
            return Counter(r.path for r in self.requests)

    def reply(self, request: Request) -> Reply:
        """Keep the request, find its answer."""
        with self._lock:
            self.requests.append(request)
        return self._answer(request)

    def __enter__(self) -> Self:
        """The running server."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop it."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    owner: HttpAnswers

    def do_GET(self) -> None:
        """Answer."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        reply = self.owner.reply(Request(self.command, self.path, dict(self.headers.items()), body))
        data = reply.body if isinstance(reply.body, bytes) else (reply.body if isinstance(reply.body, str) else json.dumps(reply.body)).encode()
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET  # noqa: N815 - the base class finds methods by these names

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""
