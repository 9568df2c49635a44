"""Questions over HTTP: bounded in time and size, credentials only for the host that was named, certificates on both sides."""

from __future__ import annotations

import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar

import pytest

from tests.services.certificates import made_certificates
from thalweg.errors import SchemaUnavailable, UserError
from thalweg.ports.http_client import HttpClient
from thalweg.ports.http_options import HttpOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Slow(BaseHTTPRequestHandler):
    """Sends a byte every few milliseconds, or redirects, or answers."""

    seen: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        """By path."""
        self.seen.append((self.path, self.headers.get("Authorization")))
        if self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_address[1]}/stolen")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Length", "1000" if self.path == "/drip" else "2")
        self.end_headers()
        try:
            for _ in range(1000 if self.path == "/drip" else 0):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.01)
            self.wfile.write(b"{}")
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    """A running server."""
    made = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Slow,), {"seen": []}))
    made.daemon_threads = True
    thread = threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def client(server: ThreadingHTTPServer, scheme: str = "http", **options: object) -> HttpClient:
    """A client that pauses for a millisecond."""
    made = HttpOptions(**options)  # type: ignore[arg-type]
    return HttpClient(f"{scheme}://127.0.0.1:{server.server_address[1]}", made, example="http://h", wait_initial=0.001)


def test_an_answer_that_drips_is_none(server: ThreadingHTTPServer) -> None:
    """The time-out holds for the whole answer, not for each byte; the attempts are counted."""
    known = client(server, timeout_ns=60_000_000)
    began = time.monotonic()
    with pytest.raises(SchemaUnavailable, match=r"not complete after 0\.06 s|ReadTimeout"):
        known.ask("GET", "/drip")
    known.close()

    assert time.monotonic() - began < 5
    assert len(server.RequestHandlerClass.seen) == 4


def test_redirects_are_not_followed(server: ThreadingHTTPServer) -> None:
    """Another host never sees the credentials; the refusal says what to do."""
    known = client(server, user_info="me:geheim")
    answer = known.ask("GET", "/elsewhere")
    refusal = known.refusal(answer, "/elsewhere", "no message")
    known.close()

    assert answer.status == 302
    assert "it redirects" in str(refusal.hint)
    assert [path for path, _ in server.RequestHandlerClass.seen] == ["/elsewhere"]
    assert "geheim" not in f"{refusal} {refusal!r} {refusal.hint}"


def test_certificates_on_both_sides(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    """A registry that wants a client's certificate gets it; without it, or without its authority, there is no answer."""
    made_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    context.load_verify_locations(tmp_path / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    server.socket = context.wrap_socket(server.socket, server_side=True)
    ca, own = str(tmp_path / "ca.pem"), {"certificate_file": str(tmp_path / "client.pem"), "key_file": str(tmp_path / "client.key")}
    known = client(server, "https", ca_file=ca, **own)
    assert known.ask("GET", "/").good
    known.close()
    for options in ({"ca_file": ca}, own):
        stranger = client(server, "https", timeout_ns=2_000_000_000, **options)
        with pytest.raises(SchemaUnavailable, match="gives no answer"):
            stranger.ask("GET", "/")
        stranger.close()
    with pytest.raises(UserError, match="TLS files cannot be read"):
        client(server, "https", ca_file=str(tmp_path / "none.pem"))


def test_a_hastened_client_asks_nothing_twice(server: ThreadingHTTPServer) -> None:
    """What is being asked ends with its attempt, so that a stop does not wait for four; a good answer is still an answer."""
    known = client(server, timeout_ns=300_000_000)
    threading.Timer(0.1, known.hasten).start()
    began = time.monotonic()
    with pytest.raises(SchemaUnavailable):
        known.ask("GET", "/drip")
    took = time.monotonic() - began
    answer = known.ask("GET", "/good")
    known.close()

    assert took < 0.9
    assert answer.good
    assert [path for path, _ in server.RequestHandlerClass.seen].count("/drip") == 1  # type: ignore[attr-defined]
