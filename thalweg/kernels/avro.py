# ruff: noqa: PLR2004, C901, PLR0911, PLR0912, PLR0915, PLR1714 - a machine's loop is one function; the numbers are bytes
"""The Avro machine: runs a program over each payload of a batch and appends what it says to columns."""

from __future__ import annotations

import numpy as np

from thalweg.kernels import avro_ops as op_
from thalweg.kernels.avro_glide import glide
from thalweg.kernels.avro_values import INT_HIGH, INT_LOW, value
from thalweg.kernels.columns import nulls, room
from thalweg.kernels.jit import apart, inline, kernel
from thalweg.kernels.keys import repeats
from thalweg.kernels.machine import caller
from thalweg.kernels.memory import (
    Bytes,
    Doubles,
    Floats,
    Int,
    Longs,
    U,
    Words,
    copy,
    high_bits,
    ld32,
    ld64,
    rd,
    unzigzag,
    utf8_fault,
    varint,
)
from thalweg.kernels.program import (
    BRANCH,
    C_DATA,
    C_OFFS,
    FIELDS,
    LIMIT,
    MALFORMED,
    NULL_ROW,
    OK,
    P_ARG,
    P_COLUMN,
    P_DATA,
    P_JUMP,
    P_MASK,
    P_OFFS,
    P_VALID,
    SLOW,
    SYMBOL,
    TRAILING,
    TYPE,
    UTF8,
    WORDS,
)

call = caller(2, "int32")
MOST_NEGATIVE = -(1 << 63)


@kernel
def decode(
    src: Bytes, offs: Words, skips: Words, present: Bytes, prog: Longs, aux: Longs, cols: Longs, counters: Longs, saved: Longs,
    used: Longs, used_bytes: Longs, stack: Longs, seen: Words, h8: Bytes, h32: Words, h64: Longs, f32: Floats, f64: Doubles,
    state: Longs, codes: Bytes, faults: Longs, rows: Words, straight: Longs,
) -> Int:  # fmt: skip
    """Decodes rows from ``state[S_ROW]`` on; returns the row that needs a larger arena, or the number of rows.

    ``src`` uint8[] in: all payloads; ``offs`` int32[n + 1] in: where each begins; ``skips`` int32[1 or n] in: bytes of framing before
    each datum; ``present`` uint8[0 or n] in: 0 for no payload; ``prog`` int64[m * WORDS] in; ``aux`` int64[] in: side tables; ``cols``
    int64[c * FIELDS] in; ``counters`` int64[] in and out, ``saved`` the same length, scratch; ``used`` and ``used_bytes`` int64[c] out; ``stack``
    int64[] and ``seen`` int32[] scratch; ``h8`` uint8[], ``h32`` int32[], ``h64`` int64[], ``f32`` float32[], ``f64`` float64[] out: the arena; ``state`` int64[3] in
    and out; ``codes`` uint8[n] out: one a row; ``faults`` int64[n * FAULT] out: of bad rows only; ``rows`` int32[n] out: the good ones,
    ``state[S_OUT]`` of them; ``straight`` int64[A_WORDS or 0] in and out: the code that was written for this program. Never allocates, raises, or reads past the end.
    """
    i = state[op_.S_ROW]
    k = state[op_.S_OUT]
    budget = np.int64(-1)
    n = offs.shape[0] - 1
    last_skip = skips.shape[0] - 1
    pace = np.int64(0)
    while i < n:
        if pace > 0:
            pace -= 1
        elif straight.shape[0] != 0 and budget >= 0:
            begun = i
            i, k, budget = by_own_code(straight, i, k, budget)
            if i == n:
                break
            if i - begun < op_.FEW:
                pace = straight[op_.A_PAUSE]
        p = np.int64(offs[U(i)]) + skips[U(min(i, last_skip))]
        end = np.int64(offs[U(i + 1)])
        code = np.int64(OK)
        if present.shape[0] != 0 and present[U(i)] == 0:
            code = np.int64(NULL_ROW)
        elif p > end:
            code = np.int64(MALFORMED)
        where, pc, detail = end, np.int64(0), np.int64(0)
        if code == OK:
            need = end - p + state[op_.S_ROOM]
            budget -= need
            if budget < 0:
                budget = room(cols, k, h32, counters, used, used_bytes) - need
                if budget < 0:
                    break
            for j in range(counters.shape[0]):
                saved[j] = counters[j]
            code, where, pc, detail = datum(src, p, end, k, prog, aux, cols, counters, stack, seen, h8, h32, h64, f32, f64)
        if code == OK:
            rows[U(k)] = np.int32(i)
            k += 1
        else:
            codes[U(i)] = np.uint8(code)
            faults[U(i * op_.FAULT + op_.F_WHERE)] = where - offs[U(i)]
            faults[U(i * op_.FAULT + op_.F_OP)] = pc // WORDS
            faults[U(i * op_.FAULT + op_.F_DETAIL)] = detail
            if code != NULL_ROW and p <= end:
                for j in range(counters.shape[0]):
                    counters[j] = saved[j]
        i += 1
    state[op_.S_ROW] = i
    state[op_.S_OUT] = k
    return i


