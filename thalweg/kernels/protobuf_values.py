# ruff: noqa: PLR2004, C901 - a machine returns its codes; the numbers are bytes and bit positions
"""Protobuf values of many bytes: text, packed numbers, times, and messages that are kept as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels import protobuf_ops as op_
from thalweg.kernels.jit import apart, inline
from thalweg.kernels.memory import U, copy, ld32, ld64, rd, unzigzag
from thalweg.kernels.program import MALFORMED, OK, SLOW
from thalweg.kernels.protobuf_check import is_timestamp, read_time
from thalweg.kernels.protobuf_wire import any_number, number

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int, Longs, Words

LOW_WORD = np.int64(0xFFFFFFFF)


@inline
def text(
    src: Bytes, p: Int, n: Int, end: Int, prog: Longs, f: Int, k: Int, counters: Longs, starts: Longs, h8: Bytes, h32: Words,
) -> np.uint64:  # fmt: skip
    """``src[p : p + n]`` to slot ``k``, whose text it replaces; reads ``src[p:end]`` at most. Returns 0 when every byte was ASCII."""
    c = prog[U(f + op_.R_NEXT)]
    o = prog[U(f + op_.R_OFFS)] + k + 1
    at = counters[U(c)]
    if h32[U(o)] != 0:
        at = starts[U(c)]
    starts[U(c)] = at
    counters[U(c)] = at + n
    h32[U(o)] = np.int32(at + n)
    return copy(src, p, n, end, h8, prog[U(f + op_.R_DATA)] + at)


@inline
def varint_value(v: Int, op: Int, to: Int, prog: Longs, f: Int, aux: Longs, h8: Bytes, h32: Words, h64: Longs) -> Int:
    """The 64 bits of a varint as what ``op`` says, to ``to``. Returns a code."""
    if op == op_.I64:
        h64[U(to)] = v
    elif op == op_.I32:
        h32[U(to)] = np.int32(v)
    elif op == op_.BOOL:
        h8[U(to)] = np.uint8(v != 0)
    elif op == op_.S64:
        h64[U(to)] = unzigzag(v)
    elif op == op_.S32:
        h32[U(to)] = np.int32(unzigzag(v & LOW_WORD))
    else:
        h32[U(to)] = np.int32(v)
        if not is_symbol(np.int64(np.int32(v)), aux, prog[U(f + op_.R_NEXT)]):
            return np.int64(SLOW)
    return np.int64(OK)


@inline
def is_symbol(v: Int, aux: Longs, arg: Int) -> bool:
    """Whether a closed enum has the number: the lowest and highest of a run without gaps, then how many others, then those, sorted."""
    if v >= aux[U(arg)] and v <= aux[U(arg + 1)]:
        return True
    return is_other_symbol(v, aux, arg)


@apart
def is_other_symbol(v: Int, aux: Longs, arg: Int) -> bool:
    """:func:`is_symbol` outside the run."""
    low = arg + 3
    high = arg + 3 + aux[U(arg + 2)]
    end = high
    while low < high:
        m = (low + high) >> np.int64(1)
        if aux[U(m)] < v:
            low = m + 1
        else:
            high = m
    return bool(low < end and aux[U(low)] == v)


@apart
def packed(
    src: Bytes, p: Int, e: Int, k: Int, prog: Longs, f: Int, aux: Longs, counters: Longs, h8: Bytes, h32: Words, h64: Longs,
) -> Int:  # fmt: skip
    """The numbers in ``src[p:e]``, appended to the list in slot ``k``. Returns a code."""
    op = prog[U(f)]
    to = prog[U(f + op_.R_DATA)]
    level = prog[U(f + op_.R_ARG)]
    c = counters[U(level)]
    first = c
    code = np.int64(OK)
    if op == op_.PACKED:
        inner = prog[U(f + op_.R_NEXT)]
        code, c = packed_varints(src, p, e, inner, to, c, prog, f, aux, h8, h32, h64)
    elif op == op_.PACKED64:
        if (e - p) & 7 != 0:
            return np.int64(MALFORMED)
        while p < e:
            h64[U(to + c)] = np.int64(ld64(src, p))
            p += 8
            c += 1
    else:
        if (e - p) & 3 != 0:
            return np.int64(MALFORMED)
        while p < e:
            h32[U(to + c)] = np.int32(np.int64(ld32(src, p)))
            p += 4
            c += 1
    if c != first:
        counters[U(level)] = c
        h32[U(prog[U(f + op_.R_PRES)] + k + 1)] = np.int32(c)
    return code


@inline
def packed_varints(
    src: Bytes, p: Int, e: Int, inner: Int, to: Int, c: Int, prog: Longs, f: Int, aux: Longs, h8: Bytes, h32: Words, h64: Longs,
) -> tuple[Int, Int]:  # fmt: skip
    """Varints from slot ``c`` on: ``(code, slot after the last)``."""
    side = prog[U(f + op_.R_EXTRA)]
    while p < e:
        v, p = number(src, p, e)
        if p < 0:
            return np.int64(MALFORMED), c
        if inner == op_.CLOSED:
            if not is_symbol(np.int64(np.int32(v)), aux, side):
                return np.int64(SLOW), c
            h32[U(to + c)] = np.int32(v)
        else:
            varint_value(v, inner, to + c, prog, f, aux, h8, h32, h64)
        c += 1
    return np.int64(OK), c


@apart
def time(src: Bytes, p: Int, e: Int, k: Int, prog: Longs, f: Int, sp: Int, groups: Longs, state: Longs, h64: Longs) -> Int:
    """A Timestamp or Duration in ``src[p:e]`` as ticks to slot ``k``; what is out of range is SLOW. Returns a code."""
    s = np.int64(0)
    nanos = np.int64(0)
    q = p
    if q < e and rd(src, q) == 8:
        s, q = any_number(src, q + 1, e)
    if q >= 0 and q < e and rd(src, q) == 16:
        v, q = any_number(src, q + 1, e)
        nanos = np.int64(np.int32(v))
    if q != e:
        s, nanos, code = read_time(src, p, e, sp // op_.FRAME + 1, groups)
        if code != 0:
            return code
    each = prog[U(f + op_.R_EXTRA)]
    if prog[U(f)] == op_.TIMESTAMP:
        if not is_timestamp(s, nanos):
            return np.int64(SLOW)
        tick = nanos // each
    else:
        if s < -op_.MOST_SECONDS or s > op_.MOST_SECONDS or nanos <= -op_.NANOS or nanos >= op_.NANOS:
            return np.int64(SLOW)
        if (s < 0 and nanos > 0) or (s > 0 and nanos < 0):
            return np.int64(SLOW)
        tick = nanos // each
        if nanos < 0:
            tick = -(-nanos // each)
    if each == 1 and (s > 9_223_372_035 or s < -9_223_372_035):
        return np.int64(SLOW)
    if nanos % each != 0:
        state[op_.S_FINER] += 1
    h64[U(prog[U(f + op_.R_DATA)] + k)] = s * prog[U(f + op_.R_NEXT)] + tick
    return np.int64(OK)
