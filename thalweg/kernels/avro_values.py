# ruff: noqa: PLR2004, C901, PLR0911, PLR0912 - a machine returns its codes; the numbers are bytes and bit positions
"""Avro values that are rarer than the ones in the main loop: fixed, decimals, UUIDs, durations, times, promotions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg.kernels import avro_ops as op_
from thalweg.kernels.jit import apart, inline
from thalweg.kernels.memory import U, copy, ld32, rd, unzigzag, utf8_fault, varint
from thalweg.kernels.program import LIMIT, MALFORMED, P_ARG, P_DATA, P_MASK, P_OP, RANGE, TEXT, UTF8

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Doubles, Floats, Int, Longs, Words

INT_LOW, INT_HIGH = -(1 << 31), (1 << 31) - 1
LONG_HIGH = (1 << 63) - 1
UUID_SIZE = 36
NANOS = 1_000_000
SCRATCH_WORD = 2
"""An int32 of the scratch, to see bits as a float."""


@apart
def value(
    src: Bytes, p: Int, end: Int, k: Int, prog: Longs, b: Int, aux: Longs,
    h8: Bytes, h32: Words, h64: Longs, f32: Floats, f64: Doubles,
) -> Int:  # fmt: skip
    """Reads the value that the program row at ``b`` says into slot ``k``; the next position, or -code.

    ``src`` uint8[] in; ``prog`` int64[m * WORDS] and ``aux`` int64[] in; ``h8``, ``h32``, ``h64``, ``f32``, ``f64``: views of the arena,
    out. Never allocates, raises, or reads past the end.
    """
    op = prog[U(b + P_OP)] & op_.OPS
    arg = prog[U(b + P_ARG)]
    data = prog[U(b + P_DATA)]
    mask = prog[U(b + P_MASK)]
    s = k & mask
    if op == op_.FIXED:
        return fixed(src, p, end, arg, data, s, mask, h8)
    if op == op_.DECIMAL:
        return decimal(src, p, end, aux, arg, h64, data, s)
    if op == op_.UUID_TEXT:
        return uuid_text(src, p, end, h8, (data + 2 * s) * 8)
    if op == op_.DURATION:
        return duration(src, p, end, h64, data + 2 * s)
    if op == op_.FLOAT_DOUBLE:
        if end - p < 4:
            return np.int64(-MALFORMED)
        h32[SCRATCH_WORD] = np.int32(ld32(src, p))
        f64[U(data + s)] = np.float64(f32[SCRATCH_WORD])
        return p + 4
    v, p = varint(src, p, end)
    if p < 0:
        return np.int64(-MALFORMED)
    v = unzigzag(v)
    if op == op_.SHORT_BYTES:
        if v < 0 or v > end - p:
            return np.int64(-MALFORMED)
        return np.int64(-LIMIT if v > arg else p + v)
    narrow = aux[U(arg)] if op == op_.TICKS else (np.int64(1) if op == op_.INT_LONG else arg)
    if narrow != 0 and (v < INT_LOW or v > INT_HIGH):
        return np.int64(-MALFORMED)
    if op == op_.TICKS:
        return ticks(v, p, aux, arg, h32, h64, data + s)
    if op == op_.INT_LONG:
        h64[U(data + s)] = v
    elif op == op_.NUMBER_DOUBLE:
        f64[U(data + s)] = np.float64(v)
    else:
        f32[U(data + s)] = np.float32(v)
    return p


@inline
def fixed(src: Bytes, p: Int, end: Int, size: Int, data: Int, s: Int, mask: Int, h8: Bytes) -> Int:
    """``size`` bytes to slot ``s``; nothing is copied for a value that is dropped."""
    if size > end - p:
        return np.int64(-MALFORMED)
    if mask != 0:
        unit = np.int64(1)
        if size == 4:
            unit = np.int64(4)
        elif size & 7 == 0 and size != 0:
            unit = np.int64(8)
        copy(src, p, size, end, h8, data * unit + s * size)
    return p + size


@inline
def ticks(v: Int, p: Int, aux: Longs, arg: Int, h32: Words, h64: Longs, to: Int) -> Int:
    """A number in a coarser unit times a factor, inside a day where there is a bound."""
    factor = aux[U(arg + 1)]
    bound = aux[U(arg + 2)]
    most = LONG_HIGH // factor
    if v > most or v < -most:
        return np.int64(-RANGE)
    t = v * factor
    if bound != 0 and (t < 0 or t >= bound):
        return np.int64(-RANGE)
    if aux[U(arg + 3)] != 0:
        h64[U(to)] = t
    else:
        h32[U(to)] = np.int32(t)
    return p


@inline
def duration(src: Bytes, p: Int, end: Int, h64: Longs, to: Int) -> Int:
    """Months, days and milliseconds, unsigned and little endian, to an interval whose months and days are signed."""
    if end - p < 12:
        return np.int64(-MALFORMED)
    months = ld32(src, p)
    days = ld32(src, p + 4)
    if months > U(INT_HIGH) or days > U(INT_HIGH):
        return np.int64(-RANGE)
    h64[U(to)] = np.int64(months | days << U(32))
    h64[U(to + 1)] = np.int64(ld32(src, p + 8)) * NANOS
    return p + 12


@inline
def hex_digit(c: Int) -> Int:
    """The value of a hexadecimal digit, -1 for anything else."""
    if 48 <= c <= 57:
        return c - 48
    c |= 32
    if 97 <= c <= 102:
        return c - 87
    return np.int64(-1)


@inline
def uuid_text(src: Bytes, p: Int, end: Int, h8: Bytes, to: Int) -> Int:
    """``xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`` in either case to 16 bytes."""
    n, p = varint(src, p, end)
    if p < 0:
        return np.int64(-MALFORMED)
    n = unzigzag(n)
    if n < 0 or n > end - p:
        return np.int64(-MALFORMED)
    if n != UUID_SIZE or not uuid_bytes(src, p, h8, to):
        return np.int64(-UTF8 if utf8_fault(src, p, p + n) >= 0 else -TEXT)
    return p + n


@inline
def uuid_bytes(src: Bytes, q: Int, h8: Bytes, to: Int) -> bool:
    """The 36 characters at ``q`` as 16 bytes; False where they are no UUID."""
    for j in range(16):
        if j in (4, 6, 8, 10):
            if rd(src, q) != 45:
                return False
            q += 1
        high = hex_digit(rd(src, q))
        low = hex_digit(rd(src, q + 1))
        if high < 0 or low < 0:
            return False
        h8[U(to + j)] = np.uint8(high << 4 | low)
        q += 2
    return True


@inline
def decimal(src: Bytes, p: Int, end: Int, aux: Longs, arg: Int, h64: Longs, data: Int, s: Int) -> Int:
    """Two's complement, big endian, of any length, to 2 or 4 words; no bytes are zero. RANGE for more digits than declared."""
    n = aux[U(arg)]
    words = aux[U(arg + 1)]
    if n < 0:
        n, p = varint(src, p, end)
        if p < 0:
            return np.int64(-MALFORMED)
        n = unzigzag(n)
    if n < 0 or n > end - p:
        return np.int64(-MALFORMED)
    to = data + s * words
    sign = np.int64(0)
    if n > 0 and rd(src, p) >= 128:
        sign = np.int64(255)
    q = p
    while n - (q - p) > 8 * words:
        if rd(src, q) != sign:
            return np.int64(-RANGE)
        q += 1
    left = n - (q - p)
    if left > 0 and q > p and (rd(src, q) ^ sign) >= 128:
        return np.int64(-RANGE)
    for j in range(words):
        w = U(0)
        for i in range(8):
            at = j * 8 + i
            byte = sign
            if at < left:
                byte = rd(src, p + n - 1 - at)
            w |= U(byte) << U(8 * i)
        h64[U(to + j)] = np.int64(w)
    if not below(h64, to, words, aux, arg + 2, sign):
        return np.int64(-RANGE)
    return p + n


@inline
def below(h64: Longs, to: Int, words: Int, aux: Longs, limit: Int, sign: Int) -> bool:
    """Whether the magnitude of the number at ``to`` is below the limit; both have ``words`` words, lowest first."""
    carry = U(1)
    less: Any = False
    for j in range(words):
        w = U(h64[U(to + j)])
        if sign != 0:
            w = ~w + carry
            if w != U(0):
                carry = U(0)
        x = U(aux[U(limit + j)])
        if w != x:
            less = w < x
    return bool(less)
