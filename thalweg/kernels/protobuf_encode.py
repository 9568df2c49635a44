# ruff: noqa: PLR2004, C901, PLR0911, PLR0912, PLR1714 - a machine's loop is one function; the numbers are bytes
"""The Protobuf machine backwards: the last row first, each message from its end, so that every length is known when it is written."""

from __future__ import annotations

import numpy as np

from thalweg.kernels import protobuf_encode_ops as op_
from thalweg.kernels.jit import apart, inline, kernel
from thalweg.kernels.memory import Bytes, Int, Longs, U, Words, copy, put_varint, st32, st64, zigzag
from thalweg.kernels.program import BRANCH, OK, RANGE, SYMBOL, TYPE, WORDS
from thalweg.kernels.protobuf_ops import FIRST_SECOND, LAST_SECOND, MOST_SECONDS

FULL = np.int64(-1)
"""Position for an output that is too small."""
MOST_LENGTH = (1 << 31) - 1


@kernel
def encode(
    prog: Longs, aux: Longs, stack: Longs, h8: Bytes, h32: Words, h64: Longs, prefix: Bytes, out: Bytes, offs: Longs, codes: Bytes,
    faults: Words, state: Longs,
) -> Int:  # fmt: skip
    """Encodes rows from ``state[S_ROW] - 1`` down; returns the rows that are left: 0, or more when ``out`` is too small.

    ``prog`` int64[m * WORDS] and ``aux`` int64[] in; ``stack`` int64[] scratch; ``h8`` uint8[], ``h32`` int32[], ``h64`` int64[] in: views of the columns;
    ``prefix`` uint8[] in: written before each message; ``out`` uint8[] out, filled from its end; ``offs`` int64[n] out: where each row begins,
    counted back from the end of ``out``; ``codes`` uint8[n] out; ``faults`` int32[n] out: program row of a bad one; ``state`` int64[2] in and out.
    A bad row has no bytes. Never allocates, raises, or reads past the end.
    """
    i = state[op_.S_ROW]
    start = state[op_.S_OUT]
    size = prefix.shape[0]
    while i > 0:
        code, o, b = message(start, i - 1, prog, aux, stack, h8, h32, h64, out)
        if o < size:
            break
        i -= 1
        if code == OK:
            o -= size
            for j in range(size):
                out[U(o + j)] = prefix[U(j)]
            start = o
        else:
            codes[U(i)] = np.uint8(code)
            faults[U(i)] = np.int32(b // WORDS)
        offs[U(i)] = out.shape[0] - start
    state[op_.S_ROW] = i
    state[op_.S_OUT] = start
    return i


@inline
def message(
    o: Int, k: Int, prog: Longs, aux: Longs, stack: Longs, h8: Bytes, h32: Words, h64: Longs, out: Bytes,
) -> tuple[Int, Int, Int]:  # fmt: skip
    """Writes slot ``k`` of the row's columns before ``o``: ``(code, position, word of the program)``; position -1 when ``out`` is too small."""
    b, sp, code = np.int64(0), np.int64(0), np.int64(OK)
    while True:
        op = prog[U(b)]
        if op == op_.END:
            return np.int64(OK), o, b
        if o < op_.LONGEST:
            return np.int64(OK), FULL, b
        if op <= op_.LAST_VALUE:
            there = h8[U(prog[U(b + op_.W_VALID)] + k)]
            mode = prog[U(b + op_.W_MODE)]
            if there != 1:
                if there != 0 or mode >= op_.NEEDED:
                    return np.int64(TYPE), o, b
                b += WORDS
                continue
            code, o = value(op, o, b, k, mode, prog, h8, h32, h64, out)
            b += WORDS
            if code != OK or o < 0:
                return code, o, b - WORDS
            continue
        code, o, b, k, sp = nested(op, o, b, k, sp, prog, aux, stack, h8, h32, out)
        if code != OK:
            return code, o, b


@inline
def before(out: Bytes, o: Int, v: np.uint64) -> Int:
    """Writes ``v`` as a varint that ends at ``o``; where it begins."""
    if v < U(128):
        out[U(o - 1)] = np.uint8(v)
        return o - 1
    n = np.int64(1)
    left = v >> U(7)
    while left != U(0):
        left = left >> U(7)
        n += 1
    put_varint(out, o - n, v)
    return o - n


@inline
def value(
    op: Int, o: Int, b: Int, k: Int, mode: Int, prog: Longs, h8: Bytes, h32: Words, h64: Longs, out: Bytes,
) -> tuple[Int, Int]:  # fmt: skip
    """A value that is there, and its tag: ``(code, position)``; position -1 when ``out`` is too small."""
    to = prog[U(b + op_.W_DATA)] + k
    v = U(0)
    if op == op_.TEXT:
        at = np.int64(h32[U(prog[U(b + op_.W_OFFS)] + k)])
        n = np.int64(h32[U(prog[U(b + op_.W_OFFS)] + k + 1)]) - at
        if n == 0 and mode == op_.IMPLICIT:
            return np.int64(OK), o
        if n > o - op_.LONGEST:
            return np.int64(OK), FULL
        o -= n
        words(h8, prog[U(b + op_.W_DATA)] + at, n, out, o)
        o = before(out, o, U(n))
    elif op >= op_.TIMESTAMP:
        code, o = time(op, o, h64[U(to)], prog[U(b + op_.W_NEXT)], prog[U(b + op_.W_EXTRA)], out)
        if code != OK:
            return code, o
    else:
        if op == op_.I64 or op == op_.ENUM or op == op_.X64:
            v = U(h64[U(to)])
        elif op == op_.S64:
            v = zigzag(h64[U(to)])
        elif op == op_.BOOL:
            v = U(h8[U(to)])
        elif op == op_.I32:
            v = U(np.int64(h32[U(to)]))
        elif op == op_.S32:
            v = zigzag(np.int64(h32[U(to)]))
        else:
            v = U(np.int64(h32[U(to)]) & np.int64(0xFFFFFFFF))
        if v == U(0) and mode == op_.IMPLICIT:
            return np.int64(OK), o
        if op == op_.X64:
            o -= 8
            st64(out, o, v)
        elif op == op_.X32:
            o -= 4
            st32(out, o, v)
        elif op == op_.ENUM and np.int64(np.int32(np.int64(v))) != np.int64(v):
            return np.int64(SYMBOL), o
        else:
            o = before(out, o, v)
    if mode == op_.BARE:
        return np.int64(OK), o
    return np.int64(OK), before(out, o, U(prog[U(b + op_.W_TAG)]))


@inline
def words(src: Bytes, p: Int, n: Int, out: Bytes, o: Int) -> None:
    """Copies ``n`` bytes to ``out[o : o + n]`` and nothing beyond: what follows is written already."""
    if n >= 8:
        copy(src, p, n, p + n, out, o)
    else:
        for j in range(n):
            out[U(o + j)] = src[U(p + j)]


@apart
def time(op: Int, o: Int, ticks: Int, second: Int, each: Int, out: Bytes) -> tuple[Int, Int]:
    """A Timestamp or a Duration of ``ticks``, ``second`` of which are one second, without its tag: ``(code, position)``."""
    end = o
    s = ticks // second
    nanos = (ticks - s * second) * each
    if op == op_.TIMESTAMP:
        if s < FIRST_SECOND or s > LAST_SECOND:
            return np.int64(RANGE), o
    else:
        if s < 0 and nanos > 0:
            s += 1
            nanos -= second * each
        if s < -MOST_SECONDS or s > MOST_SECONDS:
            return np.int64(RANGE), o
    if nanos != 0:
        o = before(out, o, U(nanos)) - 1
        out[U(o)] = 16
    if s != 0:
        o = before(out, o, U(s)) - 1
        out[U(o)] = 8
    return np.int64(OK), before(out, o, U(end - o))


@inline
def nested(
    op: Int, o: Int, b: Int, k: Int, sp: Int, prog: Longs, aux: Longs, stack: Longs, h8: Bytes, h32: Words, out: Bytes,
) -> tuple[Int, Int, Int, Int, Int]:  # fmt: skip
    """Messages, groups, lists, oneofs: ``(code, position, next word, slot, stack)``."""
    if op == op_.ENTER or op == op_.ENTER_GROUP:
        there = np.int64(1)
        if prog[U(b + op_.W_MODE)] != op_.IMPLICIT:
            there = np.int64(h8[U(prog[U(b + op_.W_VALID)] + k)])
        if there != 1:
            if there != 0 or prog[U(b + op_.W_MODE)] >= op_.NEEDED:
                return np.int64(TYPE), o, b, k, sp
            return np.int64(OK), o, prog[U(b + op_.W_NEXT)], k, sp
        if op == op_.ENTER_GROUP:
            o = before(out, o, U(prog[U(b + op_.W_TAG)]) + U(1))
        stack[U(sp)] = o
        return np.int64(OK), o, b + WORDS, k, sp + op_.FRAME
    if op == op_.LIST_NEXT or op == op_.PACKED_NEXT:
        if k > stack[U(sp - 2)]:
            return np.int64(OK), o, prog[U(b + op_.W_NEXT)], k - 1, sp
        sp -= op_.FRAME
        k = stack[U(sp)]
        if op == op_.PACKED_NEXT:
            o = before(out, o, U(stack[U(sp + 2)] - o))
            o = before(out, o, U(prog[U(b + op_.W_TAG)]))
        return np.int64(OK), o, b + WORDS, k, sp
    if op == op_.LIST:
        first = np.int64(h32[U(prog[U(b + op_.W_OFFS)] + k)])
        end = np.int64(h32[U(prog[U(b + op_.W_OFFS)] + k + 1)])
        if end == first or h8[U(prog[U(b + op_.W_VALID)] + k)] == 0:
            return np.int64(OK), o, prog[U(b + op_.W_NEXT)], k, sp
        stack[U(sp)], stack[U(sp + 1)], stack[U(sp + 2)] = k, first, o
        return np.int64(OK), o, b + WORDS, end - 1, sp + op_.FRAME
    if op == op_.ONEOF:
        return np.int64(OK if only_one(k, aux, prog[U(b + op_.W_EXTRA)], prog, h8) else BRANCH), o, b + WORDS, k, sp
    sp -= op_.FRAME
    if op == op_.LEAVE:
        n = stack[U(sp)] - o
        if n > MOST_LENGTH:
            return np.int64(RANGE), o, b, k, sp
        o = before(out, o, U(n))
    return np.int64(OK), before(out, o, U(prog[U(b + op_.W_TAG)])), b + WORDS, k, sp


@apart
def only_one(k: Int, aux: Longs, at: Int, prog: Longs, h8: Bytes) -> bool:
    """Whether at most one member of a oneof is there; ``aux[at]`` members, then the program word of each."""
    seen = np.int64(0)
    for j in range(aux[U(at)]):
        seen += h8[U(prog[U(aux[U(at + 1 + j)] + op_.W_VALID)] + k)] != 0
    return bool(seen <= 1)
