# ruff: noqa: PLR2004, C901, PLR0912, PLR0915, PLR1714 - a machine's loop is one function; the numbers are bytes
"""The Avro machine's fast lane: common ops in their common form; everything else is left to the full machine.

A loop of its own, so that the few values it needs stay in registers. It goes on only where nothing can be wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels import avro_ops as op_
from thalweg.kernels.jit import inline
from thalweg.kernels.memory import HIGH, U, ld32, ld64, rd, st64, unzigzag, word_varint
from thalweg.kernels.program import P_ARG, P_COLUMN, P_DATA, P_JUMP, P_MASK, P_OFFS, P_VALID, WORDS

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int, Longs, Words

AHEAD = 16
"""Bytes that must follow in the batch, so that two words can be read without asking; they may be another payload's."""
INT_HIGH = U(0xFFFFFFFF)


@inline
def glide(
    src: Bytes, p: Int, end: Int, b: Int, k: Int, prog: Longs, stack: Longs, h8: Bytes, h32: Words, h64: Longs,
) -> tuple[Int, Int, Int]:  # fmt: skip
    """Runs ops from word ``b`` on as long as they are common; ``(position, word, slot)`` of the first that is not, or that read beyond the payload."""
    limit = np.int64(src.shape[0]) - AHEAD
    stop = min(end, limit)
    last_p, last_b, last_k = p, b, k
    while p <= stop:
        last_p, last_b, last_k = p, b, k
        op = prog[U(b)]
        if op == op_.LONG:
            v = rd(src, p)
            q = p + 1
            if v >= 128:
                v, q = word_varint(src, p)
                if q < 0:
                    break
            h64[U(prog[U(b + P_DATA)] + k)] = unzigzag(v)
            p = q
        elif op == op_.INT:
            v = rd(src, p)
            q = p + 1
            if v >= 128:
                v, q = word_varint(src, p)
                if q < 0 or U(v) > INT_HIGH:
                    break
            h32[U(prog[U(b + P_DATA)] + k)] = np.int32(unzigzag(v))
            p = q
        elif op == op_.ENUM:
            v = rd(src, p)
            if v & 129 != 0 or v >> 1 >= prog[U(b + P_ARG)]:
                break
            h32[U(prog[U(b + P_DATA)] + k)] = np.int32(v >> 1)
            p += 1
        elif op == op_.NULLABLE:
            v = rd(src, p)
            arg = prog[U(b + P_ARG)]
            if v == 2 - 2 * (arg & 1):
                h8[U(prog[U(b + P_VALID)] + k)] = 1
            elif v == 2 * (arg & 1) and arg > 1:
                null(arg >> 1, prog, b, k, h8, h32, h64)
                b = prog[U(b + P_JUMP)] - WORDS
            else:
                break
            p += 1
        elif op == op_.TEXT:
            q = text_ahead(src, p, end, limit, prog, b, k, h8, h32)
            if q < 0:
                break
            p = q
        elif op == op_.DOUBLE:
            h64[U(prog[U(b + P_DATA)] + k)] = np.int64(ld64(src, p))
            p += 8
        elif op == op_.FLOAT:
            h32[U(prog[U(b + P_DATA)] + k)] = np.int32(ld32(src, p))
            p += 4
        elif op == op_.BOOLEAN:
            if rd(src, p) > 1:
                break
            h8[U(prog[U(b + P_DATA)] + k)] = src[U(p)]
            p += 1
        elif op == op_.LIST or op == op_.LIST_END or op == op_.MAP_END:
            if op == op_.LIST:
                q, to, k = list_ahead(src, p, end, k, prog, b, stack, h32)
            else:
                q, to, k = item_ahead(src, p, end, k, prog, b, stack, h32)
            if q < 0:
                break
            p, b = q, to
        elif op >= op_.DROPPED:
            q, to = passed(op - op_.DROPPED, src, p, end, limit, prog, b)
            if q < 0:
                break
            p, b = q, to
        else:
            break
        b += WORDS
    if p > end:
        return last_p, last_b, last_k
    return p, b, k


@inline
def list_ahead(src: Bytes, p: Int, end: Int, k: Int, prog: Longs, b: Int, stack: Longs, h32: Words) -> tuple[Int, Int, Int]:
    """``(position, word before the next op, slot)`` behind the head of a list of less than 64 items; position -1 where it is not common."""
    v = rd(src, p)
    least = prog[U(b + P_ARG)]
    count = v >> 1
    if v & 129 != 0 or p >= end or least == 0 or count * least > end - p - 1:
        return np.int64(-1), b, k
    mask = prog[U(b + P_MASK)]
    o = prog[U(b + P_OFFS)] + (k & mask)
    first = np.int64(h32[U(o)]) & mask
    if count == 0:
        h32[U(o + 1)] = np.int32(first)
        return p + 1, prog[U(b + P_JUMP)] - WORDS, k
    sp = stack[op_.R_TOP]
    stack[U(sp)] = k
    stack[U(sp + 1)] = count
    stack[U(sp + 2)] = -1
    stack[op_.R_TOP] = sp + op_.FRAME
    return p + 1, b, first


