# ruff: noqa: PLR2004 - the numbers are bytes and bit positions
"""Words, copies, varints and UTF-8 over byte views; every read stays inside the bounds that its caller gives.

All functions: ``src`` is uint8[n] in, ``dst`` is uint8[n] out, positions are int64. Indexes are made unsigned, so that no
code for negative ones stands between the loads and LLVM joins eight of them to one. Never allocates, raises, or reads past
the end that it is given; a fault is a negative position.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thalweg.kernels.bits import ctz, sevens
from thalweg.kernels.jit import apart, inline

Int: TypeAlias = Any
"""A machine word: int64 inside kernels, int where a kernel is tried in Python."""
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
ULongs = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

U = np.uint64
ZERO = np.int64(0)
"""Literal numbers as arguments would compile a function again."""
HIGH = U(0x8080808080808080)
ONES = U(0x0101010101010101)
LAST_SHIFT = U(63)
"""Of the tenth byte of a varint: it holds the one bit that is left of 64."""


@inline
def rd(src: Bytes, p: Int) -> Int:
    """The byte at ``p``, as int64."""
    return np.int64(src[U(p)])


@inline
def word(array: Longs, i: Int) -> Int:
    """The int64 at ``i``; shorter to compile than an index made unsigned in place."""
    return array[U(i)]


@inline
def word32(array: Words, i: Int) -> Int:
    """The int32 at ``i``, as int64."""
    return np.int64(array[U(i)])


@inline
def ld32(src: Bytes, p: Int) -> np.uint64:
    """Four bytes at ``p``, little endian, as uint64."""
    q = U(p)
    return U(src[q]) | U(src[q + U(1)]) << U(8) | U(src[q + U(2)]) << U(16) | U(src[q + U(3)]) << U(24)


@inline
def ld64(src: Bytes, p: Int) -> np.uint64:
    """Eight bytes at ``p``, little endian."""
    q = U(p)
    return (
        U(src[q]) | U(src[q + U(1)]) << U(8) | U(src[q + U(2)]) << U(16) | U(src[q + U(3)]) << U(24)
        | U(src[q + U(4)]) << U(32) | U(src[q + U(5)]) << U(40) | U(src[q + U(6)]) << U(48) | U(src[q + U(7)]) << U(56)
    )  # fmt: skip


@inline
def st32(dst: Bytes, p: Int, w: np.uint64) -> None:
    """Four bytes to ``p``, little endian."""
    q = U(p)
    dst[q] = np.uint8(w & U(255))
    dst[q + U(1)] = np.uint8(w >> U(8) & U(255))
    dst[q + U(2)] = np.uint8(w >> U(16) & U(255))
    dst[q + U(3)] = np.uint8(w >> U(24) & U(255))


@inline
def st64(dst: Bytes, p: Int, w: np.uint64) -> None:
    """Eight bytes to ``p``, little endian."""
    st32(dst, p, w)
    st32(dst, p + 4, w >> U(32))


@inline
def copy(src: Bytes, p: Int, n: Int, end: Int, dst: Bytes, d: Int) -> np.uint64:
    """Copies ``src[p : p + n]`` to ``dst[d:]``, word by word; up to 8 bytes after the copy are overwritten too.

    Reads ``src[p:end]`` at most, with ``p + n <= end``. Returns a word that is 0 when every byte was ASCII.
    """
    if n >= 8:
        w = ld64(src, p)
        st64(dst, d, w)
        j = 8
        while j + 8 <= n:
            x = ld64(src, p + j)
            st64(dst, d + j, x)
            w |= x
            j += 8
        if j < n:
            x = ld64(src, p + n - 8)
            st64(dst, d + n - 8, x)
            w |= x
        return w & HIGH
    if p + 8 <= end:
        w = ld64(src, p)
        st64(dst, d, w)
        return w & HIGH & ((U(1) << U(8 * n)) - U(1))
    w = U(0)
    for j in range(n):
        dst[U(d + j)] = src[U(p + j)]
        w |= U(src[U(p + j)])
    return w & HIGH


@inline
def high_bits(src: Bytes, p: Int, n: Int) -> np.uint64:
    """A word that is 0 when ``src[p : p + n]`` is ASCII; what :func:`copy` returns, without the copy."""
    w = U(0)
    j = 0
    while j + 8 <= n:
        w |= ld64(src, p + j)
        j += 8
    while j < n:
        w |= U(src[U(p + j)])
        j += 1
    return w & HIGH


@inline
def varint(src: Bytes, p: Int, end: Int) -> tuple[Int, Int]:
    """``(value, next position)`` of a varint of at most ten bytes and 64 bits at ``p``; the position is -1 when there is none."""
    if p < end:
        b = rd(src, p)
        if b < 128:
            return b, p + 1
    return long_varint(src, p, end)


@inline
def word_varint(src: Bytes, p: Int) -> tuple[Int, Int]:
    """:func:`varint` where at least eight bytes can be read; the position is -1 for one of more bytes too."""
    b = rd(src, p)
    if b < 128:
        return b, p + 1
    w = ld64(src, p)
    m = ~w & HIGH
    if m == U(0):
        return np.int64(0), np.int64(-1)
    # What comes next waits for the position, so that is made in few steps of its own.
    return np.int64(sevens(w & (m ^ (m - U(1))))), p + (ctz(m) >> 3) + 1


@apart
def long_varint(src: Bytes, p: Int, end: Int) -> tuple[Int, Int]:
    """:func:`varint`, byte by byte."""
    r = U(0)
    shift = U(0)
    while p < end:
        b = rd(src, p)
        p += 1
        r |= U(b & 127) << shift
        if b < 128:
            if shift == LAST_SHIFT and b > 1:
                break
            return np.int64(r), np.int64(p)
        if shift == LAST_SHIFT:
            break
        shift += U(7)
    return np.int64(0), np.int64(-1)


@inline
def unzigzag(v: Int) -> Int:
    """0, 1, 2, 3 ... to 0, -1, 1, -2 ..."""
    u = U(v)
    return np.int64(u >> U(1)) ^ -np.int64(u & U(1))


@inline
def zigzag(v: Int) -> np.uint64:
    """0, -1, 1, -2 ... to 0, 1, 2, 3 ..."""
    return U((np.int64(v) << np.int64(1)) ^ (np.int64(v) >> np.int64(63)))


@inline
def put_varint(dst: Bytes, d: Int, v: np.uint64) -> Int:
    """Writes ``v`` as a varint to ``d``, at most ten bytes; returns the position after it."""
    while v > U(127):
        dst[U(d)] = np.uint8(v & U(127) | U(128))
        v = v >> U(7)
        d += 1
    dst[U(d)] = np.uint8(v)
    return d + 1


@apart
def utf8_fault(src: Bytes, p: Int, end: Int) -> Int:
    """Position of the first byte in ``src[p:end]`` that begins no well-formed UTF-8 sequence, -1 when there is none."""
    while p < end:
        if p + 8 <= end and ld64(src, p) & HIGH == U(0):
            p += 8
            continue
        a = rd(src, p)
        if a < 128:
            p += 1
            continue
        n = 1 if a < 0xE0 else (2 if a < 0xF0 else 3)
        if a < 0xC2 or a > 0xF4 or p + n >= end:
            return p
        b = rd(src, p + 1)
        if b & 0xC0 != 0x80 or (a == 0xE0 and b < 0xA0) or (a == 0xED and b > 0x9F) or (a == 0xF0 and b < 0x90) or (a == 0xF4 and b > 0x8F):
            return p
        for j in range(2, n + 1):
            if rd(src, p + j) & 0xC0 != 0x80:
                return p
        p += n + 1
    return np.int64(-1)
