"""A connected socket to a broker, encrypted where it has to be."""

from __future__ import annotations

import socket
import ssl
import time

from thalweg.native.rdkafka import Unproved


class LinkFailed(Exception):
    """The connection is of no use any more, or never was; says why, without secrets."""


def dial(host: str, port: int, tls: ssl.SSLContext | None, deadline: float) -> socket.socket:
    """Connect before ``deadline`` on the monotonic clock; raises LinkFailed, or Unproved where TLS will never be agreed on."""
    name = f"{host}:{port}"
    sock = _connected(host, port, name, deadline)
    if tls is None:
        return sock
    try:
        return _encrypted(sock, host, tls, name, deadline)
    except BaseException:
        sock.close()
        raise


def _connected(host: str, port: int, name: str, deadline: float) -> socket.socket:
    """A connection to the first address that takes one."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as e:
        raise LinkFailed(f"{name}: the broker's name is not known: {e}") from None
    reason: OSError | str = "no address"
    for family, kind, protocol, _, address in found:
        left = deadline - time.monotonic()
        if left <= 0:
            reason = "no time is left"
            break
        try:
            sock = socket.socket(family, kind, protocol)
        except OSError as e:
            reason = e
            continue
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.settimeout(left)
            sock.connect(address)
        except OSError as e:
            sock.close()
            reason = e
        else:
            return sock
    raise LinkFailed(f"{name}: no connection: {reason}")


def _encrypted(sock: socket.socket, host: str, tls: ssl.SSLContext, name: str, deadline: float) -> socket.socket:
    """The connection behind TLS. What we cannot agree on with a broker, the client may."""
    sock.settimeout(max(deadline - time.monotonic(), 0.001))
    try:
        return tls.wrap_socket(sock, server_hostname=host)
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
        raise LinkFailed(f"{name}: the broker closed the connection instead of encrypting it") from None
    except ssl.SSLError as e:
        raise Unproved(f"no encryption with {name}: {e.reason}") from None
    except OSError as e:
        raise LinkFailed(f"{name}: the connection broke before it was encrypted: {e.strerror or e}") from None
