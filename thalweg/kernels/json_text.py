# ruff: noqa: PLR2004, C901, PLR0911 - the numbers are bytes and code points; a scanner returns what it meets
"""JSON strings: blanks, ends, escapes and UTF-8. Eight bytes at once where nothing special is among them.

All functions: ``src`` is uint8[n] in, a text that a zero byte ends with ``PAD`` bytes behind it, so that nothing needs to
ask for the end: no token has a zero byte. ``dst`` is uint8[n] out. A fault is a negative code. Never allocates, raises, or reads past the padding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels.bits import ctz
from thalweg.kernels.jit import apart, inline
from thalweg.kernels.memory import HIGH, ONES, U, ld64, rd, st64
from thalweg.kernels.program import MALFORMED, SLOW

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int

QUOTES, BACKS, SPACES = U(0x2222222222222222), U(0x5C5C5C5C5C5C5C5C), U(0x2020202020202020)
QUOTE, BACK, MINUS = 34, 92, 45


@inline
def blank(src: Bytes, p: Int) -> tuple[Int, Int]:
    """``(position, byte)`` of the next byte from ``p`` on that is no blank."""
    c = rd(src, p)
    if c <= 32:
        if c == 32:
            p += 1
            c = rd(src, p)
        while c == 32 or 9 <= c <= 10 or c == 13:
            p += 1
            c = rd(src, p)
    return p, c


@inline
def special(w: np.uint64) -> np.uint64:
    """Marks bytes that are a quote, a backslash, a control character or not ASCII; the lowest mark is exact."""
    q = w ^ QUOTES
    s = w ^ BACKS
    return (((q - ONES) & ~q) | ((s - ONES) & ~s) | ((w - SPACES) & ~w) | w) & HIGH


@inline
def plain_end(src: Bytes, p: Int) -> Int:
    """The first byte from ``p`` on that :func:`special` marks."""
    m = special(ld64(src, p))
    while m == U(0):
        p += 8
        m = special(ld64(src, p))
    return p + (ctz(m) >> 3)


@apart
def sequence(src: Bytes, p: Int) -> Int:
    """Length of the well-formed UTF-8 sequence at ``p``, whose first byte is not ASCII; 0 where there is none."""
    a = rd(src, p)
    b = rd(src, p + 1)
    if a < 0xC2 or a > 0xF4 or b & 0xC0 != 0x80:
        return 0
    if a < 0xE0:
        return 2
    if rd(src, p + 2) & 0xC0 != 0x80 or (a == 0xE0 and b < 0xA0) or (a == 0xED and b > 0x9F):
        return 0
    if a < 0xF0:
        return 3
    if rd(src, p + 3) & 0xC0 != 0x80 or (a == 0xF0 and b < 0x90) or (a == 0xF4 and b > 0x8F):
        return 0
    return 4


@inline
def hex4(src: Bytes, p: Int) -> Int:
    """Four hexadecimal digits, -1 for anything else."""
    v = 0
    for j in range(4):
        c = rd(src, p + j)
        if 48 <= c <= 57:
            c -= 48
        else:
            c |= 32
            if c < 97 or c > 102:
                return -1
            c -= 87
        v = v << 4 | c
    return v


@apart
def escape(src: Bytes, p: Int) -> tuple[Int, Int]:
    """``(position after it, code point)`` of the escape whose backslash is at ``p``; half of a surrogate pair is ``-SLOW``."""
    c = rd(src, p + 1)
    if c == 117:
        v = hex4(src, p + 2)
        if v < 0:
            return -MALFORMED, 0
        p += 6
        if v < 0xD800 or v >= 0xE000:
            return p, v
        if v >= 0xDC00 or rd(src, p) != BACK or rd(src, p + 1) != 117:
            return -SLOW, 0
        u = hex4(src, p + 2)
        if u < 0xDC00 or u > 0xDFFF:
            return -SLOW, 0
        return p + 6, 0x10000 + ((v - 0xD800) << 10) + (u - 0xDC00)
    v = -1
    if c in (34, 92, 47):
        v = c
    elif c == 110:
        v = 10
    elif c == 116:
        v = 9
    elif c == 114:
        v = 13
    elif c == 98:
        v = 8
    elif c == 102:
        v = 12
    if v < 0:
        return -MALFORMED, 0
    return p + 2, v


@inline
def put_code_point(dst: Bytes, d: Int, v: Int) -> Int:
    """Writes a code point as UTF-8; returns the position after it."""
    if v < 0x80:
        dst[U(d)] = np.uint8(v)
        return d + 1
    if v < 0x800:
        dst[U(d)] = np.uint8(0xC0 | v >> 6)
        dst[U(d + 1)] = np.uint8(0x80 | v & 63)
        return d + 2
    if v < 0x10000:
        dst[U(d)] = np.uint8(0xE0 | v >> 12)
        dst[U(d + 1)] = np.uint8(0x80 | v >> 6 & 63)
        dst[U(d + 2)] = np.uint8(0x80 | v & 63)
        return d + 3
    dst[U(d)] = np.uint8(0xF0 | v >> 18)
    dst[U(d + 1)] = np.uint8(0x80 | v >> 12 & 63)
    dst[U(d + 2)] = np.uint8(0x80 | v >> 6 & 63)
    dst[U(d + 3)] = np.uint8(0x80 | v & 63)
    return d + 4


@apart
def copy_string(src: Bytes, p: Int, dst: Bytes, d: Int) -> tuple[Int, Int]:
    """The rest of a string from ``p`` on to ``dst[d:]``: ``(position after the quote, end of the copy)``, or ``(-code, 0)``.

    Up to 8 bytes after the copy are overwritten too.
    """
    while True:
        w = ld64(src, p)
        st64(dst, d, w)
        m = special(w)
        if m == U(0):
            p += 8
            d += 8
            continue
        k = ctz(m) >> 3
        p += k
        d += k
        c = rd(src, p)
        if c == QUOTE:
            return p + 1, d
        if c == BACK:
            p, v = escape(src, p)
            if p < 0:
                return p, 0
            d = put_code_point(dst, d, v)
        elif c < 32:
            return -MALFORMED, 0
        else:
            while c >= 128:
                k = sequence(src, p)
                if k == 0:
                    return -MALFORMED, 0
                for j in range(k):
                    dst[U(d + j)] = src[U(p + j)]
                p += k
                d += k
                c = rd(src, p)


@inline
def skip_string(src: Bytes, p: Int) -> Int:
    """The position after the quote that ends the string which ``p`` is inside of, or -code."""
    p = plain_end(src, p)
    if rd(src, p) == QUOTE:
        return p + 1
    return skip_odd_string(src, p)


@apart
def skip_odd_string(src: Bytes, p: Int) -> Int:
    """:func:`skip_string` where there are escapes or bytes beyond ASCII."""
    while True:
        p = plain_end(src, p)
        c = rd(src, p)
        if c == QUOTE:
            return p + 1
        if c == BACK:
            p, _ = escape(src, p)
            if p < 0:
                return p
        elif c < 32:
            return -MALFORMED
        else:
            while c >= 128:
                k = sequence(src, p)
                if k == 0:
                    return -MALFORMED
                p += k
                c = rd(src, p)
