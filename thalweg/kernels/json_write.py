# ruff: noqa: PLR2004 - the numbers are bytes and the clock's
"""Texts that JSON values become: strings with escapes, base64, UUIDs, RFC 3339.

All functions: ``src`` is uint8[n] in, ``dst`` uint8[n] out, positions are int64; they return the position after what they wrote.
Never allocates, raises, or reads past the end that it is given; words are written up to 16 bytes further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels.bits import ctz
from thalweg.kernels.encode_ops import YEAR
from thalweg.kernels.jit import apart, inline
from thalweg.kernels.json_text import BACK, BACKS, QUOTE, QUOTES, SPACES
from thalweg.kernels.memory import HIGH, ONES, U, ld64, rd, st64
from thalweg.kernels.program import OK
from thalweg.kernels.shortest import put_digits

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int

HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
LETTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31."""


@inline
def escaped(w: np.uint64) -> np.uint64:
    """Marks bytes that JSON escapes; the lowest mark is exact."""
    q = w ^ QUOTES
    s = w ^ BACKS
    return (((q - ONES) & ~q) | ((s - ONES) & ~s) | ((w - SPACES) & ~w)) & HIGH


@inline
def put_string(src: Bytes, p: Int, end: Int, dst: Bytes, d: Int, most: Int) -> Int:
    """``src[p:end]`` in quotes; -1 where it could go beyond ``most``."""
    if d + end - p > most:
        return -1
    dst[U(d)] = np.uint8(QUOTE)
    d += 1
    while p + 8 <= end:
        w = ld64(src, p)
        st64(dst, d, w)
        m = escaped(w)
        if m == U(0):
            p += 8
            d += 8
            continue
        k = ctz(m) >> 3
        p += k
        d = put_escape(dst, d + k, rd(src, p))
        p += 1
        if d + end - p > most:
            return -1
    while p < end:
        c = rd(src, p)
        p += 1
        if c >= 32 and c != QUOTE and c != BACK:  # noqa: PLR1714 - Numba compares faster so
            dst[U(d)] = np.uint8(c)
            d += 1
        else:
            d = put_escape(dst, d, c)
    dst[U(d)] = np.uint8(QUOTE)
    return d + 1


@apart
def put_escape(dst: Bytes, d: Int, c: Int) -> Int:
    r"""A quote, a backslash or a control character: ``\n`` and the like where there is one, else ``\u00xx``."""
    dst[U(d)] = np.uint8(BACK)
    short = c
    if c == 10:
        short = 110
    elif c == 13:
        short = 114
    elif c == 9:
        short = 116
    elif c == 8:
        short = 98
    elif c == 12:
        short = 102
    if short >= 32:
        dst[U(d + 1)] = np.uint8(short)
        return d + 2
    dst[U(d + 1)] = np.uint8(117)
    dst[U(d + 2)] = np.uint8(48)
    dst[U(d + 3)] = np.uint8(48)
    dst[U(d + 4)] = HEX[U(c >> 4)]
    dst[U(d + 5)] = HEX[U(c & 15)]
    return d + 6


@apart
def put_base64(src: Bytes, p: Int, end: Int, dst: Bytes, d: Int) -> Int:
    """``src[p:end]`` as base64 in quotes."""
    dst[U(d)] = np.uint8(QUOTE)
    d += 1
    while p < end:
        n = end - p
        w = rd(src, p) << 16
        if n > 1:
            w |= rd(src, p + 1) << 8
        if n > 2:
            w |= rd(src, p + 2)
        dst[U(d)] = LETTERS[U(w >> 18)]
        dst[U(d + 1)] = LETTERS[U(w >> 12 & 63)]
        dst[U(d + 2)] = LETTERS[U(w >> 6 & 63)] if n > 1 else np.uint8(61)
        dst[U(d + 3)] = LETTERS[U(w & 63)] if n > 2 else np.uint8(61)
        p += 3
        d += 4
    dst[U(d)] = np.uint8(QUOTE)
    return d + 1


@apart
def put_uuid(src: Bytes, p: Int, dst: Bytes, d: Int) -> Int:
    """16 bytes as ``xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`` in quotes."""
    dst[U(d)] = np.uint8(QUOTE)
    d += 1
    for j in range(16):
        if j in (4, 6, 8, 10):
            dst[U(d)] = np.uint8(45)
            d += 1
        c = rd(src, p + j)
        dst[U(d)] = HEX[U(c >> 4)]
        dst[U(d + 1)] = HEX[U(c & 15)]
        d += 2
    dst[U(d)] = np.uint8(QUOTE)
    return d + 1


@apart
def put_date(dst: Bytes, d: Int, days: Int) -> tuple[Int, Int]:
    """``YYYY-MM-DD``, and a code: YEAR outside the years 1 to 9999."""
    if days < FIRST_DAY or days > LAST_DAY:
        return d, YEAR
    z = days + 719_468
    era = z // 146_097
    doe = z - era * 146_097
    yoe = (doe - doe // 1460 + doe // 36_524 - doe // 146_096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3
    if mp >= 10:
        month = mp - 9
    year = yoe + era * 400 + np.int64(month <= 2)
    d = put_digits(dst, d, U(year), 4)
    dst[U(d)] = np.uint8(45)
    d = put_digits(dst, d + 1, U(month), 2)
    dst[U(d)] = np.uint8(45)
    return put_digits(dst, d + 1, U(doy - (153 * mp + 2) // 5 + 1), 2), OK


@apart
def put_clock(dst: Bytes, d: Int, v: Int, places: Int) -> Int:
    """``hh:mm:ss`` of units since midnight; a fraction that is not 0 has six digits, or nine where the unit has."""
    unit = 1
    for _ in range(places):
        unit *= 10
    seconds = v // unit
    part = v - seconds * unit
    d = put_digits(dst, d, U(seconds // 3600), 2)
    dst[U(d)] = np.uint8(58)
    d = put_digits(dst, d + 1, U(seconds // 60 % 60), 2)
    dst[U(d)] = np.uint8(58)
    d = put_digits(dst, d + 1, U(seconds % 60), 2)
    if part != 0:
        dst[U(d)] = np.uint8(46)
        shown = max(places, 6)
        for _ in range(shown - places):
            part *= 10
        d = put_digits(dst, d + 1, U(part), shown)
    return d
