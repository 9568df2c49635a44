# ruff: noqa: PLR2004, PLR0911, PLR0912, C901 - a machine returns its codes; the numbers are wire types
"""Messages that are only checked: what no column holds, and what is kept as bytes; as strictly as what is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels import protobuf_ops as op_
from thalweg.kernels.jit import apart
from thalweg.kernels.memory import U, utf8_fault
from thalweg.kernels.program import DEPTH, LIMIT, MALFORMED, SLOW, UTF8
from thalweg.kernels.protobuf_wire import any_number, find, read_length, read_tag, skip

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Int, Longs, Words


@apart
def check(
    src: Bytes, p: Int, end: Int, tb: Int, group: Int, sp: Int, prog: Longs, table: Words, aux: Longs, stack: Longs, groups: Longs, left: Int,
) -> tuple[Int, Int]:  # fmt: skip
    """Checks the message at ``src[p:end]``, or the one that ends with ``group``: ``(next position or -code, items left)``.

    ``prog`` int64[] in, ``table`` int32[] in, ``aux`` int64[] in: the program; ``stack`` int64[] scratch from ``sp`` on, a frame a level;
    ``groups`` int64[MAX_LEVELS] scratch; ``left``: messages in repeated fields that there may be. Never allocates, raises, or reads past the end.
    """
    top = sp
    if sp >= op_.MAX_LEVELS * op_.FRAME:
        return np.int64(-DEPTH), left
    while True:
        if p >= end:
            if group != 0:
                return np.int64(-MALFORMED), left
            if sp == top:
                return p, left
            sp -= op_.FRAME
            end, tb, group = stack[U(sp + op_.F_END)], stack[U(sp + op_.F_TABLE)], stack[U(sp + op_.F_SLOT)]
            continue
        tag, p = read_tag(src, p, end)
        if p < 0:
            return p, left
        if tag & 7 == 4:
            if group == 0 or tag >> np.int64(3) != group:
                return np.int64(-MALFORMED), left
            if sp == top:
                return p, left
            sp -= op_.FRAME
            end, tb, group = stack[U(sp + op_.F_END)], stack[U(sp + op_.F_TABLE)], stack[U(sp + op_.F_SLOT)]
            continue
        f = find(table, tb, tag, aux)
        op = prog[U(f)]
        level = sp // op_.FRAME + 1
        if op != op_.CHECK and op != op_.CHECK_GROUP:  # noqa: PLR1714 - one comparison each is what Numba makes of it
            p = plain(src, p, end, tag, op, level, groups)
            if p < 0:
                return p, left
            continue
        if level >= op_.MAX_LEVELS:
            return np.int64(-DEPTH), left
        n = np.int64(0)
        if op == op_.CHECK:
            n, p = read_length(src, p, end)
            if p < 0:
                return p, left
        left -= prog[U(f + op_.R_DATA)]
        if left < 0:
            return np.int64(-LIMIT), left
        sp += op_.FRAME
        stack[U(sp - op_.FRAME + op_.F_END)], stack[U(sp - op_.FRAME + op_.F_TABLE)], stack[U(sp - op_.FRAME + op_.F_SLOT)] = end, tb, group
        tb = prog[U(f + op_.R_NEXT)]
        group = np.int64(0)
        if op == op_.CHECK:
            end = p + n
        else:
            group = prog[U(f + op_.R_EXTRA)]


@apart
def plain(src: Bytes, p: Int, end: Int, tag: Int, op: Int, level: Int, groups: Longs) -> Int:
    """Checks a field that is no message: the next position, or -code."""
    if op < op_.CHECK_TEXT:
        return skip(src, p, end, tag, level, groups)
    n, p = read_length(src, p, end)
    if p < 0:
        return p
    if op == op_.CHECK_TEXT:
        return p + n if utf8_fault(src, p, p + n) < 0 else np.int64(-UTF8)
    if op == op_.CHECK_TIME:
        if level >= op_.MAX_LEVELS:
            return np.int64(-DEPTH)
        s, nanos, code = read_time(src, p, p + n, level + 1, groups)
        if code == 0 and not is_timestamp(s, nanos):
            code = np.int64(SLOW)
        return p + n if code == 0 else -code
    if op == op_.CHECK_PACKED:
        e = p + n
        while p < e:
            _, p = any_number(src, p, e)
            if p < 0:
                return p
        return p
    if (op == op_.CHECK_PACKED64 and n & 7 != 0) or (op == op_.CHECK_PACKED32 and n & 3 != 0):
        return np.int64(-MALFORMED)
    return p + n


@apart
def read_time(src: Bytes, p: Int, end: Int, level: Int, groups: Longs) -> tuple[Int, Int, Int]:
    """``(seconds, nanoseconds, code)`` of a Timestamp or Duration whose fields may come in any order, twice, or not at all."""
    s = np.int64(0)
    nanos = np.int64(0)
    while p < end:
        tag, p = read_tag(src, p, end)
        if p < 0:
            return s, nanos, -p
        if tag == 8 or tag == 16:  # noqa: PLR1714 - one comparison each is what Numba makes of it
            v, p = any_number(src, p, end)
            if tag == 8:
                s = v
            else:
                nanos = np.int64(np.int32(v & np.int64(0xFFFFFFFF)))
        else:
            p = skip(src, p, end, tag, level, groups)
        if p < 0:
            return s, nanos, -p
    return s, nanos, np.int64(0)


@apart
def is_timestamp(s: Int, nanos: Int) -> bool:
    """Whether it lies in the years 1 to 9999."""
    return bool(s >= op_.FIRST_SECOND and s <= op_.LAST_SECOND and nanos >= 0 and nanos < op_.NANOS)
