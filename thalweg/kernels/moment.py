# ruff: noqa: PLR2004, PLR0911 - the numbers are bytes and the clock's; a parser returns where a text does not fit
"""RFC 3339 texts to numbers: dates, times of day, timestamps with and without offset, as ``arrow.temporal`` reads them.

All functions: ``src`` is uint8[n] in, a text that a quote ends and padding follows; ``p`` is the first byte after the quote before it.
Result: ``(position after the quote that ends it, number)``, or ``(-code, 0)``. Never allocates, raises, or reads past the padding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels.jit import apart, inline
from thalweg.kernels.memory import HIGH, U, ld64, rd
from thalweg.kernels.number import MOST_DIGITS, PAST_NINE, digits
from thalweg.kernels.powers import TENS
from thalweg.kernels.program import RANGE, SLOW, TEXT

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int

NO_DAY = np.int64(-(1 << 40))
NO_SECOND = -1
DATE_FORM, DATE_FIXED = U(0x2D30302D30303030), U(0xFF0000FF00000000)
"""``0000-00-`` and where its hyphens are."""
CLOCK_FORM, CLOCK_DIGITS, CLOCK_FIXED = U(0x30303A3030003030), U(0xFFFFFFFFFF000000), U(0x0000FF0000000000)
"""``00 00:00``, its part after the blank, and where its colon is."""
QUOTE, COLON = 34, 58
LAST_NANO_SECOND = 9_223_372_036
NANO = 9


@inline
def day_of(y: Int, m: Int, d: Int) -> Int:
    """Days since 1970 of a date in the years 1 to 9999, NO_DAY where it does not exist."""
    if y < 1 or m < 1 or m > 12 or d < 1:
        return NO_DAY
    last = 31
    if m == 2:
        last = 28
        if y & 3 == 0 and (y % 100 != 0 or y % 400 == 0):
            last = 29
    elif m in (4, 6, 9, 11):
        last = 30
    if d > last:
        return NO_DAY
    if m <= 2:
        y -= 1
        m += 12
    return 365 * y + (y >> 2) - y // 100 + y // 400 + (153 * (m - 3) + 2) // 5 + d - 719469


@inline
def two(src: Bytes, p: Int) -> Int:
    """Two digits, -100 or less where there are none."""
    a = rd(src, p) - 48
    b = rd(src, p + 1) - 48
    if a < 0 or a > 9 or b < 0 or b > 9:
        return -100
    return a * 10 + b


@inline
def date_at(src: Bytes, p: Int) -> Int:
    """Days of ``YYYY-MM-DD`` at ``p``, NO_DAY where there is none."""
    x = ld64(src, p) ^ DATE_FORM
    if ((((x + PAST_NINE) | x) & HIGH) | (x & DATE_FIXED)) != U(0):
        return NO_DAY
    x = x * U(10) + (x >> U(8))
    y = np.int64(x & U(255)) * 100 + np.int64(x >> U(16) & U(255))
    return day_of(y, np.int64(x >> U(40) & U(255)), two(src, p + 8))


@inline
def clock_at(src: Bytes, p: Int) -> Int:
    """Seconds of ``hh:mm:ss`` at ``p``, NO_SECOND where there is none; three bytes before it are loaded too."""
    x = (ld64(src, p - 3) ^ CLOCK_FORM) & CLOCK_DIGITS
    s = two(src, p + 6)
    if ((((x + PAST_NINE) | x) & HIGH) | (x & CLOCK_FIXED)) != U(0) or rd(src, p + 5) != COLON:
        return NO_SECOND
    x = x * U(10) + (x >> U(8))
    h = np.int64(x >> U(24) & U(255))
    m = np.int64(x >> U(48) & U(255))
    if h > 23 or m > 59 or s < 0 or s > 59:
        return NO_SECOND
    return (h * 60 + m) * 60 + s


@inline
def fraction_at(src: Bytes, p: Int, places: Int) -> tuple[Int, Int]:
    """The digits after a point at ``p``, if there is one, in units of ``places`` decimal places."""
    if rd(src, p) != 46:
        return p, 0
    s = p + 1
    p, acc = digits(src, s, U(0))
    n = p - s
    if n == 0:
        return -TEXT, 0
    if n >= MOST_DIGITS:
        return -SLOW, 0
    if n <= places:
        return p, np.int64(acc * TENS[U(places - n)])
    if acc % TENS[U(n - places)] != U(0):
        return -TEXT, 0
    return p, np.int64(acc // TENS[U(n - places)])


@inline
def offset_at(src: Bytes, p: Int) -> tuple[Int, Int]:
    """``(position after it, seconds east)`` of ``Z`` or ``+hh:mm``."""
    c = rd(src, p)
    if c | 32 == 122:
        return p + 1, 0
    h = two(src, p + 1)
    m = two(src, p + 4)
    if (c != 43 and c != 45) or rd(src, p + 3) != COLON or h < 0 or h > 23 or m < 0 or m > 59:  # noqa: PLR1714 - Numba compares faster so
        return -TEXT, 0
    east = (h * 60 + m) * 60
    if c == 45:
        east = -east
    return p + 6, east


@inline
def timestamp(src: Bytes, p: Int, places: Int, zoned: Int) -> tuple[Int, Int]:
    """``YYYY-MM-DD[Thh:mm:ss[.fraction][offset]]``; ``zoned`` texts need the offset, others have none."""
    day = date_at(src, p)
    if day == NO_DAY:
        return -TEXT, 0
    t = day * 86_400
    p += 10
    part = 0
    c = rd(src, p)
    if c != QUOTE:
        s = clock_at(src, p + 1)
        if (c != 84 and c != 32 and c != 116) or s == NO_SECOND:  # noqa: PLR1714 - as above
            return -TEXT, 0
        t += s
        p, part = fraction_at(src, p + 9, places)
        if p < 0:
            return p, 0
        c = rd(src, p)
    if zoned != 0:
        p, s = offset_at(src, p)
        if p < 0:
            return p, 0
        t -= s
        c = rd(src, p)
    if c != QUOTE:
        return -TEXT, 0
    if places == NANO and (t >= LAST_NANO_SECOND or t <= -LAST_NANO_SECOND - 1):
        return (-RANGE if t > LAST_NANO_SECOND or t < -LAST_NANO_SECOND - 1 else -SLOW), 0
    return p + 1, t * np.int64(TENS[U(places)]) + part


@apart
def date(src: Bytes, p: Int) -> tuple[Int, Int]:
    """``YYYY-MM-DD`` to days."""
    day = date_at(src, p)
    if day == NO_DAY or rd(src, p + 10) != QUOTE:
        return -TEXT, 0
    return p + 11, day


@apart
def time(src: Bytes, p: Int, places: Int) -> tuple[Int, Int]:
    """``hh:mm:ss[.fraction]`` to units since midnight."""
    s = clock_at(src, p)
    if s == NO_SECOND:
        return -TEXT, 0
    p, part = fraction_at(src, p + 8, places)
    if p < 0:
        return p, 0
    if rd(src, p) != QUOTE:
        return -TEXT, 0
    return p + 1, s * np.int64(TENS[U(places)]) + part
