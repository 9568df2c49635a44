# ruff: noqa: PLR2004, C901, PLR0912, PLR0915 - a machine's loop is one function; the numbers are bytes
"""The machine that writes JSON: walks the columns of a batch row by row and appends a document for each."""

from __future__ import annotations

import numpy as np

from thalweg.kernels import encode_ops as op_
from thalweg.kernels.encode_ops import E_ARG, E_DATA, E_JUMP, E_NAME, E_OFFS, E_OP, E_SIZE, E_VALID, FULL, NODE, NOT_FINITE
from thalweg.kernels.jit import apart, inline, kernel
from thalweg.kernels.json_write import put_base64, put_clock, put_date, put_string, put_uuid
from thalweg.kernels.memory import Bytes, Doubles, Floats, Int, Longs, U, ULongs, Words, copy, word, word32
from thalweg.kernels.program import OK
from thalweg.kernels.shortest import LOW63, put_decimal, put_double, put_integer

INFINITE = U(0x7FF0000000000000)
COMMA, QUOTE = np.uint8(44), np.uint8(34)


@kernel
def encode(
    prog: Longs, names: Bytes, tens: ULongs, h8: Bytes, h32: Words, h64: Longs, f32: Floats, stack: Longs, cell: Longs,
    cell64: Doubles, out: Bytes, offs: Words, codes: Bytes, places: Words, state: Longs,
) -> Int:  # fmt: skip
    """Writes rows from ``state[S_ROW]`` on; returns the row that needs a larger ``out``, or the number of rows.

    ``prog`` int64[m * NODE] in; ``names`` uint8[] in; ``tens`` uint64[] in: :func:`reciprocals`; ``h8`` to ``f32`` in: the columns, as the
    program says where; ``stack`` int64[] and ``cell`` int64[4] scratch, ``cell64`` the same as doubles; ``out`` uint8[] out; ``offs`` int32[n + 1]
    out; ``codes`` uint8[n] out: one a row, a row with a code has no bytes; ``places`` int32[n] out: the node at fault; ``state`` int64[2] in
    and out. Never allocates, raises, or reads or writes past the end.
    """
    n = offs.shape[0] - 1
    i = state[op_.S_ROW]
    d = state[op_.S_END]
    while i < n:
        end, code, t = row(i, d, prog, names, tens, h8, h32, h64, f32, stack, cell, cell64, out)
        if code == FULL:
            break
        if code == OK:
            d = end
        else:
            codes[U(i)] = np.uint8(code)
            places[U(i)] = np.int32(t)
        i += 1
        offs[U(i)] = np.int32(d)
    state[op_.S_ROW] = i
    state[op_.S_END] = d
    return i


@inline
def row(
    i: Int, d: Int, prog: Longs, names: Bytes, tens: ULongs, h8: Bytes, h32: Words, h64: Longs, f32: Floats, stack: Longs,
    cell: Longs, cell64: Doubles, out: Bytes,
) -> tuple[Int, Int, Int]:  # fmt: skip
    """The document of row ``i`` to ``out[d:]``: ``(position after it, code, node)``."""
    most = out.shape[0] - op_.SPARE
    if d > most:
        return d, FULL, 0
    node, k, sp = 0, i, 0
    at, last = 1, prog[E_JUMP]
    first = 0
    op = prog[E_OP]
    out[U(d)] = np.uint8(123)
    d += 1
    while True:
        # -- at: the next member of an object, or the next item; last: the one after all
        if d > most:
            return d, FULL, node
        if at == last:
            out[U(d)] = np.uint8(93 if op == op_.LIST else 125)
            d += 1
            if sp == 0:
                return d, OK, node
            t = node
            sp -= op_.FRAME
            node, k, at, last = word(stack, sp), word(stack, sp + 1), word(stack, sp + 2), word(stack, sp + 3)
            op = word(prog, node * NODE)
            first = -1
            at = word(prog, t * NODE + E_JUMP) if op == op_.OBJECT else at + 1
            continue
        t, s = at, k
        if op == op_.OBJECT:
            size = word(prog, at * NODE + E_SIZE)
            name = word(prog, at * NODE + E_NAME)
            if d + size > most:
                return d, FULL, t
            copy(names, name, size, names.shape[0], out, d)
            d += size
        else:
            s = at
            t = node + 1
            if at != first:
                out[U(d)] = COMMA
                d += 1
            if op == op_.MAP:
                d = member_name(t, s, d, prog, h8, h32, out, most)
                if d < 0:
                    return d, FULL, t
                t += 1
        b = t * NODE
        kind = word(prog, b)
        if word(prog, b + E_VALID) >= 0 and h8[U(word(prog, b + E_VALID) + s)] == 0:
            d = put_null(out, d)
        elif op_.OBJECT <= kind <= op_.MAP:
            stack[U(sp)], stack[U(sp + 1)], stack[U(sp + 2)], stack[U(sp + 3)] = node, k, at, last
            sp += op_.FRAME
            node, k, op = t, s, kind
            out[U(d)] = np.uint8(91 if kind == op_.LIST else 123)
            d += 1
            if kind == op_.OBJECT:
                at, last = t + 1, word(prog, b + E_JUMP)
            else:
                at, last = word32(h32, word(prog, b + E_OFFS) + s), word32(h32, word(prog, b + E_OFFS) + s + 1)
            first = at
            continue
        else:
            d, code = value(kind, b, s, d, prog, tens, h8, h32, h64, f32, cell, cell64, out, most)
            if code != OK:
                return d, code, t
        at = word(prog, b + E_JUMP) if op == op_.OBJECT else at + 1