@inline
def by_own_code(straight: Longs, i: Int, k: Int, budget: Int) -> tuple[Int, Int, Int]:
    """Rows from ``i`` on by the code that was written for the program: ``(row, slot, budget)`` of the first that is not common."""
    straight[op_.A_ROW], straight[op_.A_SLOT], straight[op_.A_BUDGET] = i, k, budget
    straight[op_.A_OUTSIDE] |= call(U(straight[op_.A_CODE]), U(straight[op_.A_SELF]), U(straight[op_.A_SELF]))
    return straight[op_.A_ROW], straight[op_.A_SLOT], straight[op_.A_BUDGET]


@inline
def block(src: Bytes, p: Int, end: Int, count: Int) -> tuple[Int, Int, Int]:
    """``(items, next position, where the block ends or -1)`` after the count of a block was read; position -1 for a fault."""
    if count >= 0:
        return count, p, np.int64(-1)
    size, p = varint(src, p, end)
    size = unzigzag(size)
    if p < 0 or size < 0 or size > end - p:
        return np.int64(0), np.int64(-1), np.int64(-1)
    return -(count + 1) + np.int64(count != MOST_NEGATIVE), p, p + size


@inline
def claim(count: Int, left: Int, least: Int, stack: Longs) -> Int:
    """Code for a block of ``count`` items of ``least`` bytes or more, with ``left`` bytes to come."""
    if least != 0:
        return np.int64(MALFORMED if count > left or count * least > left else OK)
    if count > op_.MAX_EMPTY_ITEMS or count + stack[op_.R_EMPTIES] > op_.MAX_EMPTY_ITEMS:
        return np.int64(LIMIT)
    stack[op_.R_EMPTIES] += count
    return np.int64(OK)


@inline
def datum(
    src: Bytes, p: Int, end: Int, k: Int, prog: Longs, aux: Longs, cols: Longs, counters: Longs, stack: Longs,
    seen: Words, h8: Bytes, h32: Words, h64: Longs, f32: Floats, f64: Doubles,
) -> tuple[Int, Int, Int, Int]:  # fmt: skip
    """Reads ``src[p:end]`` into slot ``k`` of the row's columns: ``(code, position, word of the program, branch or symbol)``."""
    b = np.int64(0)
    stack[op_.R_TOP], stack[op_.R_EMPTIES], stack[op_.R_CALLS] = op_.FIRST_FRAME, 0, 0
    while True:
        p, b, k = glide(src, p, end, b, k, prog, stack, h8, h32, h64)
        op = prog[U(b)] & op_.OPS
        s = k & prog[U(b + P_MASK)]
        code, q, v = np.int64(OK), p, np.int64(0)
        if op <= op_.LAST_VARINT:
            v, p = varint(src, p, end)
            if p < 0:
                return np.int64(MALFORMED), q, b, v
            v = unzigzag(v)
            if op == op_.LONG:
                h64[U(prog[U(b + P_DATA)] + s)] = v
            elif op == op_.INT:
                code = np.int64(MALFORMED if v < INT_LOW or v > INT_HIGH else OK)
                h32[U(prog[U(b + P_DATA)] + s)] = np.int32(v)
            elif op == op_.NULLABLE:
                if v == prog[U(b + P_ARG)] & 1:
                    if prog[U(b + P_COLUMN)] >= 0:
                        nulls(cols, prog[U(b + P_COLUMN)], k, h8, h32, h64, counters, stack, stack[op_.R_TOP])
                    b = prog[U(b + P_JUMP)]
                    continue
                h8[U(prog[U(b + P_VALID)] + s)] = 1
                code = np.int64(OK if v == 1 - (prog[U(b + P_ARG)] & 1) else BRANCH)
            elif op == op_.ENUM:
                code = np.int64(OK if 0 <= v < prog[U(b + P_ARG)] else SYMBOL)
                h32[U(prog[U(b + P_DATA)] + s)] = np.int32(v)
            elif op == op_.TEXT:
                code, p = text(src, p, end, v, prog, b, s, h8, h32)
            elif op == op_.LIST:
                code, p, b, k = list_begin(src, p, end, v, k, prog, b, stack, h32)
                if code == OK:
                    continue
            else:
                code, b = choice(v, prog, b, s, aux, h32)
        elif op == op_.DOUBLE:
            if end - p < 8:
                return np.int64(MALFORMED), q, b, v
            h64[U(prog[U(b + P_DATA)] + s)] = np.int64(ld64(src, p))
            p += 8
        elif op == op_.LIST_END or op == op_.MAP_END:
            code, p, b, k = list_next(src, p, end, k, prog, b, stack, cols, seen, h8, h32)
            if code == OK:
                continue
        elif op <= op_.BOOLEAN:
            code, p = short_value(src, p, end, op, prog[U(b + P_DATA)] + s, h8, h32)
        elif op < op_.FIXED:
            if op == op_.END:
                return np.int64(OK if p == end else TRAILING), q, b, v
            code, b, k = flow(op, src, p, k, s, prog, b, cols, counters, stack, h8, h32, h64)
            if code == OK:
                continue
        else:
            p = value(src, p, end, k, prog, b, aux, h8, h32, h64, f32, f64)
            code = np.int64(-p if p < 0 else OK)
        if code != OK:
            return code, q, b, v
        b += WORDS


