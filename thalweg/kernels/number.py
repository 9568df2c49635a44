# ruff: noqa: PLR2004, PLR0911 - the numbers are bytes, bits and digits; a scanner returns what it meets
"""Number texts as JSON writes them: digits eight at once, whole numbers exactly, the nearest double (Clinger, then Eisel and Lemire).

All functions: ``src`` is uint8[n] in, a text that a zero byte ends with padding behind it. Never allocates, raises, or
reads past the padding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels.bits import clz, ctz, mulhi
from thalweg.kernels.jit import apart, inline
from thalweg.kernels.memory import HIGH, U, ld64, rd
from thalweg.kernels.powers import HIGHEST, LOWEST, TENS
from thalweg.kernels.program import MALFORMED, OK, RANGE, SLOW, TYPE

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int, ULongs

ZEROS, PAST_NINE = U(0x3030303030303030), U(0x7676767676767676)
LOW_BYTES, LOW_PAIRS, LOW_HALF = U(0x00FF00FF00FF00FF), U(0x0000FFFF0000FFFF), U(0xFFFFFFFF)
BY_10, BY_100, BY_10000 = U(2561), U(6553601), U(42949672960001)
INFINITE = U(0x7FF0000000000000)
MOST_DIGITS = 19
"""Digits that a word holds whatever they are."""
HUGE = 100_000
"""Exponents are not told apart from here on."""


@inline
def eight(x: np.uint64) -> np.uint64:
    """The number of eight digits, the first one lowest, each a byte from 0 to 9."""
    x = (x * BY_10) >> U(8)
    x = ((x & LOW_BYTES) * BY_100) >> U(16)
    return ((x & LOW_PAIRS) * BY_10000) >> U(32)


@inline
def digits(src: Bytes, p: Int, acc: np.uint64) -> tuple[Int, np.uint64]:
    """Appends the run of digits at ``p`` to ``acc``, which wraps: ``(position after it, acc)``."""
    while True:
        x = ld64(src, p) ^ ZEROS
        m = ((x + PAST_NINE) | x) & HIGH
        if m != U(0):
            k = ctz(m) >> 3
            if k == 0:
                return p, acc
            return p + k, acc * TENS[U(k)] + eight(x << U(64 - 8 * k))
        acc = acc * TENS[U(8)] + eight(x)
        p += 8


@inline
def scan(src: Bytes, p: Int) -> tuple[Int, np.uint64, Int, Int, Int]:
    """A number without its sign: ``(position after it or -code, digits (wrap), exponent of ten, how many, 1 for '.' or 'e')``."""
    s = p
    p, acc = digits(src, p, U(0))
    n = p - s
    e, fractional = 0, 0
    if n == 0 or (n > 1 and rd(src, s) == 48):
        return -MALFORMED, acc, e, n, fractional
    c = rd(src, p)
    if c == 46:
        fractional = 1
        s = p + 1
        p, acc = digits(src, s, acc)
        e = s - p
        if e == 0:
            return -MALFORMED, acc, e, n, fractional
        n -= e
        c = rd(src, p)
    if c | 32 == 101:
        fractional = 1
        p, v = exponent(src, p + 1)
        e += v
    return p, acc, e, n, fractional


@apart
def scan_signed(src: Bytes, p: Int) -> tuple[Int, np.uint64, Int, Int, Int]:
    """:func:`scan` of a number that may have a minus."""
    return scan(src, p + np.int64(rd(src, p) == 45))


@apart
def skip_number(src: Bytes, p: Int) -> Int:
    """The position after a number, or -code."""
    p, _, _, _, _ = scan_signed(src, p)
    return p


@apart
def exponent(src: Bytes, p: Int) -> tuple[Int, Int]:
    """What follows an ``e``: ``(position after it or -code, exponent)``."""
    c = rd(src, p)
    negative = c == 45
    if negative or c == 43:
        p += 1
    s = p
    v = 0
    c = rd(src, p) - 48
    while 0 <= c <= 9:
        if v < HUGE:
            v = v * 10 + c
        p += 1
        c = rd(src, p) - 48
    if p == s:
        return -MALFORMED, v
    if negative:
        v = -v
    return p, v


@inline
def first_digits(src: Bytes, p: Int, e: Int) -> tuple[np.uint64, Int, Int]:
    """Of a number with many digits the first 19 that count: ``(number, its exponent, 1 where what is left is not zero)``."""
    n: Int = 0
    rest: Int = 0
    acc = U(0)
    while True:
        c = rd(src, p)
        p += 1
        if c == 46:
            continue
        if c < 48 or c > 57:
            return acc, e, rest
        if n < MOST_DIGITS:
            acc = acc * U(10) + U(c - 48)
            n += np.int64(acc != U(0))
        else:
            e += 1
            rest |= np.int64(c != 48)


@inline
def nearest(w: np.uint64, q: Int, five: ULongs) -> np.uint64:
    """The bits of the double nearest to ``w * 10 ** q``, an infinity where it is too large (Eisel and Lemire, table :func:`fives`)."""
    if w == U(0) or q < LOWEST:
        return U(0)
    if q > HIGHEST:
        return INFINITE
    lz = clz(w)
    w = w << U(lz)
    i = 2 * (q - LOWEST)
    t = five[U(i)]
    lo = w * t
    hi = mulhi(w, t)
    if hi & U(0x1FF) == U(0x1FF):
        s = mulhi(w, five[U(i + 1)])
        lo += s
        if s > lo:
            hi += U(1)
    up = np.int64(hi >> U(63))
    m = hi >> U(up + 9)
    e = ((217706 * q) >> 16) + 63 + up - lz + 1023
    if e <= 0:
        if e <= -63:
            return U(0)
        m = m >> U(1 - e)
        m += m & U(1)
        return U(m >> U(1))
    if lo <= U(1) and -4 <= q <= 23 and m & U(3) == U(1) and m << U(up + 9) == hi:
        m &= ~U(1)
    m += m & U(1)
    m = m >> U(1)
    if m >= U(1 << 53):
        m = U(1 << 52)
        e += 1
    if e >= 0x7FF:
        return INFINITE
    return U((m & U((1 << 52) - 1)) | U(e) << U(52))


@apart
def hard_double(src: Bytes, start: Int, w: np.uint64, e: Int, n: Int, five: ULongs) -> tuple[Int, np.uint64]:
    """``(code, bits)`` of a scanned number that begins at ``start``: SLOW where more digits than a word holds decide the rounding."""
    rest = 0
    if n > MOST_DIGITS:
        w, e, rest = first_digits(src, start, e)
    m = nearest(w, e, five)
    if rest != 0 and nearest(w + U(1), e, five) != m:
        return SLOW, m
    return (RANGE if m >= INFINITE else OK), m


@inline
def written(w: np.uint64) -> Int:
    """Digits of a word; 0 for 0."""
    n = ((64 - clz(w | U(1))) * 1233) >> 12
    return n + np.int64(n < 20 and w >= TENS[U(min(n, 19))])


@apart
def whole(src: Bytes, p: Int, unsigned: Int) -> tuple[Int, Int, np.uint64]:
    """``(code, position after it, magnitude)`` of a whole number with a fraction, an exponent, or more than 19 digits."""
    p, w, e, n, fractional = scan_signed(src, p)
    if p < 0:
        return MALFORMED, p, w
    if n > MOST_DIGITS:
        plain = fractional == 0 and (n > MOST_DIGITS + 1 or unsigned == 0)
        return (RANGE if plain else SLOW), p, w
    if w == U(0):
        return (SLOW if e >= HUGE or e <= -HUGE else OK), p, w
    if e >= 0:
        if e > MOST_DIGITS or mulhi(w, TENS[U(e)]) != U(0):
            return RANGE, p, w
        return OK, p, w * TENS[U(e)]
    if e < -MOST_DIGITS or w % TENS[U(-e)] != U(0):
        return TYPE, p, w
    return OK, p, w // TENS[U(-e)]
