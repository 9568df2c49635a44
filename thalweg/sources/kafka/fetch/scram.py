"""SCRAM with SHA-256 or SHA-512, the client's side (RFC 5802, RFC 7677): no channel binding, names and passwords in ASCII."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Final

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_ITERATIONS: Final = range(4096, 1_000_001)
"""Fewer are weaker than the standard allows; more would keep us busy for as long as a false broker likes."""
_NO_BINDING: Final = b"n,,"


class ScramFailed(Exception):
    """The broker is not who it should be, does not know the user, or does not keep to the protocol."""


class Scram:
    """One authentication: ``first``, then ``final``, then ``verify``."""

    def __init__(self, mechanism: str, username: str, password: str, nonce: str | None = None) -> None:
        """``nonce`` is made up unless a test gives one."""
        self._hash = HASHES[mechanism]
        self._password = password.encode("ascii")
        self._nonce = (nonce or secrets.token_urlsafe(24)).encode("ascii")
        name = username.replace("=", "=3D").replace(",", "=2C").encode("ascii")
        self._bare = b"n=" + name + b",r=" + self._nonce
        self._signature = b""

    def first(self) -> bytes:
        """What the client says first."""
        return _NO_BINDING + self._bare

    def final(self, server_first: bytes) -> bytes:
        """The proof that we know the password, for what the server has answered to ``first``; raises ScramFailed."""
        nonce, salt, iterations = self._challenge(server_first)
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, iterations)
        client_key = self._mac(salted, b"Client Key")
        stored = hashlib.new(self._hash, client_key).digest()
        unproved = b"c=" + base64.b64encode(_NO_BINDING) + b",r=" + nonce
        signed = b",".join((self._bare, server_first, unproved))
        proof = bytes(a ^ b for a, b in zip(client_key, self._mac(stored, signed), strict=True))
        self._signature = self._mac(self._mac(salted, b"Server Key"), signed)
        return unproved + b",p=" + base64.b64encode(proof)

    def verify(self, server_final: bytes) -> None:
        """Whether the server knows the password too; raises ScramFailed."""
        fields = _fields(server_final)
        if "e" in fields:
            raise ScramFailed(f"the broker says {fields['e'].decode(errors='replace')[:200]}")
        if not self._signature or not hmac.compare_digest(_decoded(fields.get("v", b"")), self._signature):
            raise ScramFailed("the broker's signature is wrong")

    def _challenge(self, server_first: bytes) -> tuple[bytes, bytes, int]:
        """Nonce, salt and iterations that the server has chosen."""
        fields = _fields(server_first)
        if "e" in fields:
            raise ScramFailed(f"the broker says {fields['e'].decode(errors='replace')[:200]}")
        nonce, salt, count = fields.get("r", b""), _decoded(fields.get("s", b"")), fields.get("i", b"")
        if "m" in fields:
            raise ScramFailed("the broker wants an extension")
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise ScramFailed("the broker's nonce is wrong")
        if not salt:
            raise ScramFailed("the broker sends no salt")
        if not count.isdigit() or len(count) > len(str(_ITERATIONS.stop)) or int(count) not in _ITERATIONS:
            raise ScramFailed(f"the broker wants less than {_ITERATIONS.start} or more than {_ITERATIONS.stop - 1} iterations")
        return nonce, salt, int(count)

    def _mac(self, key: bytes, data: bytes) -> bytes:
        """HMAC."""
        return hmac.digest(key, data, self._hash)


def _fields(message: bytes) -> dict[str, bytes]:
    """The values of a message by their letters; anything else is left out."""
    parts = (part.partition(b"=") for part in message.split(b","))
    return {letter.decode(errors="replace"): value for letter, equals, value in parts if equals}


def _decoded(data: bytes) -> bytes:
    """Bytes behind base64; empty where they are none."""
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        return b""
