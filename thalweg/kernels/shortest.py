# ruff: noqa: PLR2004 - the numbers are bits and digits
"""Numbers to text: the shortest digits that read back as the same double (Schubfach), as Python writes them; integers; decimals.

All functions: ``dst`` is uint8[n] out, with room for 100 bytes from ``d`` on; they return the position after what they wrote.
Never allocates or raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels.bits import mulhi
from thalweg.kernels.jit import apart, inline
from thalweg.kernels.memory import U
from thalweg.kernels.number import written
from thalweg.kernels.powers import WRITE_LOWEST

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int, Longs, ULongs

MANTISSA = U((1 << 52) - 1)
LOW63 = U((1 << 63) - 1)
PAIRS = np.array([48 + d for i in range(100) for d in divmod(i, 10)], np.uint8)
"""The digits of 00 to 99."""
POINT, MINUS, ZERO = 46, 45, 48
BILLION = U(1_000_000_000)


@inline
def put_digits(dst: Bytes, d: Int, w: np.uint64, n: Int) -> Int:
    """The ``n`` digits of ``w``."""
    p = d + n
    while p - d >= 2:
        pair = np.int64(w % U(100)) * 2
        w = w // U(100)
        p -= 2
        dst[U(p)] = PAIRS[U(pair)]
        dst[U(p + 1)] = PAIRS[U(pair + 1)]
    if p > d:
        dst[U(d)] = np.uint8(U(ZERO) + w % U(10))
    return d + n


@inline
def put_integer(dst: Bytes, d: Int, v: Int, is_signed: Int) -> Int:
    """A whole number; ``v`` is taken as unsigned unless ``is_signed``."""
    w = U(v)
    if is_signed != 0 and v < 0:
        dst[U(d)] = np.uint8(MINUS)
        d += 1
        w = ~w + U(1)
    return put_digits(dst, d, w, max(written(w), 1))


@inline
def rounded(high: np.uint64, low: np.uint64, c: np.uint64) -> np.uint64:
    """``c`` times a power in halves of 63 bits, without its lowest bits; the last bit tells that some of them were set."""
    middle = (high * c >> U(1)) + mulhi(low, c)
    return U(mulhi(high, c) + (middle >> U(63)) | U(middle & LOW63 != U(0)))


@inline
def shortest(bits: np.uint64, tens: ULongs) -> tuple[np.uint64, Int]:
    """``(digits, exponent of the last one)`` of a positive finite double: the shortest, of those the nearest (table :func:`reciprocals`)."""
    c = bits & MANTISSA
    e = np.int64(bits >> U(52))
    q: Int = -1074
    is_even = c & U(1) == U(0)
    at_step = c == U(0) and e > 1
    if e != 0:
        c |= U(1 << 52)
        q = e - 1075
    k = q * 661_971_961_083 >> 41
    left = (c << U(2)) - U(2)
    if at_step:
        k = q * 661_971_961_083 - 274_743_187_321 >> 41
        left += U(1)
    h = U(q + (-k * 913_124_641_741 >> 38) + 2)
    i = 2 * (k - WRITE_LOWEST)
    high = tens[U(i)]
    low = tens[U(i + 1)]
    value = rounded(high, low, c << U(2) << h)
    below = rounded(high, low, left << h)
    above = rounded(high, low, (c << U(2)) + U(2) << h)
    odd = U(not is_even)
    s = value >> U(2)
    if s >= U(10):
        t = s // U(10) * U(10)
        lower = below + odd <= t << U(2)
        upper = ((t + U(10)) << U(2)) + odd <= above
        if lower != upper:
            return (t if lower else t + U(10)), k
    lower = below + odd <= s << U(2)
    upper = ((s + U(1)) << U(2)) + odd <= above
    if lower != upper:
        return (s if lower else s + U(1)), k
    half = (s << U(1)) + U(1) << U(1)
    if value < half or (value == half and s & U(1) == U(0)):
        return s, k
    return s + U(1), k


@apart
def put_double(dst: Bytes, d: Int, bits: np.uint64, tens: ULongs) -> Int:
    """A finite double as Python's ``repr`` writes it."""
    if bits >> U(63) != U(0):
        dst[U(d)] = np.uint8(MINUS)
        d += 1
    bits = bits & LOW63
    if bits == U(0):
        return put_plain(dst, d, U(0), 1, 1)
    w, k = shortest(bits, tens)
    while w % U(10) == U(0):
        w = w // U(10)
        k += 1
    n = written(w)
    point = n + k
    if -4 < point <= 16:
        return put_plain(dst, d, w, n, point)
    d = put_digits(dst, d + 1, w, n)
    dst[U(d - n - 1)] = dst[U(d - n)]
    dst[U(d - n)] = np.uint8(POINT)
    if n == 1:
        d -= 1
    return put_exponent(dst, d, np.uint8(101), point - 1)


