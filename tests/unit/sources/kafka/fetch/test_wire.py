"""The small messages of a connection's start: exact bytes out, checked bytes in."""

from __future__ import annotations

import struct

import pytest

from thalweg.sources.kafka.fetch import wire


def test_a_request_is_framed() -> None:
    """Size, key, version, correlation id and client id stand before the body."""
    found = wire.frame(18, 0, 7, "twg", b"body")

    assert found == struct.pack(">ihhih", 8 + 5 + 4, 18, 0, 7, 3) + b"twgbody"


def test_bodies_have_their_length_in_front() -> None:
    """Two bytes of it for a string, four for bytes."""
    assert wire.text("PLAIN") == b"\0\5PLAIN"
    assert wire.sized(b"abc") == b"\0\0\0\3abc"


def test_versions_are_known_by_key() -> None:
    """Each request has its first and last version."""
    data = struct.pack(">hi", 0, 2) + struct.pack(">hhh", 1, 4, 18) + struct.pack(">hhh", 18, 0, 4)

    assert wire.api_versions(data) == (0, {1: (4, 18), 18: (0, 4)})


def test_a_handshake_names_mechanisms() -> None:
    """The error code comes with what the broker would take."""
    data = struct.pack(">hi", 33, 2) + b"\0\5PLAIN" + b"\0\x0dSCRAM-SHA-256"

    assert wire.sasl_handshake(data) == (33, ["PLAIN", "SCRAM-SHA-256"])


@pytest.mark.parametrize(("data", "found"), [
    (struct.pack(">hhi", 0, -1, 2) + b"ok" + struct.pack(">q", 9000), (0, "", b"ok", 9000)),
    (struct.pack(">hh", 58, 2) + b"no" + struct.pack(">i", -1) + bytes(8), (58, "no", b"", 0)),
])
def test_a_step_may_have_no_words_or_no_data(data: bytes, found: tuple[int, str, bytes, int]) -> None:
    """Missing words and missing data are empty."""
    assert wire.sasl_authenticate(data) == found


@pytest.mark.parametrize("data", [b"", b"\0", struct.pack(">hi", 0, 1), struct.pack(">hi", 0, 1) + b"\0\5PLA", struct.pack(">hi", 0, 1 << 30)])
def test_short_answers_are_refused(data: bytes) -> None:
    """No decoder reads past the end, whatever a count says."""
    for decode in (wire.api_versions, wire.sasl_handshake, wire.sasl_authenticate):
        with pytest.raises(ValueError, match="too short"):
            decode(data)
