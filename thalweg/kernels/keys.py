# ruff: noqa: SIM110 - Numba knows no all()
"""Whether a map's text keys repeat: by comparing a few, by hashing many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels.jit import apart, inline
from thalweg.kernels.memory import U, ld64, rd

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int, Words

FEW = 8
FACTOR = U(0x9E3779B97F4A7C15)
"""Spreads bits over a word."""


@apart
def repeats(h8: Bytes, h32: Words, offs: Int, data: Int, first: Int, end: Int, seen: Words) -> bool:
    """Whether two of the keys in slots ``first`` to ``end`` (without it) of a BYTES column are equal, or may be.

    Keys that were chosen to collide end the search early with True: the slow path hashes with a secret.

    ``h8`` uint8[] and ``h32`` int32[] in: views of the arena; ``offs``, ``data``: addresses of the column; ``seen`` int32[m] scratch,
    m a power of two and at least twice the number of keys. Never allocates, raises, or reads past the end.
    """
    if end - first <= FEW:
        for i in range(first + 1, end):
            for j in range(first, i):
                if same(h8, h32, offs, data, i, j):
                    return True
        return False
    size = np.int64(16)
    while size < 2 * (end - first):
        size *= 2
    for j in range(size):
        seen[U(j)] = 0
    steps = np.int64(0)
    for i in range(first, end):
        at = digest(h8, h32, offs, data, i) & (size - 1)
        while seen[U(at)] != 0:
            steps += 1
            if steps > FEW * (end - first) or same(h8, h32, offs, data, i, first + seen[U(at)] - 1):
                return True
            at = (at + 1) & (size - 1)
        seen[U(at)] = np.int32(i - first + 1)
    return False


@inline
def same(h8: Bytes, h32: Words, offs: Int, data: Int, i: Int, j: Int) -> bool:
    """Whether the bytes of two slots are equal."""
    p = np.int64(h32[U(offs + i)])
    q = np.int64(h32[U(offs + j)])
    n = h32[U(offs + i + 1)] - p
    if h32[U(offs + j + 1)] - q != n:
        return False
    for x in range(n):
        if h8[U(data + p + x)] != h8[U(data + q + x)]:
            return False
    return True


@inline
def digest(h8: Bytes, h32: Words, offs: Int, data: Int, i: Int) -> Int:
    """A hash of the bytes of a slot."""
    p = data + np.int64(h32[U(offs + i)])
    end = data + np.int64(h32[U(offs + i + 1)])
    w = U(end - p)
    while p + 8 <= end:
        w = (w ^ ld64(h8, p)) * FACTOR
        w ^= w >> U(29)
        p += 8
    tail = U(0)
    while p < end:
        tail = tail << U(8) | U(rd(h8, p))
        p += 1
    w = (w ^ tail) * FACTOR
    w ^= w >> U(32)
    return np.int64(w * FACTOR >> U(40))