@inline
def text(src: Bytes, p: Int, end: Int, n: Int, prog: Longs, b: Int, s: Int, h8: Bytes, h32: Words) -> tuple[Int, Int]:
    """``n`` bytes to slot ``s``, as they are or as checked text; only checked where the value is dropped: ``(code, next position)``."""
    if n < 0 or n > end - p:
        return np.int64(MALFORMED), p
    if prog[U(b + P_MASK)] != 0:
        o = prog[U(b + P_OFFS)] + s
        at = np.int64(h32[U(o)])
        high = copy(src, p, n, end, h8, prog[U(b + P_DATA)] + at)
        h32[U(o + 1)] = np.int32(at + n)
    else:
        high = high_bits(src, p, n)
    if high & U(prog[U(b + P_ARG)]) != U(0) and utf8_fault(src, p, p + n) >= 0:
        return np.int64(UTF8), p
    return np.int64(OK), p + n


@inline
def short_value(src: Bytes, p: Int, end: Int, op: Int, to: Int, h8: Bytes, h32: Words) -> tuple[Int, Int]:
    """A float or a boolean: ``(code, next position)``."""
    if op == op_.FLOAT:
        if end - p < 4:
            return np.int64(MALFORMED), p
        h32[U(to)] = np.int32(ld32(src, p))
        return np.int64(OK), p + 4
    if p >= end or rd(src, p) > 1:
        return np.int64(MALFORMED), p
    h8[U(to)] = src[U(p)]
    return np.int64(OK), p + 1


@inline
def choice(v: Int, prog: Longs, b: Int, s: Int, aux: Longs, h32: Words) -> tuple[Int, Int]:
    """A branch of a union, or a symbol that the reader numbers in its own way: ``(code, word before the next op)``."""
    arg = prog[U(b + P_ARG)]
    known = 0 <= v < aux[U(arg)]
    if prog[U(b)] & op_.OPS == op_.BRANCHES:
        return (np.int64(OK), aux[U(arg + 1 + v)] - WORDS) if known else (np.int64(BRANCH), b)
    if not known:
        return np.int64(SYMBOL), b
    h32[U(prog[U(b + P_DATA)] + s)] = np.int32(aux[U(arg + 1 + v)])
    return np.int64(OK if aux[U(arg + 1 + v)] >= 0 else TYPE), b


@inline
def list_begin(
    src: Bytes, p: Int, end: Int, count: Int, k: Int, prog: Longs, b: Int, stack: Longs, h32: Words,
) -> tuple[Int, Int, Int, Int]:  # fmt: skip
    """The first block of a list in slot ``k``: ``(code, position, word, slot)``."""
    mask = prog[U(b + P_MASK)]
    o = prog[U(b + P_OFFS)] + (k & mask)
    first = np.int64(h32[U(o)]) & mask
    if count == 0:
        h32[U(o + 1)] = np.int32(first)
        return np.int64(OK), p, prog[U(b + P_JUMP)], k
    count, p, stop = block(src, p, end, count)
    if p < 0:
        return np.int64(MALFORMED), p, b, k
    sp = stack[op_.R_TOP]
    stack[U(sp)] = k
    stack[U(sp + 1)] = count
    stack[U(sp + 2)] = stop
    stack[op_.R_TOP] = sp + op_.FRAME
    return claim(count, end - p, prog[U(b + P_ARG)], stack), p, b + WORDS, first