@inline
def member_name(t: Int, s: Int, d: Int, prog: Longs, h8: Bytes, h32: Words, out: Bytes, most: Int) -> Int:
    """A map's key and a colon; -1 where there may be no room."""
    d = text(t * NODE, s, d, prog, h8, h32, out, most)
    if d >= 0:
        out[U(d)] = np.uint8(58)
        d += 1
    return d


@apart
def text(b: Int, s: Int, d: Int, prog: Longs, h8: Bytes, h32: Words, out: Bytes, most: Int) -> Int:
    """Slot ``s`` of a column of bytes, as a string, as it stands or as base64; -1 where there may be no room."""
    o = word(prog, b + E_OFFS) + s
    p = word(prog, b + E_DATA) + np.int64(h32[U(o)])
    end = word(prog, b + E_DATA) + np.int64(h32[U(o + 1)])
    kind = word(prog, b)
    if kind == op_.RAW:
        if d + end - p > most:
            return -1
        copy(h8, p, end - p, end, out, d)
        return d + end - p
    if kind == op_.BINARY:
        if d + 2 * (end - p) > most:
            return -1
        return put_base64(h8, p, end, out, d)
    return put_string(h8, p, end, out, d, most)


@inline
def value(
    kind: Int, b: Int, s: Int, d: Int, prog: Longs, tens: ULongs, h8: Bytes, h32: Words, h64: Longs, f32: Floats,
    cell: Longs, cell64: Doubles, out: Bytes, most: Int,
) -> tuple[Int, Int]:  # fmt: skip
    """A value without parts: ``(position after it, code)``."""
    data = word(prog, b + E_DATA)
    if kind == op_.TEXT or kind == op_.RAW or kind == op_.BINARY:  # noqa: PLR1714 - Numba compares faster so
        d = text(b, s, d, prog, h8, h32, out, most)
        return d, (FULL if d < 0 else OK)
    if kind <= op_.LAST_INT:
        return put_integer(out, d, integer_at(kind, data, s, h8, h32, h64), np.int64(kind <= op_.INT8)), OK
    if kind == op_.DOUBLE or kind == op_.FLOAT:  # noqa: PLR1714 - as above
        bits = U(h64[U(data + s)]) if kind == op_.DOUBLE else U(0)
        if kind == op_.FLOAT:
            cell64[0] = np.float64(f32[U(data + s)])
            bits = U(cell[0])
        if bits & LOW63 >= INFINITE:
            return d, NOT_FINITE
        return put_double(out, d, bits, tens), OK
    if kind == op_.BOOLEAN:
        return put_boolean(out, d, h8[U(data + s)] != 0), OK
    return rare(kind, b, s, d, prog, h8, h32, h64, cell, out, most)


