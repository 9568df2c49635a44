# ruff: noqa: PLR2004, PLR0911, PLR0912, C901 - the numbers are bytes and bit positions
"""Tags, lengths and varints of Protobuf, and what is passed over. A fault is a negative position: minus its code.

All functions: ``src`` uint8[] in; nothing is read beyond ``end``. Never allocates or raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels.bits import ctz, sevens
from thalweg.kernels.jit import apart, inline
from thalweg.kernels.memory import HIGH, U, ld64, rd
from thalweg.kernels.program import DEPTH, MALFORMED
from thalweg.kernels.protobuf_ops import MAX_LEVELS, T_FIRST, T_MORE, T_SIZE

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int, Longs, Words

MOST_TAG = (1 << 32) - 1
MOST_LENGTH = (1 << 31) - 1


@inline
def number(src: Bytes, p: Int, end: Int) -> tuple[Int, Int]:
    """``(64 bits, next position)`` of a varint of at most ten bytes."""
    if p < end:
        b = rd(src, p)
        if b < 128:
            return b, p + 1
        if p + 8 <= end:
            w = ld64(src, p)
            m = ~w & HIGH
            if m != U(0):
                return np.int64(sevens(w & (m ^ (m - U(1))))), p + (ctz(m) >> 3) + 1
    return long_number(src, p, end)


@apart
def any_number(src: Bytes, p: Int, end: Int) -> tuple[Int, Int]:
    """:func:`number`, for rare places: it is compiled once."""
    return number(src, p, end)


@apart
def long_number(src: Bytes, p: Int, end: Int) -> tuple[Int, Int]:
    """:func:`number`, byte by byte; bits beyond 64 are dropped."""
    r = U(0)
    for j in range(10):
        if p >= end:
            return np.int64(0), np.int64(-MALFORMED)
        b = rd(src, p)
        p += 1
        r |= U(b & 127) << U(7 * j)
        if b < 128:
            return np.int64(r), np.int64(p)
    return np.int64(0), np.int64(-MALFORMED)


@apart
def short_number(src: Bytes, p: Int, end: Int) -> tuple[Int, Int]:
    """A tag or a length of at most five bytes and 32 bits."""
    r = np.int64(0)
    for j in range(5):
        if p >= end:
            return np.int64(0), np.int64(-MALFORMED)
        b = rd(src, p)
        p += 1
        r |= (b & 127) << np.int64(7 * j)
        if b < 128:
            if r > MOST_TAG:
                return np.int64(0), np.int64(-MALFORMED)
            return r, np.int64(p)
    return np.int64(0), np.int64(-MALFORMED)


@inline
def read_tag(src: Bytes, p: Int, end: Int) -> tuple[Int, Int]:
    """``(tag, next position)``; needs ``p < end``."""
    tag = rd(src, p)
    if tag < 128:
        return tag, p + 1
    return long_tag(src, p, end)


@inline
def long_tag(src: Bytes, p: Int, end: Int) -> tuple[Int, Int]:
    """:func:`read_tag` of more than one byte."""
    if p + 1 < end and rd(src, p + 1) < 128:
        return (rd(src, p) & 127) | rd(src, p + 1) << np.int64(7), p + 2
    return short_number(src, p, end)


@inline
def read_length(src: Bytes, p: Int, end: Int) -> tuple[Int, Int]:
    """``(length, next position)`` of delimited bytes that lie before ``end``."""
    n = np.int64(0)
    if p < end and rd(src, p) < 128:
        n = rd(src, p)
        p += 1
    else:
        n, p = short_number(src, p, end)
    if p >= 0 and n > end - p:
        p = np.int64(-MALFORMED)
    return n, p


@inline
def find(table: Words, tb: Int, tag: Int, aux: Longs) -> Int:
    """The program row of a tag; 0 for a field that is not known."""
    if tag < table[U(tb - T_SIZE)]:
        return np.int64(table[U(tb + tag)])
    if table[U(tb - T_MORE)] == 0:
        return np.int64(0)
    return far(table, tb, tag, aux)


@apart
def far(table: Words, tb: Int, tag: Int, aux: Longs) -> Int:
    """:func:`find` for a large tag."""
    low = np.int64(0)
    high = np.int64(table[U(tb - T_MORE)])
    first = np.int64(table[U(tb - T_FIRST)])
    while low < high:
        m = (low + high) >> np.int64(1)
        if aux[U(first + 2 * m)] < tag:
            low = m + 1
        else:
            high = m
    if low < table[U(tb - T_MORE)] and aux[U(first + 2 * low)] == tag:
        return aux[U(first + 2 * low + 1)]
    return np.int64(0)


@apart
def skip(src: Bytes, p: Int, end: Int, tag: Int, level: Int, groups: Longs) -> Int:
    """Passes over the field whose tag was read, which has a number of at least 1: the next position."""
    kind = tag & 7
    if tag < 8:
        p = np.int64(-MALFORMED)
    elif kind == 0:
        _, p = any_number(src, p, end)
    elif kind == 2:
        n, p = read_length(src, p, end)
        if p >= 0:
            p += n
    elif kind == 1 or kind == 5:  # noqa: PLR1714 - one comparison each is what Numba makes of it
        p += 8 if kind == 1 else 4
        if p > end:
            p = np.int64(-MALFORMED)
    else:
        p = skip_group(src, p, end, tag, level, groups)
    return p


@apart
def skip_group(src: Bytes, p: Int, end: Int, tag: Int, level: Int, groups: Longs) -> Int:
    """Passes over a group and what lies in it; ``groups`` int64[MAX_LEVELS] scratch."""
    depth = np.int64(0)
    while True:
        kind = tag & 7
        if tag < 8:
            return np.int64(-MALFORMED)
        if kind == 3:
            if level + depth >= MAX_LEVELS:
                return np.int64(-DEPTH)
            groups[U(depth)] = tag >> np.int64(3)
            depth += 1
        elif kind == 4:
            if depth == 0 or groups[U(depth - 1)] != tag >> np.int64(3):
                return np.int64(-MALFORMED)
            depth -= 1
            if depth == 0:
                return p
        elif kind > 5:
            return np.int64(-MALFORMED)
        elif kind == 0:
            _, p = any_number(src, p, end)
        elif kind == 2:
            n, p = read_length(src, p, end)
            if p >= 0:
                p += n
        else:
            p += 8 if kind == 1 else 4
        if p < 0:
            return p
        if p >= end:
            return np.int64(-MALFORMED)
        tag, p = read_tag(src, p, end)
        if p < 0:
            return p
