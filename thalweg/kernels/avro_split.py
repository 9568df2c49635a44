# ruff: noqa: C901, PLR0911, PLR0912, PLR0915 - a machine's loop is one function
"""Passes over Avro records that lie one behind the other, to find where each begins; exactly as strict as the reference."""

from __future__ import annotations

import numpy as np

from thalweg.kernels import avro_split_ops as op_
from thalweg.kernels.avro import block, claim
from thalweg.kernels.avro_values import INT_HIGH, INT_LOW
from thalweg.kernels.jit import inline, kernel
from thalweg.kernels.memory import Bytes, Int, Longs, U, Words, unzigzag, varint
from thalweg.kernels.program import OK


@kernel
def split(src: Bytes, count: Int, prog: Longs, table: Longs, stack: Longs, offs: Words) -> Int:
    """Passes over ``count`` records; returns how many there are before the first one that cannot be read.

    ``src`` uint8[] in: the block; ``prog`` int64[m * SIZE] in; ``table`` int64[] in: where each branch goes on; ``stack`` int64[] scratch; ``offs``
    int32[count + 1] out: where each record begins. Never allocates, raises, or reads past the end.
    """
    p = np.int64(0)
    offs[U(0)] = np.int32(0)
    for i in range(count):
        p = passed(src, p, np.int64(src.shape[0]), prog, table, stack)
        if p < 0:
            return np.int64(i)
        offs[U(i + 1)] = np.int32(p)
    return np.int64(count)


@inline
def passed(src: Bytes, p: Int, end: Int, prog: Longs, table: Longs, stack: Longs) -> Int:
    """The position behind the record at ``p``, -1 where there is none."""
    pc, top, records = np.int64(0), np.int64(op_.BOTTOM), np.int64(0)
    stack[op_.EMPTIES] = 0
    while True:
        op, a, b = prog[U(pc)], prog[U(pc + 1)], prog[U(pc + 2)]
        pc += op_.SIZE
        if op == op_.STOP:
            return p
        if op <= op_.BYTES:
            if op == op_.BOOLEAN:
                if p >= end or src[U(p)] > 1:
                    return np.int64(-1)
                p += 1
                continue
            v, p = varint(src, p, end)
            if p < 0:
                return p
            v = unzigzag(v)
            if op == op_.INT and (v < INT_LOW or v > INT_HIGH):
                return np.int64(-1)
            if op == op_.CHOICE and (v < 0 or v >= a):
                return np.int64(-1)
            if op == op_.UNION:
                if v < 0 or v >= b:
                    return np.int64(-1)
                pc = table[U(a + v)]
            if op == op_.BYTES:
                if v < 0 or v > end - p:
                    return np.int64(-1)
                p += v
        elif op == op_.FIXED:
            if a > end - p:
                return np.int64(-1)
            p += a
        elif op == op_.LIST:
            stack[U(top)], stack[U(top + 1)] = 0, -1
            top += op_.LIST_FRAME
        elif op == op_.NEXT:
            left, stop = stack[U(top - op_.LIST_FRAME)], stack[U(top - 1)]
            if left == 0:
                if stop >= 0 and p != stop:
                    return np.int64(-1)
                v, p = varint(src, p, end)
                if p < 0:
                    return p
                v = unzigzag(v)
                if v == 0:
                    top -= op_.LIST_FRAME
                    pc = b
                    continue
                left, p, stop = block(src, p, end, v)
                if p < 0 or claim(left, end - p, a, stack) != OK:
                    return np.int64(-1)
                stack[U(top - 1)] = stop
            stack[U(top - op_.LIST_FRAME)] = left - 1
        elif op == op_.JUMP:
            pc = a
        elif op == op_.CALL:
            records += 1
            if records > op_.MAX_RECORDS:
                return np.int64(-1)
            stack[U(top)] = pc
            top += 1
            pc = a
        else:
            records -= 1
            top -= 1
            pc = stack[U(top)]
