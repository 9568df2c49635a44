# ruff: noqa: PLR2004, PLR0911 - a machine returns its codes; the numbers are bytes and bits
"""JSON values that are rarer than the ones in the main loop: floats of 32 bits, decimals, dates and times, base64, UUIDs, raw text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels import json_ops as op_
from thalweg.kernels.avro_values import hex_digit
from thalweg.kernels.decimals import decimal
from thalweg.kernels.jit import apart, merged
from thalweg.kernels.json_skip import skip_value
from thalweg.kernels.json_text import MINUS, QUOTE, copy_string, plain_end
from thalweg.kernels.memory import ZERO, U, copy, rd, st64, word
from thalweg.kernels.moment import date, time, timestamp
from thalweg.kernels.number import digits, hard_double, scan_signed, whole
from thalweg.kernels.powers import TENS
from thalweg.kernels.program import MALFORMED, OK, P_ARG, P_DATA, P_MASK, P_OFFS, P_OP, RANGE, SLOW, TEXT, TYPE

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Doubles, Floats, Int, Longs, ULongs, Words

DECODED = np.int64(8)
"""Where a text without its escapes begins in the scratch: a few bytes before it may be loaded."""
CELL = np.int64(8)
"""The first word of the arena's scratch that is free for numbers on their way."""
DAY = 86_400
BASE64 = np.full(256, 255, np.uint8)
BASE64[np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)] = np.arange(64, dtype=np.uint8)
FLOAT_BITS, FLOAT_TIE = U((1 << 29) - 1), U(1 << 28)
"""Bits of a double that a float has not, and their value half way between two floats."""
DOUBLE_MAGNITUDE = U((1 << 63) - 1)
FLOAT_SMALL, FLOAT_BEYOND = U(0x3810000000000000), U(0x47EFFFFFF0000000)
"""The smallest normal float, and half a step beyond the largest one, as doubles."""


@apart
def value(
    src: Bytes, p: Int, c: Int, b: Int, s: Int, prog: Longs, five: ULongs, other: Bytes, most: Int,
    h8: Bytes, h32: Words, h64: Longs, f32: Floats, f64: Doubles,
) -> tuple[Int, Int]:  # fmt: skip
    """Reads the value at ``p``, which begins with ``c`` and is not null, by the program row at ``b`` into slot ``s``.

    ``src`` uint8[n] in: the padded payload; ``prog`` int64[m * WORDS] in; ``five`` uint64[] in: :func:`fives`; ``other`` uint8[n] scratch;
    ``most``: levels a raw value may have; ``h8`` to ``f64``: views of the arena, out. Result: ``(code, next position)``; the position
    means nothing after a code. Never allocates, raises, or reads past the padding.
    """
    op = word(prog, b + P_OP)
    arg = word(prog, b + P_ARG)
    data = word(prog, b + P_DATA)
    if op == op_.RAW:
        return raw(src, p, b, s, prog, most, h8, h32)
    is_number = c == MINUS or 48 <= c <= 57
    if op == op_.FLOAT:
        if not is_number:
            return TYPE, p
        code, p = single(src, p, five, h64)
        f32[U(data + s)] = np.float32(f64[CELL])
        return code, p
    if is_number and op == op_.DECIMAL:
        return decimal_at(src, p, arg, data, s, h32, h64)
    if is_number and op_.STAMP <= op <= op_.TIME:
        code, p, v = ticks(src, p, op, arg)
        put_ticks(op, arg, data + s, v, h32, h64)
        return code, p
    if c != QUOTE or op in (op_.NOTHING, op_.OTHER_KEY):
        return (SLOW if op == op_.OTHER_KEY else TYPE), p
    words = src
    p += 1
    q = plain_end(src, p)
    after = q + 1
    if rd(src, q) != QUOTE:
        after, q = copy_string(src, p, other, DECODED)
        if after < 0:
            return -after, p
        st64(other, q, U(QUOTE))
        st64(other, q + 8, U(0))
        st64(other, q + 16, U(0))
        words = other
        p = DECODED
    return text(words, p, q, after, b, s, prog, other, h8, h32, h64)


