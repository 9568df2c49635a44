"""Words, copies, varints and UTF-8: equal to Python's own, and never a byte beyond the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.kernels.jit import kernel
from thalweg.kernels.memory import Bytes, Int, Longs, U, copy, high_bits, put_varint, unzigzag, utf8_fault, varint, zigzag


@kernel
def read_varint(src: Bytes, p: Int, end: Int, out: Longs) -> None:
    """``out`` becomes the value, its zigzag reading and the next position."""
    v, q = varint(src, p, end)
    out[0] = v
    out[1] = unzigzag(v)
    out[2] = q


@kernel
def write_varint(dst: Bytes, d: Int, v: Int) -> Int:
    """A zigzag varint."""
    return put_varint(dst, d, zigzag(v))


@kernel
def copy_text(src: Bytes, p: Int, n: Int, end: Int, dst: Bytes, d: Int, out: Longs) -> None:
    """``out`` becomes whether there was a byte that is not ASCII, twice, and where UTF-8 breaks."""
    out[0] = copy(src, p, n, end, dst, d) != U(0)
    out[1] = high_bits(src, p, n) != U(0)
    out[2] = utf8_fault(src, p, p + n)


def varint_of(value: int) -> bytes:
    """The slow obvious twin."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def first_fault(text: bytes, start: int) -> int:
    """Where Python finds that text is no UTF-8; -1 where it is."""
    try:
        text.decode()
    except UnicodeDecodeError as e:
        return start + e.start
    return -1


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1), st.binary(max_size=12), st.binary(max_size=5))
def test_varints_are_read(value: int, after: bytes, before: bytes) -> None:
    """Every 64-bit value is read and its length known, whatever lies around it."""
    raw = varint_of(value)
    src = np.frombuffer(before + raw + after, np.uint8)
    out = np.zeros(3, np.int64)

    read_varint(src, len(before), len(src), out)

    assert int(out[0]) & 0xFFFFFFFFFFFFFFFF == value
    assert int(out[1]) == (value >> 1) ^ -(value & 1)
    assert out[2] == len(before) + len(raw)


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 9))
def test_varints_that_end_early_are_refused(value: int, kept: int) -> None:
    """A varint whose last bytes are missing has no value (AV-03)."""
    raw = varint_of(value)[:-1][:kept]
    out = np.zeros(3, np.int64)

    read_varint(np.frombuffer(raw + b"\1" * 9, np.uint8), 0, len(raw), out)

    assert out[2] == -1


@pytest.mark.parametrize("raw", ["ff" * 9 + "02", "ff" * 10 + "01", "80" * 10, "80" * 9 + "7f"])
def test_varints_of_more_than_64_bits_are_refused(raw: str) -> None:
    """Ten bytes and 64 bits are the most (AV-03)."""
    out = np.zeros(3, np.int64)

    read_varint(np.frombuffer(bytes.fromhex(raw) + bytes(9), np.uint8), 0, len(raw) // 2 + 9, out)

    assert out[2] == -1


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1))
def test_varints_round_trip(value: int) -> None:
    """What is written is the zigzag varint of the value."""
    dst = np.zeros(16, np.uint8)

    end = write_varint(dst, 3, value)

    assert dst[3:end].tobytes() == varint_of((value << 1 ^ value >> 63) & 0xFFFFFFFFFFFFFFFF)


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode)), st.binary(max_size=9), st.binary(max_size=9))
def test_copies_are_exact(text: bytes, before: bytes, after: bytes) -> None:
    """The copy is exact, ASCII is told from the rest, and UTF-8 is valid exactly where Python says so."""
    src = np.frombuffer(before + text + after, np.uint8)
    dst, out = np.zeros(80, np.uint8), np.zeros(3, np.int64)

    copy_text(src, len(before), len(text), len(src), dst, 5, out)

    assert dst[5 : 5 + len(text)].tobytes() == text
    assert not dst[5 + len(text) + 8 :].any()
    assert bool(out[0]) is (not text.isascii())
    assert bool(out[1]) is (not text.isascii())
    assert out[2] == first_fault(text, len(before))


@pytest.mark.parametrize("raw", ["c080", "e08080", "eda080", "f0808080", "f4908080", "f5808080", "c3", "e282", "f09f98", "80", "c328"])
def test_utf8_that_python_refuses_is_refused(raw: str) -> None:
    """Overlong forms, surrogates, numbers beyond U+10FFFF and cut sequences are found at their first byte."""
    data = b"abcdefghij" + bytes.fromhex(raw)
    out = np.zeros(3, np.int64)

    copy_text(np.frombuffer(data, np.uint8), 0, len(data), len(data), np.zeros(40, np.uint8), 0, out)

    assert out[2] == 10