@apart
def rare(
    kind: Int, b: Int, s: Int, d: Int, prog: Longs, h8: Bytes, h32: Words, h64: Longs, cell: Longs, out: Bytes, most: Int,
) -> tuple[Int, Int]:  # fmt: skip
    """Decimals, times, bytes of one size, UUIDs: ``(position after it, code)``."""
    arg = word(prog, b + E_ARG)
    data = word(prog, b + E_DATA)
    if kind == op_.DECIMAL:
        words = arg // op_.DECIMAL_WIDTH >> 3
        for j in range(words):
            cell[U(j)] = h64[U(data + s * words + j)]
        if words == 0:
            words = 1
            cell[0] = np.int64(h32[U(data + s)])
        return put_decimal(out, d, cell, 0, words, arg % op_.DECIMAL_WIDTH - op_.DECIMAL_SCALE), OK
    if kind == op_.FIXED:
        if d + 2 * arg > most:
            return d, FULL
        return put_base64(h8, data + s * arg, data + (s + 1) * arg, out, d), OK
    if kind == op_.UUID:
        return put_uuid(h8, data + 16 * s, out, d), OK
    if kind == op_.NOTHING:
        return put_null(out, d), OK
    out[U(d)] = QUOTE
    code = OK
    if kind == op_.DATE:
        d, code = put_date(out, d + 1, np.int64(h32[U(data + s)]))
    elif kind == op_.TIME:
        v = np.int64(h32[U(data + s)]) if arg <= 3 else h64[U(data + s)]
        d = put_clock(out, d + 1, v, arg)
    else:
        d, code = put_stamp(out, d + 1, h64[U(data + s)], arg & (op_.ZONED - 1), arg & op_.ZONED)
    out[U(d)] = QUOTE
    return d + 1, code


@inline
def put_stamp(out: Bytes, d: Int, v: Int, places: Int, zoned: Int) -> tuple[Int, Int]:
    """A timestamp without its quotes."""
    a_day = np.int64(86_400)
    for _ in range(places):
        a_day *= 10
    days = v // a_day
    d, code = put_date(out, d, days)
    if code != OK:
        return d, code
    out[U(d)] = np.uint8(84)
    d = put_clock(out, d + 1, v - days * a_day, places)
    if zoned != 0:
        out[U(d)] = np.uint8(90)
        d += 1
    return d, code


@inline
def integer_at(kind: Int, data: Int, s: Int, h8: Bytes, h32: Words, h64: Longs) -> Int:
    """Slot ``s`` of a column of integers, as a word."""
    width = (kind - 1) & 3
    is_signed = kind <= op_.INT8
    if width == 0:
        return h64[U(data + s)]
    if width == 1:
        v = np.int64(h32[U(data + s)])
        return v if is_signed else v & 0xFFFFFFFF
    if width == 2:
        v = np.int64(h8[U(data + 2 * s)]) | np.int64(h8[U(data + 2 * s + 1)]) << 8
        return v - ((v & 0x8000) << 1) if is_signed else v
    v = np.int64(h8[U(data + s)])
    return v - ((v & 0x80) << 1) if is_signed else v


@inline
def put_null(out: Bytes, d: Int) -> Int:
    """``null``."""
    out[U(d)] = np.uint8(110)
    out[U(d + 1)] = np.uint8(117)
    out[U(d + 2)] = np.uint8(108)
    out[U(d + 3)] = np.uint8(108)
    return d + 4


@inline
def put_boolean(out: Bytes, d: Int, is_true: bool) -> Int:  # noqa: FBT001 - Numba knows no keywords only
    """``true`` or ``false``."""
    if is_true:
        out[U(d)] = np.uint8(116)
        out[U(d + 1)] = np.uint8(114)
        out[U(d + 2)] = np.uint8(117)
        out[U(d + 3)] = np.uint8(101)
        return d + 4
    out[U(d)] = np.uint8(102)
    out[U(d + 1)] = np.uint8(97)
    out[U(d + 2)] = np.uint8(108)
    out[U(d + 3)] = np.uint8(115)
    out[U(d + 4)] = np.uint8(101)
    return d + 5