@merged
def raw(src: Bytes, p: Int, b: Int, s: Int, prog: Longs, most: Int, h8: Bytes, h32: Words) -> tuple[Int, Int]:
    """Any value, checked and copied as it stands."""
    q = skip_value(src, p, most)
    if q < 0:
        return -q, p
    if word(prog, b + P_MASK) != 0:
        o = word(prog, b + P_OFFS) + s
        at = np.int64(h32[U(o)])
        copy(src, p, q - p, q, h8, word(prog, b + P_DATA) + at)
        h32[U(o + 1)] = np.int32(at + q - p)
    return OK, q


@apart
def single(src: Bytes, p: Int, five: ULongs, h64: Longs) -> tuple[Int, Int]:
    """The nearest double to ``f64[CELL]``: SLOW where rounding it again to a float could go wrong, RANGE where there is none."""
    negative = rd(src, p) == MINUS
    start = p + np.int64(negative)
    p, w, e, n, _ = scan_signed(src, p)
    if p < 0:
        return MALFORMED, p
    code, m = hard_double(src, start, w, e, n, five)
    if code == OK:
        if m > FLOAT_BEYOND:
            code = RANGE
        elif m & FLOAT_BITS == FLOAT_TIE or (m < FLOAT_SMALL and m != U(0)):
            code = SLOW
    if code != OK:
        m = U(0)
    if negative:
        m |= ~DOUBLE_MAGNITUDE
    h64[CELL] = np.int64(m)
    return code, p


@apart
def decimal_at(src: Bytes, p: Int, arg: Int, data: Int, s: Int, h32: Words, h64: Longs) -> tuple[Int, Int]:
    """The decimal at ``p`` to slot ``s``: ``(code, position after it)``."""
    words = arg // op_.DECIMAL_WIDTH >> 3
    precision = arg % op_.DECIMAL_WIDTH // op_.DECIMAL_PRECISION
    scale = arg % op_.DECIMAL_PRECISION - op_.DECIMAL_SCALE
    code, p = decimal(src, p, precision, scale, h64, CELL, max(words, 1))
    if words == 0:
        h32[U(data + s)] = np.int32(h64[CELL])
    for j in range(words):
        h64[U(data + s * words + j)] = h64[U(CELL + j)]
    return code, p


@merged
def ticks(src: Bytes, p: Int, op: Int, arg: Int) -> tuple[Int, Int, Int]:
    """A number in the column's own unit: ``(code, position, number)``."""
    negative = rd(src, p) == MINUS
    start = p + np.int64(negative)
    p, w = digits(src, start, U(0))
    n = p - start
    c = rd(src, p)
    if n == 0 or (n > 1 and rd(src, start) == 48):
        return MALFORMED, p, 0
    code = OK
    if n > 19 or c == 46 or c | 32 == 101:
        code, p, w = whole(src, start, ZERO)
    high = U((1 << 63) - 1)
    if op == op_.DATE:
        high = U((1 << 31) - 1)
    elif op == op_.TIME:
        high = U(DAY) * TENS[U(arg)] - U(1)
    if negative:
        high = U(0) if op == op_.TIME else high + U(1)
    if code == OK and w > high:
        code = RANGE
    v = np.int64(w)
    if negative:
        v = -v
    return code, p, v


@merged
def put_ticks(op: Int, arg: Int, to: Int, v: Int, h32: Words, h64: Longs) -> None:
    """A date, a time or a timestamp to its column."""
    if op == op_.DATE or (op == op_.TIME and arg <= 3):
        h32[U(to)] = np.int32(v)
    else:
        h64[U(to)] = v