@inline
def put_plain(dst: Bytes, d: Int, w: np.uint64, n: Int, point: Int) -> Int:
    """``n`` digits with the point after ``point`` of them, zeros where there are none."""
    if point <= 0:
        dst[U(d)] = np.uint8(ZERO)
        dst[U(d + 1)] = np.uint8(POINT)
        for j in range(-point):
            dst[U(d + 2 + j)] = np.uint8(ZERO)
        return put_digits(dst, d + 2 - point, w, n)
    if point < n:
        put_digits(dst, d + 1, w, n)
        for j in range(point):
            dst[U(d + j)] = dst[U(d + j + 1)]
        dst[U(d + point)] = np.uint8(POINT)
        return d + n + 1
    d = put_digits(dst, d, w, n)
    for j in range(point - n):
        dst[U(d + j)] = np.uint8(ZERO)
    d += point - n
    dst[U(d)] = np.uint8(POINT)
    dst[U(d + 1)] = np.uint8(ZERO)
    return d + 2


@inline
def put_exponent(dst: Bytes, d: Int, letter: np.uint8, e: Int) -> Int:
    """``e`` or ``E``, a sign, and an exponent; two digits at least after an ``e``."""
    dst[U(d)] = letter
    dst[U(d + 1)] = np.uint8(MINUS if e < 0 else 43)
    e = abs(e)
    least = (2 if letter == 101 else 1)
    return put_digits(dst, d + 2, U(e), max(written(U(e)), least))


@apart
def put_decimal(dst: Bytes, d: Int, h64: Longs, at: Int, words: Int, scale: Int) -> Int:
    """The unscaled integer at ``h64[at : at + words]``, lowest word first, which is left positive, as Python's ``Decimal`` writes it."""
    if h64[U(at + words - 1)] < 0:
        dst[U(d)] = np.uint8(MINUS)
        d += 1
        carry = U(1)
        for j in range(words):
            w = ~U(h64[U(at + j)]) + carry
            if w != U(0):
                carry = U(0)
            h64[U(at + j)] = np.int64(w)
    end = d + 96
    p = end
    while words > 0:
        while words > 0 and h64[U(at + words - 1)] == 0:
            words -= 1
        if words == 0:
            break
        rest = U(0)
        for j in range(words - 1, -1, -1):
            w = U(h64[U(at + j)])
            high = rest << U(32) | w >> U(32)
            low = high % BILLION << U(32) | w & U(0xFFFFFFFF)
            h64[U(at + j)] = np.int64(high // BILLION << U(32) | low // BILLION)
            rest = low % BILLION
        p -= 9
        put_digits(dst, p, rest, 9)
    while p < end and dst[U(p)] == ZERO:
        p += 1
    if p == end:
        p -= 1
        dst[U(p)] = np.uint8(ZERO)
    return placed(dst, d, p, end - p, scale)


@inline
def placed(dst: Bytes, d: Int, p: Int, n: Int, scale: Int) -> Int:
    """Moves ``n`` digits from ``p`` down to ``d`` and sets the point."""
    left = n - scale
    point = 1
    if scale >= 0 and left > -6:
        point = left
    if point <= 0:
        dst[U(d)] = np.uint8(ZERO)
        dst[U(d + 1)] = np.uint8(POINT)
        d += 2
        for _ in range(-point):
            dst[U(d)] = np.uint8(ZERO)
            d += 1
    for j in range(n):
        if j == point and j > 0:
            dst[U(d)] = np.uint8(POINT)
            d += 1
        dst[U(d)] = dst[U(p + j)]
        d += 1
    if left != point:
        d = put_exponent(dst, d, np.uint8(69), left - point)
    return d
