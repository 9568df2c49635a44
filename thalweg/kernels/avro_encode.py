# ruff: noqa: PLR2004, C901, PLR0911, PLR0912, PLR0915, PLR1714 - a machine's loop is one function; the numbers are bytes
"""The Avro machine backwards: runs a program over the slots of each row and appends the datum."""

from __future__ import annotations

import numpy as np

from thalweg.kernels import avro_encode_ops as op_
from thalweg.kernels.avro_values import INT_HIGH, INT_LOW, LONG_HIGH, below
from thalweg.kernels.jit import apart, inline, kernel
from thalweg.kernels.memory import Bytes, Int, Longs, U, Words, copy, put_varint, st32, st64, zigzag
from thalweg.kernels.program import (
    BRANCH,
    C_VALID,
    FIELDS,
    OK,
    P_ARG,
    P_DATA,
    P_JUMP,
    P_OFFS,
    P_VALID,
    RANGE,
    SYMBOL,
    TYPE,
    WORDS,
)

MILLION = 1_000_000
FULL = np.int64(-1)
"""Position for an output that is too small."""


@kernel
def encode(
    prog: Longs, aux: Longs, constants: Bytes, cols: Longs, stack: Longs, h8: Bytes, h32: Words, h64: Longs, prefix: Bytes,
    out: Bytes, offs: Words, codes: Bytes, faults: Words, state: Longs,
) -> Int:  # fmt: skip
    """Encodes rows from ``state[S_ROW]`` on; returns the row that needs a larger ``out``, or the number of rows.

    ``prog`` int64[m * WORDS] and ``aux`` int64[] in; ``constants`` uint8[] in: defaults; ``cols`` int64[c * FIELDS] in; ``stack`` int64[] scratch;
    ``h8`` uint8[], ``h32`` int32[], ``h64`` int64[] in: the arena; ``prefix`` uint8[] in: written before each datum; ``out`` uint8[] out;
    ``offs`` int32[n + 1] in and out: ``offs[i + 1]`` ends row i; ``codes`` uint8[n] out; ``faults`` int32[n] out: program row of a bad one;
    ``state`` int64[2] in and out. A bad row has no bytes. Never allocates, raises, or reads past the end.
    """
    i = state[op_.S_ROW]
    start = state[op_.S_OUT]
    n = codes.shape[0]
    size = prefix.shape[0]
    while i < n:
        if start + size + 8 > out.shape[0]:
            break
        for j in range(size):
            out[U(start + j)] = prefix[U(j)]
        code, o, b = datum(start + size, i, prog, aux, constants, cols, stack, h8, h32, h64, out)
        if o < 0:
            break
        if code == OK:
            start = o
        else:
            codes[U(i)] = np.uint8(code)
            faults[U(i)] = np.int32(b // WORDS)
        offs[U(i + 1)] = np.int32(start)
        i += 1
    state[op_.S_ROW] = i
    state[op_.S_OUT] = start
    return i


@inline
def datum(
    o: Int, k: Int, prog: Longs, aux: Longs, constants: Bytes, cols: Longs, stack: Longs, h8: Bytes, h32: Words, h64: Longs, out: Bytes,
) -> tuple[Int, Int, Int]:  # fmt: skip
    """Writes slot ``k`` of the row's columns at ``o``: ``(code, position after it, word of the program)``; position -1 when ``out`` is too small."""
    b = np.int64(0)
    sp = np.int64(0)
    most = out.shape[0] - op_.LONGEST
    while True:
        op = prog[U(b)]
        data = prog[U(b + P_DATA)]
        if o > most:
            return np.int64(OK), FULL, b
        if op == op_.LONG:
            o = put_varint(out, o, zigzag(h64[U(data + k)]))
        elif op == op_.INT:
            o = put_varint(out, o, zigzag(np.int64(h32[U(data + k)])))
        elif op == op_.DOUBLE:
            st64(out, o, U(h64[U(data + k)]))
            o += 8
        elif op == op_.TEXT:
            at = np.int64(h32[U(prog[U(b + P_OFFS)] + k)])
            n = np.int64(h32[U(prog[U(b + P_OFFS)] + k + 1)]) - at
            if n > most - o:
                return np.int64(OK), FULL, b
            o = put_varint(out, o, U(n) << U(1))
            copy(h8, data + at, n, data + at + n, out, o)
            o += n
        elif op == op_.NULLABLE:
            here = h8[U(prog[U(b + P_VALID)] + k)] != 0
            null = prog[U(b + P_ARG)]
            out[U(o)] = np.uint8(2 * (1 - null) if here else 2 * null)
            o += 1
            if not here:
                b = prog[U(b + P_JUMP)]
                continue
        elif op == op_.NEEDED:
            if h8[U(prog[U(b + P_VALID)] + k)] == 0:
                return np.int64(TYPE), o, b
        elif op == op_.BOOLEAN:
            out[U(o)] = h8[U(data + k)]
            o += 1
        elif op == op_.FLOAT:
            st32(out, o, U(h32[U(data + k)]))
            o += 4
        elif op <= op_.LIST_END:
            code, o, b, k, sp = nested(op, o, b, k, sp, prog, stack, h32, out)
            if code != OK:
                return code, o, b
            continue
        elif op == op_.END:
            return np.int64(OK), o, b
        elif op == op_.ELSE_NULL:
            if h8[U(prog[U(b + P_VALID)] + k)] == 0:
                o = put_varint(out, o, U(prog[U(b + P_ARG)]) << U(1))
                b = prog[U(b + P_JUMP)] - WORDS
        elif op >= op_.UNION:
            code, b, k, sp = branch(op, b, k, sp, prog, aux, cols, stack, h8, h32)
            if code != OK:
                return code, o, b
            continue
        elif op == op_.JUMP:
            b = prog[U(b + P_JUMP)]
            continue
        else:
            code, o = value(op, o, b, k, prog, aux, constants, h8, h32, h64, out)
            if code != OK or o < 0:
                return code, o, b
        b += WORDS


@inline
def nested(
    op: Int, o: Int, b: Int, k: Int, sp: Int, prog: Longs, stack: Longs, h32: Words, out: Bytes,
) -> tuple[Int, Int, Int, Int, Int]:  # fmt: skip
    """Enums and lists: ``(code, position, next word, slot, stack)``."""
    if op == op_.ENUM:
        v = np.int64(h32[U(prog[U(b + P_DATA)] + k)])
        if v < 0 or v >= prog[U(b + P_ARG)]:
            return np.int64(SYMBOL), o, b, k, sp
        return np.int64(OK), put_varint(out, o, U(v) << U(1)), b + WORDS, k, sp
    if op == op_.LIST:
        first = np.int64(h32[U(prog[U(b + P_OFFS)] + k)])
        end = np.int64(h32[U(prog[U(b + P_OFFS)] + k + 1)])
        o = put_varint(out, o, U(end - first) << U(1))
        if end == first:
            return np.int64(OK), o, prog[U(b + P_JUMP)], k, sp
        stack[U(sp)] = k
        stack[U(sp + 1)] = end
        return np.int64(OK), o, b + WORDS, first, sp + op_.FRAME
    k += 1
    if k < stack[U(sp - 1)]:
        return np.int64(OK), o, prog[U(b + P_JUMP)], k, sp
    out[U(o)] = 0
    return np.int64(OK), o + 1, b + WORDS, stack[U(sp - op_.FRAME)], sp - op_.FRAME


@apart
def branch(
    op: Int, b: Int, k: Int, sp: Int, prog: Longs, aux: Longs, cols: Longs, stack: Longs, h8: Bytes, h32: Words,
) -> tuple[Int, Int, Int, Int]:  # fmt: skip
    """Unions: ``(code, next word, slot, stack)``."""
    arg = prog[U(b + P_ARG)]
    if op == op_.FAIL:
        return arg, b, k, sp
    if op == op_.LEAVE:
        return np.int64(OK), b + WORDS, stack[U(sp - op_.FRAME)], sp - op_.FRAME
    if op == op_.UNION:
        to = aux[U(arg + np.int64(h8[U(prog[U(b + P_DATA)] + k)]))]
        if to < 0:
            return np.int64(BRANCH), b, k, sp
        stack[U(sp)] = k
        return np.int64(OK), to, np.int64(h32[U(prog[U(b + P_OFFS)] + k)]), sp + op_.FRAME
    to = np.int64(-1)
    for j in range(aux[U(arg)]):
        column = aux[U(arg + 1 + 2 * j)]
        if h8[U(cols[U(column * FIELDS + C_VALID)] + k)] != 0:
            if to >= 0:
                return np.int64(BRANCH), b, k, sp
            to = aux[U(arg + 2 + 2 * j)]
    return np.int64(OK if to >= 0 else BRANCH), to if to >= 0 else b, k, sp


@apart
def value(
    op: Int, o: Int, b: Int, k: Int, prog: Longs, aux: Longs, constants: Bytes, h8: Bytes, h32: Words, h64: Longs, out: Bytes,
) -> tuple[Int, Int]:  # fmt: skip
    """Values that are rarer: ``(code, position after it)``; position -1 when ``out`` is too small."""
    arg, data = prog[U(b + P_ARG)], prog[U(b + P_DATA)]
    left = out.shape[0] - op_.LONGEST - o
    if op == op_.BRANCH:
        return np.int64(OK), put_varint(out, o, U(arg) << U(1))
    if op == op_.CONSTANT:
        n = prog[U(b + P_JUMP)] - arg
        if n > left:
            return np.int64(OK), FULL
        copy(constants, arg, n, arg + n, out, o)
        return np.int64(OK), o + n
    if op == op_.FIXED or op == op_.SIZED:
        at = arg * k
        if op == op_.SIZED:
            at = np.int64(h32[U(prog[U(b + P_OFFS)] + k)])
            if h32[U(prog[U(b + P_OFFS)] + k + 1)] - at != arg:
                return np.int64(RANGE), o
        elif arg == 4:
            data *= 4
        elif arg & 7 == 0 and arg != 0:
            data *= 8
        if arg > left:
            return np.int64(OK), FULL
        copy(h8, data + at, arg, data + at + arg, out, o)
        return np.int64(OK), o + arg
    if op == op_.DECIMAL:
        return decimal(o, k, data, aux, arg, h8, h64, out, left)
    if op == op_.UUID_TEXT:
        return np.int64(OK), uuid_text(o, (data + 2 * k) * 8, h8, out)
    if op == op_.DURATION:
        return duration(o, h64[U(data + 2 * k)], h64[U(data + 2 * k + 1)], out)
    v = h64[U(data + k)]
    if op == op_.NARROW and (v < INT_LOW or v > INT_HIGH):
        return np.int64(RANGE), o
    if op == op_.UNSIGNED and v < 0:
        return np.int64(RANGE), o
    if op == op_.SCALED:
        most = LONG_HIGH // arg
        if v > most or v < -most:
            return np.int64(RANGE), o
        v *= arg
    return np.int64(OK), put_varint(out, o, zigzag(v))


@inline
def decimal(o: Int, k: Int, data: Int, aux: Longs, arg: Int, h8: Bytes, h64: Longs, out: Bytes, left: Int) -> tuple[Int, Int]:
    """Two's complement, big endian: as short as it goes, or as long as the fixed is."""
    size, words = aux[U(arg)], aux[U(arg + 1)]
    to = data + k * words
    sign = np.int64(255 if h64[U(to + words - 1)] < 0 else 0)
    if not below(h64, to, words, aux, arg + 2, sign):
        return np.int64(RANGE), o
    n = 8 * words
    while n > 1 and h8[U(8 * to + n - 1)] == sign and (np.int64(h8[U(8 * to + n - 2)]) ^ sign) < 128:
        n -= 1
    if size < 0:
        size = n
        o = put_varint(out, o, U(n) << U(1))
    if size < n:
        return np.int64(RANGE), o
    if size > left:
        return np.int64(OK), FULL
    for j in range(size):
        at = size - 1 - j
        out[U(o + j)] = h8[U(8 * to + at)] if at < n else np.uint8(sign)
    return np.int64(OK), o + size


@inline
def uuid_text(o: Int, at: Int, h8: Bytes, out: Bytes) -> Int:
    """16 bytes as 36 characters, with their length."""
    out[U(o)] = 72
    o += 1
    for j in range(16):
        if j in (4, 6, 8, 10):
            out[U(o)] = 45
            o += 1
        v = np.int64(h8[U(at + j)])
        out[U(o)] = np.uint8(hex_char(v >> 4))
        out[U(o + 1)] = np.uint8(hex_char(v & 15))
        o += 2
    return o


@inline
def hex_char(v: Int) -> Int:
    """A hexadecimal digit in lower case."""
    return v + 48 if v < 10 else v + 87


@inline
def duration(o: Int, first: Int, nanos: Int, out: Bytes) -> tuple[Int, Int]:
    """Months, days and milliseconds, unsigned; RANGE for negative ones and for parts of a millisecond."""
    months = U(first) & U(0xFFFFFFFF)
    days = U(first) >> U(32)
    millis = nanos // MILLION
    if months > U(INT_HIGH) or days > U(INT_HIGH) or millis < 0 or millis > 0xFFFFFFFF or millis * MILLION != nanos:
        return np.int64(RANGE), o
    st32(out, o, months)
    st32(out, o + 4, days)
    st32(out, o + 8, U(millis))
    return np.int64(OK), o + 12