@merged
def text(
    src: Bytes, p: Int, q: Int, after: Int, b: Int, s: Int, prog: Longs, other: Bytes, h8: Bytes, h32: Words, h64: Longs,
) -> tuple[Int, Int]:  # fmt: skip
    """The text ``src[p:q]``, which a quote follows: ``(code, after)``."""
    op = word(prog, b + P_OP)
    arg = word(prog, b + P_ARG)
    data = word(prog, b + P_DATA)
    v = 0
    if op == op_.DECIMAL:
        c = rd(src, p)
        if c != MINUS and (c < 48 or c > 57):
            return TYPE, after
        code, end = decimal_at(src, p, arg, data, s, h32, h64)
        return (code if end == q else TYPE), after
    if op in (op_.BINARY, op_.FIXED):
        return binary(src, p, q, after, b, s, prog, other, h8, h32)
    if op == op_.UUID:
        return uuid(src, p, q, (data + 2 * s) * 8, h8), after
    if op == op_.DATE:
        end, v = date(src, p)
    elif op == op_.TIME:
        end, v = time(src, p, arg)
    else:
        end, v = timestamp(src, p, arg & (op_.ZONED - 1), arg & op_.ZONED)
    if end < 0:
        return -end, after
    put_ticks(op, arg, data + s, v, h32, h64)
    return (OK if end == q + 1 else TEXT), after


@merged
def uuid(src: Bytes, p: Int, q: Int, to: Int, h8: Bytes) -> Int:
    """``xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`` in either case to 16 bytes."""
    if q - p != 36:
        return TEXT
    for j in range(16):
        if j in (4, 6, 8, 10):
            if rd(src, p) != 45:
                return TEXT
            p += 1
        high = hex_digit(rd(src, p))
        low = hex_digit(rd(src, p + 1))
        if high < 0 or low < 0:
            return TEXT
        h8[U(to + j)] = np.uint8(high << 4 | low)
        p += 2
    return OK


@merged
def binary(
    src: Bytes, p: Int, q: Int, after: Int, b: Int, s: Int, prog: Longs, other: Bytes, h8: Bytes, h32: Words,
) -> tuple[Int, Int]:  # fmt: skip
    """Base64 to a column of bytes."""
    end = base64(src, p, q, other)
    if end < 0:
        return SLOW, after
    if word(prog, b) == op_.FIXED:
        if end - DECODED != word(prog, b + P_ARG):
            return TYPE, after
        if word(prog, b + P_MASK) != 0:
            width = end - DECODED
            to = word(prog, b + P_DATA)
            if width == 4:
                to *= 4
            elif width & 7 == 0 and width != 0:
                to *= 8
            for j in range(width):
                h8[U(to + s * width + j)] = other[U(DECODED + j)]
    elif word(prog, b + P_MASK) != 0:
        o = word(prog, b + P_OFFS) + s
        at = np.int64(h32[U(o)])
        copy(other, DECODED, end - DECODED, end, h8, word(prog, b + P_DATA) + at)
        h32[U(o + 1)] = np.int32(at + end - DECODED)
    return OK, after


@apart
def base64(src: Bytes, p: Int, q: Int, dst: Bytes) -> Int:
    """Base64 in ``src[p:q]`` to ``dst[DECODED:]``, which may be the same memory: the end of it, -1 where it is not well-formed."""
    d = DECODED
    if (q - p) & 3 != 0:
        return -1
    while p < q:
        a = np.int64(BASE64[src[U(p)]])
        b = np.int64(BASE64[src[U(p + 1)]])
        c: Int = np.int64(BASE64[src[U(p + 2)]])
        e: Int = np.int64(BASE64[src[U(p + 3)]])
        n = 3
        if (a | b | c | e) >= 64:
            if p + 4 != q or (a | b) >= 64 or rd(src, p + 3) != 61 or (c >= 64 and rd(src, p + 2) != 61):
                return -1
            n = (2 if c < 64 else 1)
            c &= 63
            e = 0
        w = a << 18 | b << 12 | c << 6 | e
        dst[U(d)] = np.uint8(w >> 16)
        dst[U(d + 1)] = np.uint8(w >> 8 & 255)
        dst[U(d + 2)] = np.uint8(w & 255)
        d += n
        p += 4
    return d