@inline
def item_ahead(src: Bytes, p: Int, end: Int, k: Int, prog: Longs, b: Int, stack: Longs, h32: Words) -> tuple[Int, Int, Int]:
    """The same behind an item: the next item, or the end of a list of one block; keys of a map with several entries are not compared here."""
    sp = stack[op_.R_TOP]
    left = stack[U(sp - 2)] - 1
    if left > 0:
        stack[U(sp - 2)] = left
        return p, prog[U(b + P_JUMP)] - WORDS, k + 1
    outer = stack[U(sp - op_.FRAME)]
    o = prog[U(b + P_OFFS)] + (outer & prog[U(b + P_MASK)])
    several = k > np.int64(h32[U(o)]) and prog[U(b)] == op_.MAP_END and prog[U(b + P_COLUMN)] >= 0
    if p >= end or rd(src, p) != 0 or stack[U(sp - 1)] >= 0 or several:
        return np.int64(-1), b, k
    h32[U(o + 1)] = np.int32(k + 1)
    stack[op_.R_TOP] = sp - op_.FRAME
    return p + 1, b, outer


@inline
def text_ahead(src: Bytes, p: Int, end: Int, limit: Int, prog: Longs, b: Int, k: Int, h8: Bytes, h32: Words) -> Int:
    """Text or bytes to slot ``k``; the next position, -1 where it is not common."""
    n = rd(src, p)
    q = p + 1
    if n >= 128:
        n, q = word_varint(src, p)
    if q < 0 or n & 1 != 0 or n >> 1 > min(end, limit) - q:
        return np.int64(-1)
    n = n >> 1
    o = prog[U(b + P_OFFS)] + k
    at = np.int64(h32[U(o)])
    d = prog[U(b + P_DATA)] + at
    if n <= 8:
        x = ld64(src, q)
        st64(h8, d, x)
        high = first_bytes(x, n)
    elif n <= 16:
        x = ld64(src, q)
        y = ld64(src, q + 8)
        st64(h8, d, x)
        st64(h8, d + 8, y)
        high = x & HIGH | first_bytes(y, n - 8)
    else:
        high = copy_ahead(src, q, n, h8, d)
    if high & U(prog[U(b + P_ARG)]) != U(0):
        return np.int64(-1)
    h32[U(o + 1)] = np.int32(at + n)
    return q + n


@inline
def passed(op: Int, src: Bytes, p: Int, end: Int, limit: Int, prog: Longs, b: Int) -> tuple[Int, Int]:
    """``(position, word before the next op)`` after a value that no column takes; position -1 where it is not common."""
    v = rd(src, p)
    arg = prog[U(b + P_ARG)]
    q = p + 1
    if op == op_.LONG or op == op_.INT:
        if v >= 128:
            v, q = word_varint(src, p)
            if op == op_.INT and U(v) > INT_HIGH:
                q = np.int64(-1)
    elif op == op_.TEXT:
        if v >= 128:
            v, q = word_varint(src, p)
        n = v >> 1
        if q < 0 or v & 1 != 0 or n > min(end, limit) - q or (arg != 0 and ahead(src, q, n) != U(0)):
            return np.int64(-1), b
        q += n
    elif op == op_.DOUBLE:
        q = p + 8
    elif op == op_.NULLABLE:
        if v == 2 * (arg & 1):
            return q, prog[U(b + P_JUMP)] - WORDS
        if v != 2 - 2 * (arg & 1):
            q = np.int64(-1)
    elif op == op_.FLOAT:
        q = p + 4
    elif (op != op_.BOOLEAN or v > 1) and (op != op_.ENUM or v & 129 != 0 or v >> 1 >= arg):
        q = np.int64(-1)
    return q, b


@inline
def ahead(src: Bytes, p: Int, n: Int) -> np.uint64:
    """0 when ``src[p : p + n]`` is ASCII; the last word may reach 8 bytes further."""
    w = U(0)
    while n > 8:
        w |= ld64(src, p)
        p += 8
        n -= 8
    return (w | ld64(src, p) << U(64 - 8 * n & 63)) & HIGH if n > 0 else w & HIGH


@inline
def first_bytes(w: np.uint64, n: Int) -> np.uint64:
    """The marks of bytes beyond ASCII among the lowest ``n`` bytes, 0 to 8 of them."""
    return w & (HIGH >> U(64 - 8 * n & 63) if n > 0 else U(0))


@inline
def copy_ahead(src: Bytes, p: Int, n: Int, dst: Bytes, d: Int) -> np.uint64:
    """Copies ``src[p : p + n]`` in words, of which the last may reach 8 bytes further; 0 when every byte was ASCII."""
    w = U(0)
    while n > 8:
        x = ld64(src, p)
        st64(dst, d, x)
        w |= x
        p += 8
        d += 8
        n -= 8
    x = ld64(src, p)
    st64(dst, d, x)
    return (w | x << U(64 - 8 * n & 63)) & HIGH if n > 0 else w & HIGH


@inline
def null(kind: Int, prog: Longs, b: Int, s: Int, h8: Bytes, h32: Words, h64: Longs) -> None:
    """NULL in a column without columns below."""
    h8[U(prog[U(b + P_VALID)] + s)] = 0
    if kind == op_.NULL_BYTES:
        o = prog[U(b + P_OFFS)] + s
        h32[U(o + 1)] = h32[U(o)]
    elif kind == op_.NULL_8:
        h64[U(prog[U(b + P_DATA)] + s)] = 0
    elif kind == op_.NULL_4:
        h32[U(prog[U(b + P_DATA)] + s)] = 0
    elif kind == op_.NULL_1:
        h8[U(prog[U(b + P_DATA)] + s)] = 0
