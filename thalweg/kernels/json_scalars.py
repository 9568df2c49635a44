# ruff: noqa: PLR2004, C901, PLR1714 - the numbers are bytes and digits; Numba compares faster than it looks up
"""JSON values of the main loop: text, whole numbers, doubles, booleans, NULL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels import json_ops as op_
from thalweg.kernels.bits import ctz
from thalweg.kernels.columns import nulls
from thalweg.kernels.jit import inline
from thalweg.kernels.json_skip import ALSE, TRUE
from thalweg.kernels.json_text import MINUS, QUOTE, copy_string, skip_string, special
from thalweg.kernels.memory import U, ld32, ld64, rd, st64, word
from thalweg.kernels.number import MOST_DIGITS, digits, hard_double, scan, whole
from thalweg.kernels.powers import FLOAT_TENS
from thalweg.kernels.program import MALFORMED, OK, P_COLUMN, P_DATA, P_MASK, P_OFFS, P_VALID, RANGE, TYPE

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Doubles, Int, Longs, ULongs, Words

EXACT = U(1 << 53)
"""Whole numbers up to here are doubles."""


@inline
def null(
    b: Int, s: Int, prog: Longs, cols: Longs, counters: Longs, stack: Longs, sp: Int, h8: Bytes, h32: Words, h64: Longs,
) -> None:  # fmt: skip
    """NULL in slot ``s`` of the node at ``b`` and of all below it."""
    op = word(prog, b)
    if op == op_.TEXT:
        h8[U(word(prog, b + P_VALID) + s)] = 0
        o = word(prog, b + P_OFFS) + s
        h32[U(o + 1)] = h32[U(o)]
    elif op == op_.INT64 or op == op_.DOUBLE or op == op_.STAMP:
        h8[U(word(prog, b + P_VALID) + s)] = 0
        h64[U(word(prog, b + P_DATA) + s)] = 0
    elif word(prog, b + P_COLUMN) >= 0:
        nulls(cols, word(prog, b + P_COLUMN), s, h8, h32, h64, counters, stack, sp)


@inline
def string(src: Bytes, p: Int, c: Int, b: Int, s: Int, prog: Longs, h8: Bytes, h32: Words) -> tuple[Int, Int]:
    """A string to slot ``s``; only checked where it is dropped."""
    if c != QUOTE:
        return TYPE, p
    p += 1
    if word(prog, b + P_MASK) == 0:
        p = skip_string(src, p)
        return (-p if p < 0 else OK), p
    o = word(prog, b + P_OFFS) + s
    data = word(prog, b + P_DATA)
    d = data + np.int64(h32[U(o)])
    w = ld64(src, p)
    st64(h8, d, w)
    m = special(w)
    while m == U(0):
        p += 8
        d += 8
        w = ld64(src, p)
        st64(h8, d, w)
        m = special(w)
    j = ctz(m) >> 3
    p += j
    d += j
    if rd(src, p) == QUOTE:
        p += 1
    else:
        p, d = copy_string(src, p, h8, d)
        if p < 0:
            return -p, p
    h32[U(o + 1)] = np.int32(d - data)
    return OK, p


@inline
def integer(src: Bytes, p: Int, c: Int, op: Int, high: Int, data: Int, s: Int, h8: Bytes, h32: Words, h64: Longs) -> tuple[Int, Int]:
    """A whole number up to ``high`` (or down to one less than its negative, where it has a sign) to its column."""
    negative = c == MINUS
    if negative:
        p += 1
    elif c < 48 or c > 57:
        return TYPE, p
    start = p
    p, w = digits(src, p, U(0))
    n = p - start
    c = rd(src, p)
    if n == 0 or (n > 1 and rd(src, start) == 48):
        return MALFORMED, p
    if n > MOST_DIGITS or c == 46 or c | 32 == 101:
        code, p, w = whole(src, start, np.int64(op == op_.UINT64))
        if code != OK:
            return code, p
    limit = U(high)
    if negative:
        limit = limit + U(1) if op <= op_.INT8 else U(0)
    if w > limit:
        return RANGE, p
    v = np.int64(w)
    if negative:
        v = -v
    width = (op - 1) & 3
    if width == 0:
        h64[U(data + s)] = v
    elif width == 1:
        h32[U(data + s)] = np.int32(v)
    elif width == 2:
        h8[U(data + 2 * s)] = np.uint8(v & 255)
        h8[U(data + 2 * s + 1)] = np.uint8(v >> 8 & 255)
    else:
        h8[U(data + s)] = np.uint8(v & 255)
    return OK, p


@inline
def double(src: Bytes, p: Int, c: Int, to: Int, five: ULongs, h64: Longs, f64: Doubles) -> tuple[Int, Int]:
    """The double nearest to a number."""
    negative = c == MINUS
    if negative:
        p += 1
    elif c < 48 or c > 57:
        return TYPE, p
    start = p
    p, w, e, n, _ = scan(src, p)
    if p < 0:
        return MALFORMED, p
    if n <= MOST_DIGITS and w <= EXACT and -22 <= e <= 22:
        f = np.float64(w)
        if e < 0:
            f /= FLOAT_TENS[U(-e)]
        else:
            f *= FLOAT_TENS[U(e)]
        if negative:
            f = -f
        f64[U(to)] = f
        return OK, p
    code, m = hard_double(src, start, w, e, n, five)
    if negative:
        m |= U(1 << 63)
    h64[U(to)] = np.int64(m)
    return code, p


@inline
def boolean(src: Bytes, p: Int, c: Int, to: Int, h8: Bytes) -> tuple[Int, Int]:
    """``true`` or ``false``."""
    if c == 116 and ld32(src, p) == TRUE:
        h8[U(to)] = 1
        return OK, p + 4
    if c == 102 and ld32(src, p + 1) == ALSE:
        h8[U(to)] = 0
        return OK, p + 5
    return TYPE, p
