# ruff: noqa: PLR2004 - the numbers are bytes and digits
"""Number texts to unscaled integers of 1 to 4 words: exact or refused.

All functions: ``src`` is uint8[n] in, a text that a zero byte ends with padding behind it; ``h64`` is int64[n] out, words lowest first.
Never allocates, raises, or reads past the padding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels.bits import mulhi
from thalweg.kernels.jit import apart, inline
from thalweg.kernels.memory import U, rd
from thalweg.kernels.number import HUGE, MOST_DIGITS, scan_signed, written
from thalweg.kernels.powers import TENS
from thalweg.kernels.program import OK, RANGE, SLOW, TYPE

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int, Longs

WORDS_256 = 4


@inline
def multiply(h64: Longs, to: Int, words: Int, factor: np.uint64, more: np.uint64) -> None:
    """The number at ``to`` becomes itself times ``factor`` plus ``more``."""
    carry = more
    for j in range(words):
        w = U(h64[U(to + j)])
        low = w * factor + carry
        carry = mulhi(w, factor) + U(low < carry)
        h64[U(to + j)] = np.int64(low)


@inline
def negate(h64: Longs, to: Int, words: Int) -> None:
    """Two's complement of the number at ``to``."""
    carry = U(1)
    for j in range(words):
        w = ~U(h64[U(to + j)]) + carry
        if w != U(0):
            carry = U(0)
        h64[U(to + j)] = np.int64(w)


@apart
def decimal(src: Bytes, p: Int, precision: Int, scale: Int, h64: Longs, to: Int, words: Int) -> tuple[Int, Int]:
    """A number with its sign to ``words`` words at ``to``: ``(code, position after it or -code)``. ``words`` holds ``precision`` digits."""
    negative = rd(src, p) == 45
    start = p + np.int64(negative)
    p, w, e, n, _ = scan_signed(src, p)
    if p < 0:
        return -p, p
    code = OK
    for j in range(words):
        h64[U(to + j)] = 0
    if n > MOST_DIGITS:
        code = many_digits(src, start, e, n, precision, scale, h64, to, words)
    elif w == U(0):
        code = (SLOW if e >= HUGE or e <= -HUGE else OK)
    elif written(w) + e + scale > precision:
        code = RANGE
    else:
        shift = e + scale
        if shift < 0:
            if shift < -MOST_DIGITS or w % TENS[U(-shift)] != U(0):
                return TYPE, p
            w = w // TENS[U(-shift)]
        h64[U(to)] = np.int64(w)
        if shift > 0:
            raise_by(h64, to, words, shift)
    if negative:
        negate(h64, to, words)
    return code, p


@inline
def raise_by(h64: Longs, to: Int, words: Int, shift: Int) -> None:
    """The number at ``to`` times ten to the power ``shift``."""
    while shift > MOST_DIGITS:
        multiply(h64, to, words, TENS[U(MOST_DIGITS)], U(0))
        shift -= MOST_DIGITS
    multiply(h64, to, words, TENS[U(shift)], U(0))


@apart
def many_digits(src: Bytes, start: Int, e: Int, n: Int, precision: Int, scale: Int, h64: Longs, to: Int, words: Int) -> Int:
    """:func:`decimal` for more digits than a word holds, ``n`` of them; the exponent of the last one is ``e``."""
    if e >= HUGE or e <= -HUGE:
        return SLOW
    p = start
    while rd(src, p) == 48 or rd(src, p) == 46:
        n -= np.int64(rd(src, p) == 48)
        p += 1
    if n == 0:
        return OK
    keep = n + e + scale
    if keep > precision:
        return RANGE
    seen = 0
    while seen < n:
        c = rd(src, p)
        p += 1
        if c == 46:
            continue
        if seen < keep:
            multiply(h64, to, words, U(10), U(c - 48))
        elif c != 48:
            return TYPE
        seen += 1
    if keep > n:
        raise_by(h64, to, words, keep - n)
    return OK