@inline
def list_next(
    src: Bytes, p: Int, end: Int, k: Int, prog: Longs, b: Int, stack: Longs, cols: Longs, seen: Words, h8: Bytes, h32: Words,
) -> tuple[Int, Int, Int, Int]:  # fmt: skip
    """After an item in slot ``k``: the next item, the next block, or the end of the list; results as :func:`list_begin`."""
    sp = stack[op_.R_TOP]
    left = stack[U(sp - 2)] - 1
    if left > 0:
        stack[U(sp - 2)] = left
        return np.int64(OK), p, prog[U(b + P_JUMP)], k + 1
    if stack[U(sp - 1)] >= 0 and stack[U(sp - 1)] != p:
        return np.int64(MALFORMED), p, b, k
    count, p = varint(src, p, end)
    count = unzigzag(count)
    if p < 0:
        return np.int64(MALFORMED), p, b, k
    if count == 0:
        outer = stack[U(sp - op_.FRAME)]
        o = prog[U(b + P_OFFS)] + (outer & prog[U(b + P_MASK)])
        if prog[U(b)] & op_.OPS == op_.MAP_END and prog[U(b + P_COLUMN)] >= 0 and k > h32[U(o)]:
            key = (prog[U(b + P_COLUMN)] + 1) * FIELDS
            if repeats(h8, h32, cols[U(key + C_OFFS)], cols[U(key + C_DATA)], np.int64(h32[U(o)]), k + 1, seen):
                return np.int64(SLOW), p, b, k
        h32[U(o + 1)] = np.int32(k + 1)
        stack[op_.R_TOP] = sp - op_.FRAME
        return np.int64(OK), p, b + WORDS, outer
    count, p, stop = block(src, p, end, count)
    if p < 0:
        return np.int64(MALFORMED), p, b, k
    stack[U(sp - 2)] = count
    stack[U(sp - 1)] = stop
    return claim(count, end - p, prog[U(b + P_ARG)], stack), p, prog[U(b + P_JUMP)], k + 1


@apart
def flow(
    op: Int, src: Bytes, p: Int, k: Int, s: Int, prog: Longs, b: Int, cols: Longs, counters: Longs, stack: Longs,
    h8: Bytes, h32: Words, h64: Longs,
) -> tuple[Int, Int, Int]:  # fmt: skip
    """Ops that read nothing: ``(code, word, slot)``."""
    arg, jump, sp = prog[U(b + P_ARG)], prog[U(b + P_JUMP)], stack[op_.R_TOP]
    if op == op_.JUMP:
        return np.int64(OK), jump, k
    if op == op_.FAIL:
        return arg, b, k
    if op == op_.VALID:
        h8[U(prog[U(b + P_VALID)] + s)] = 1
    elif op == op_.NULLS:
        nulls(cols, prog[U(b + P_COLUMN)], k, h8, h32, h64, counters, stack, sp)
    elif op == op_.KEEP:
        sp -= op_.FRAME
        o = prog[U(b + P_OFFS)] + s
        at, start = np.int64(h32[U(o)]), stack[U(sp)]
        copy(src, start, p - start, p, h8, prog[U(b + P_DATA)] + at)
        h32[U(o + 1)] = np.int32(at + p - start)
        stack[op_.R_TOP] = sp
    elif op == op_.LEAVE or op == op_.RETURN:
        sp -= op_.FRAME
        stack[op_.R_TOP] = sp
        if op == op_.LEAVE:
            return np.int64(OK), b + WORDS, stack[U(sp)]
        stack[op_.R_CALLS] -= 1
        return np.int64(OK), stack[U(sp)], k
    else:
        stack[op_.R_TOP] = sp + op_.FRAME
        if op == op_.CALL:
            stack[U(sp)] = b + WORDS
            stack[op_.R_CALLS] += 1
            return np.int64(LIMIT if stack[op_.R_CALLS] > op_.MAX_RECURSION else OK), jump, k
        if op == op_.MARK:
            stack[U(sp)] = p
        else:
            stack[U(sp)] = k
            child = counters[U(jump)]
            h8[U(prog[U(b + P_DATA)] + s)] = np.uint8(arg)
            h32[U(prog[U(b + P_OFFS)] + s)] = np.int32(child)
            counters[U(jump)] = child + 1
            k = child
    return np.int64(OK), b + WORDS, k
