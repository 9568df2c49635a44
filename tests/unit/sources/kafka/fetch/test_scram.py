"""SCRAM as the standards have it: their example, a slow twin, and servers that do not know the password."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from thalweg.sources.kafka.fetch.scram import Scram, ScramFailed

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def example() -> Scram:
    """The client of RFC 7677, section 3."""
    return Scram("SCRAM-SHA-256", "user", "pencil", NONCE)


def test_the_example_of_the_standard() -> None:
    """Every message is the one of RFC 7677, and the server's last one is believed."""
    scram = example()

    assert scram.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert scram.final(SERVER_FIRST) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )

    scram.verify(SERVER_FINAL)


def slow_proof(password: bytes, salt: bytes, count: int, signed: bytes) -> tuple[bytes, bytes]:
    """Proof and server signature with SHA-512, word for word as RFC 5802 writes them."""
    turn = hmac.new(password, salt + b"\0\0\0\1", hashlib.sha512).digest()
    salted = int.from_bytes(turn)
    for _ in range(count - 1):
        turn = hmac.new(password, turn, hashlib.sha512).digest()
        salted ^= int.from_bytes(turn)
    client_key, server_key = (hmac.new(salted.to_bytes(64), name, hashlib.sha512).digest() for name in (b"Client Key", b"Server Key"))
    signature = hmac.new(hashlib.sha512(client_key).digest(), signed, hashlib.sha512).digest()
    proof = (int.from_bytes(client_key) ^ int.from_bytes(signature)).to_bytes(64)
    return proof, hmac.new(server_key, signed, hashlib.sha512).digest()


def test_sha_512_is_like_the_slow_twin() -> None:
    """The larger hash gives what the formulas of RFC 5802 give."""
    scram = Scram("SCRAM-SHA-512", "al=i,ce", "wonderland", "abc")
    server_first, unproved = b"r=abcdef,s=" + base64.b64encode(b"salt") + b",i=5000", b"c=biws,r=abcdef"
    proof, signature = slow_proof(b"wonderland", b"salt", 5000, b"n=al=3Di=2Cce,r=abc," + server_first + b"," + unproved)

    assert scram.first() == b"n,,n=al=3Di=2Cce,r=abc"
    assert scram.final(server_first) == unproved + b",p=" + base64.b64encode(proof)

    scram.verify(b"v=" + base64.b64encode(signature))


def test_nonces_differ() -> None:
    """Each authentication has a nonce of its own, without a comma."""
    said = {Scram("SCRAM-SHA-256", "user", "pencil").first() for _ in range(5)}

    assert len(said) == 5
    assert all(message.count(b",") == 3 and len(message) > 40 for message in said)


@pytest.mark.parametrize(("message", "reason"), [
    (SERVER_FIRST.replace(b"rOpr", b"other"), "nonce is wrong"),
    (b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce is wrong"),
    (b"", "nonce is wrong"),
    (SERVER_FIRST.replace(b"s=W", b"s=!"), "no salt"),
    (SERVER_FIRST.replace(b"i=4096", b"i=4095"), "iterations"),
    (SERVER_FIRST.replace(b"i=4096", b"i=1000001"), "iterations"),
    (SERVER_FIRST.replace(b"i=4096", b"i=" + b"9" * 5000), "iterations"),
    (SERVER_FIRST.replace(b"i=4096", b"i=-5000"), "iterations"),
    (b"m=x," + SERVER_FIRST, "extension"),
    (b"e=unknown-user", "says unknown-user"),
])
def test_a_false_challenge(message: bytes, reason: str) -> None:
    """A challenge that a true server would not send gets no proof."""
    with pytest.raises(ScramFailed, match=reason):
        example().final(message)


@pytest.mark.parametrize(("message", "reason"), [
    (SERVER_FINAL.replace(b"6rri", b"7rri"), "signature is wrong"),
    (b"v=", "signature is wrong"),
    (b"v=\xff", "signature is wrong"),
    (b"", "signature is wrong"),
    (b"e=invalid-proof", "says invalid-proof"),
])
def test_a_false_server(message: bytes, reason: str) -> None:
    """A server that cannot sign does not know the password."""
    scram = example()
    scram.final(SERVER_FIRST)
    with pytest.raises(ScramFailed, match=reason):
        scram.verify(message)


def test_a_signature_before_the_proof() -> None:
    """Nothing is believed before we have shown our part."""
    with pytest.raises(ScramFailed, match="signature is wrong"):
        example().verify(b"v=")
