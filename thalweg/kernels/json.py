# ruff: noqa: PLR2004, C901, PLR0911, PLR0912, PLR0915, PLR1714 - a machine's loop is one function; the numbers are bytes
"""The JSON machine: reads each payload of a batch by a tree of nodes and appends what it says to columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels import json_ops as op_
from thalweg.kernels.bits import ctz
from thalweg.kernels.columns import nulls, room
from thalweg.kernels.jit import inline, kernel, merged
from thalweg.kernels.json_keys import RESERVED_NAME, look_up, same
from thalweg.kernels.json_skip import ALSE, NULL, TRUE, skip_value
from thalweg.kernels.json_text import MINUS, QUOTE, blank, copy_string, skip_string, special
from thalweg.kernels.json_values import value
from thalweg.kernels.keys import repeats
from thalweg.kernels.memory import U, ld32, ld64, rd, st64
from thalweg.kernels.moment import timestamp
from thalweg.kernels.number import MOST_DIGITS, digits, hard_double, scan, whole
from thalweg.kernels.powers import FLOAT_TENS
from thalweg.kernels.program import (
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
    RANGE,
    ROOM,
    SLOW,
    TRAILING,
    TYPE,
    WORDS,
)

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Doubles, Floats, Int, Longs, Words

EXACT = U(1 << 53)
"""Whole numbers up to here are doubles."""


@kernel
def decode(
    src: Bytes, offs: Words, present: Bytes, prog: Longs, nodes: Longs, words: Longs, table: Longs, five: Longs, prefix: Bytes, cols: Longs,
    counters: Longs, used: Longs, used_bytes: Longs, stack: Longs, seen: Words, text: Bytes, other: Bytes, h8: Bytes, h32: Words, h64: Longs,
    f32: Floats, f64: Doubles, state: Longs, codes: Bytes, faults: Longs, rows: Words,
) -> Int:  # fmt: skip
    """Decodes rows from ``state[S_ROW]`` on; returns the row that needs a larger arena, or the number of rows.

    ``src`` uint8[] in: all payloads; ``offs`` int32[n + 1] in: where each begins; ``present`` uint8[0 or n] in: 0 for no payload; ``prog``
    int64[m * WORDS] in; ``nodes`` int64[m * NODE] in and out; ``words`` uint64[] and ``table`` int64[] in: names; ``five`` uint64[] in;
    ``prefix`` uint8[] in; ``cols`` int64[c * FIELDS] in; ``counters`` int64[] in; ``used`` and ``used_bytes`` int64[c] out; ``stack`` int64[],
    ``seen`` int32[], ``text`` and ``other`` uint8[longest payload + 2 * PAD] scratch; ``h8`` uint8[], ``h32`` int32[], ``h64`` int64[], ``f32`` float32[],
    ``f64`` float64[] out: the arena; ``state`` int64[STATE] in and out; ``codes`` uint8[n] out: one a row; ``faults`` int64[n * FAULT] out: of bad
    rows only; ``rows`` int32[n] out: the good ones, ``state[S_OUT]`` of them. Never allocates, raises, or reads past a payload's end.
    """
    i = state[op_.S_ROW]
    k = state[op_.S_OUT]
    epoch = state[op_.S_EPOCH]
    budget = np.int64(-1)
    n = offs.shape[0] - 1
    while i < n:
        p = np.int64(offs[U(i)])
        size = np.int64(offs[U(i + 1)]) - p
        code, where, t = np.int64(OK), np.int64(0), np.int64(0)
        if present.shape[0] != 0 and present[U(i)] == 0:
            code = np.int64(NULL_ROW)
        elif size > state[op_.S_MOST]:
            code = np.int64(LIMIT)
        else:
            need = size + ROOM
            budget -= need
            if budget < 0:
                budget = room(cols, k, h32, counters, used, used_bytes) - need
                if budget < 0:
                    break
            load(src, p, size, text)
            code, where, t, epoch = document(
                text, size, k, epoch, state, prog, nodes, words, table, five, prefix, cols, counters, stack, seen, other,
                h8, h32, h64, f32, f64,
            )  # fmt: skip
        if code == OK:
            rows[U(k)] = np.int32(i)
            k += 1
        else:
            codes[U(i)] = np.uint8(code)
            faults[U(i * op_.FAULT + op_.F_WHERE)] = where
            faults[U(i * op_.FAULT + op_.F_NODE)] = t
        i += 1
    state[op_.S_ROW] = i
    state[op_.S_OUT] = k
    state[op_.S_EPOCH] = epoch
    return i


@merged
def load(src: Bytes, p: Int, size: Int, text: Bytes) -> None:
    """A copy of the payload that zero bytes follow: scanners need not ask for the end, and see no neighbour."""
    j = np.int64(0)
    while j + 16 <= size:
        st64(text, j, ld64(src, p + j))
        st64(text, j + 8, ld64(src, p + j + 8))
        j += 16
    while j < size:
        text[U(j)] = src[U(p + j)]
        j += 1
    for j in range(0, op_.PAD, 8):
        st64(text, size + j, U(0))


@merged
def document(
    src: Bytes, end: Int, k: Int, epoch: Int, state: Longs, prog: Longs, nodes: Longs, words: Longs, table: Longs, five: Longs, prefix: Bytes,
    cols: Longs, counters: Longs, stack: Longs, seen: Words, other: Bytes, h8: Bytes, h32: Words, h64: Longs, f32: Floats, f64: Doubles,
) -> tuple[Int, Int, Int, Int]:  # fmt: skip
    """Reads the payload into slot ``k`` of the row's columns: ``(code, position, node, objects so far)``.

    A value that does not fit its column does not end the reading: what is no JSON, or repeats a name, is worse.
    """
    node, members, sp, cur, t = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    guess = np.int64(op_.N_FIRST)
    epoch += 1
    this = epoch
    state[op_.S_CODE], state[op_.S_WHERE], state[op_.S_NODE] = OK, 0, 0
    most = state[op_.S_DEPTH]
    p, c = blank(src, np.int64(0))
    if c != 123:
        p = skip_value(src, p, most)
        return np.int64(SLOW if p == -SLOW else MALFORMED), np.int64(0), t, epoch
    p += 1
    first, key_read = True, False
    while True:
        # -- a member's name, the next item, or the end of what is open
        p, c = blank(src, p)
        at = p
        if key_read:
            key_read = False
            if c != 58:
                return np.int64(MALFORMED), p, node, epoch
            p, c = blank(src, p + 1)
            t = node + 2
            s = cur
        else:
            op = prog[U(node * WORDS)]
            is_list = op == op_.LIST
            if c == 125 - 32 * np.int64(is_list):
                code = close(op, node, k, cur, members, this, first, prog, nodes, cols, counters, stack, sp, seen, h8, h32, h64)
                p += 1
                if code != OK:
                    return code, at, node, epoch
                if sp == 0:
                    break
                sp -= op_.FRAME
                node, k, members = stack[U(sp)], stack[U(sp + 1)], stack[U(sp + 2)]
                this, guess, cur = stack[U(sp + 3)], stack[U(sp + 4)], stack[U(sp + 5)]
                first = False
                continue
            if first:
                first = False
            else:
                if c != 44:
                    return np.int64(MALFORMED), p, node, epoch
                p, c = blank(src, p + 1)
                cur += 1
            t = node + 1
            s = cur
            if not is_list and c != QUOTE:
                return np.int64(MALFORMED), p, node, epoch
            if op == op_.OBJECT:
                at = p
                p, t, guess = member(src, p + 1, node, guess, nodes, words, table, prefix, other)
                if p < 0:
                    return -p, at, node, epoch
                p, c = blank(src, p)
                if c != 58:
                    return np.int64(MALFORMED), p, node, epoch
                p, c = blank(src, p + 1)
                s = k
                if t < 0:
                    if t == RESERVED_NAME:
                        note(np.int64(op_.RESERVED), at, node, state)
                    p = skip_value(src, p, most - 1 - sp // op_.FRAME)
                    if p < 0:
                        return -p, at, node, epoch
                    continue
                if nodes[U(t * op_.NODE + op_.N_SEEN)] != this:
                    nodes[U(t * op_.NODE + op_.N_SEEN)] = this
                    members += 1
                elif state[op_.S_CODE] != OK:
                    return np.int64(SLOW), at, t, epoch
            key_read = op == op_.MAP
        # -- its value
        b = t * WORDS
        op = prog[U(b)]
        at = p
        s &= prog[U(b + P_MASK)]
        if c == 110:
            if ld32(src, p) != NULL:
                return np.int64(MALFORMED), p, t, epoch
            p += 4
            null(b, s, prog, cols, counters, stack, sp, h8, h32, h64)
            continue
        if not key_read:
            h8[U(prog[U(b + P_VALID)] + s)] = 1
        if op == op_.TEXT:
            code, p = string(src, p, c, b, s, prog, h8, h32)
        elif op <= op_.LAST_INT:
            code, p = integer(src, p, c, op, prog[U(b + P_ARG)], prog[U(b + P_DATA)], s, h8, h32, h64)
        elif op == op_.DOUBLE:
            code, p = double(src, p, c, prog[U(b + P_DATA)] + s, five, h64, f64)
        elif op == op_.BOOLEAN:
            code, p = boolean(src, p, c, prog[U(b + P_DATA)] + s, h8)
        elif op_.OBJECT <= op <= op_.LAST_CONTAINER:
            code = np.int64(OK if c == 123 - 32 * np.int64(op == op_.LIST) else TYPE)
            if code == OK:
                if sp // op_.FRAME + 2 > most:
                    return np.int64(SLOW), p, t, epoch
                stack[U(sp)], stack[U(sp + 1)], stack[U(sp + 2)] = node, k, members
                stack[U(sp + 3)], stack[U(sp + 4)], stack[U(sp + 5)] = this, guess, cur
                sp += op_.FRAME
                node, k, members, first = t, s, np.int64(0), True
                p += 1
                guess = t * op_.NODE + op_.N_FIRST
                if op == op_.OBJECT:
                    epoch += 1
                    this = epoch
                else:
                    cur = np.int64(h32[U(prog[U(b + P_OFFS)] + s)]) & prog[U(b + P_MASK)]
                continue
        else:
            code = np.int64(TYPE)
            if op == op_.STAMP and c == QUOTE:
                q, v = timestamp(src, p + 1, prog[U(b + P_ARG)] & (op_.ZONED - 1), prog[U(b + P_ARG)] & op_.ZONED)
                if q > 0:
                    h64[U(prog[U(b + P_DATA)] + s)] = v
                    p = q
                    continue
            code, p = value(src, p, c, b, s, prog, five, other, most - 1 - sp // op_.FRAME, h8, h32, h64, f32, f64)
        if code != OK:
            if code == MALFORMED or code == SLOW or prog[U(b + P_MASK)] == 0:
                return np.int64(MALFORMED if code == MALFORMED else SLOW), at, t, epoch
            note(code, at, t, state)
            nulls(cols, prog[U(b + P_COLUMN)], s, h8, h32, h64, counters, stack, sp)
            p = skip_value(src, at, most - 1 - sp // op_.FRAME)
            if p < 0:
                return -p, at, t, epoch
    p, c = blank(src, p)
    if p != end:
        return np.int64(TRAILING), p, node, epoch
    return state[op_.S_CODE], state[op_.S_WHERE], state[op_.S_NODE], epoch


@inline
def note(code: Int, at: Int, node: Int, state: Longs) -> None:
    """Keeps the first fault of a row; a reserved name outweighs values."""
    if state[op_.S_CODE] == OK or (code == op_.RESERVED and state[op_.S_CODE] != code):
        state[op_.S_CODE], state[op_.S_WHERE], state[op_.S_NODE] = code, at, node


@merged
def member(
    src: Bytes, p: Int, node: Int, guess: Int, nodes: Longs, words: Longs, table: Longs, prefix: Bytes, other: Bytes,
) -> tuple[Int, Int, Int]:  # fmt: skip
    """Which member's name begins at ``p``: ``(position after its quote or -code, node or less than 0, where the next guess is)``."""
    t = nodes[U(guess)]
    if t >= 0 and same(src, p, t, nodes, words):
        return p + nodes[U(t * op_.NODE + op_.N_LENGTH)], t, t * op_.NODE + op_.N_NEXT
    p, t, plain = look_up(src, p, node, nodes, words, table, prefix, other)
    if p < 0 or t < 0:
        return p, t, guess
    if plain != 0:
        nodes[U(guess)] = t
    return p, t, t * op_.NODE + op_.N_NEXT


@merged
def close(
    op: Int, node: Int, k: Int, cur: Int, members: Int, this: Int, empty: bool, prog: Longs, nodes: Longs, cols: Longs, counters: Longs,  # noqa: FBT001 - Numba knows no keywords only
    stack: Longs, sp: Int, seen: Words, h8: Bytes, h32: Words, h64: Longs,
) -> Int:  # fmt: skip
    """Completes slot ``k`` of an object or a list, whose last item is in slot ``cur``; SLOW where a map's key repeats."""
    if op == op_.OBJECT:
        left = nodes[U(node * op_.NODE + op_.N_MEMBERS)] - members
        t = node + 1
        while left > 0:
            if nodes[U(t * op_.NODE + op_.N_SEEN)] != this:
                left -= 1
                null(t * WORDS, k & prog[U(t * WORDS + P_MASK)], prog, cols, counters, stack, sp, h8, h32, h64)
            t = prog[U(t * WORDS + P_JUMP)]
        return np.int64(OK)
    b = node * WORDS
    o = prog[U(b + P_OFFS)] + k
    first = np.int64(h32[U(o)]) & prog[U(b + P_MASK)]
    last = cur + np.int64(not empty)
    h32[U(o + 1)] = np.int32(last)
    if op == op_.MAP and prog[U(b + P_COLUMN)] >= 0 and last - first > 1:
        key = (prog[U(b + P_COLUMN)] + 1) * FIELDS
        if repeats(h8, h32, cols[U(key + C_OFFS)], cols[U(key + C_DATA)], first, last, seen):
            return np.int64(SLOW)
    return np.int64(OK)


@inline
def null(
    b: Int, s: Int, prog: Longs, cols: Longs, counters: Longs, stack: Longs, sp: Int, h8: Bytes, h32: Words, h64: Longs,
) -> None:  # fmt: skip
    """NULL in slot ``s`` of the node at ``b`` and of all below it."""
    op = prog[U(b)]
    if op == op_.TEXT:
        h8[U(prog[U(b + P_VALID)] + s)] = 0
        o = prog[U(b + P_OFFS)] + s
        h32[U(o + 1)] = h32[U(o)]
    elif op == op_.INT64 or op == op_.DOUBLE:
        h8[U(prog[U(b + P_VALID)] + s)] = 0
        h64[U(prog[U(b + P_DATA)] + s)] = 0
    elif prog[U(b + P_COLUMN)] >= 0:
        nulls(cols, prog[U(b + P_COLUMN)], s, h8, h32, h64, counters, stack, sp)


@inline
def string(src: Bytes, p: Int, c: Int, b: Int, s: Int, prog: Longs, h8: Bytes, h32: Words) -> tuple[Int, Int]:
    """A string to slot ``s``; only checked where it is dropped."""
    if c != QUOTE:
        return np.int64(TYPE), p
    p += 1
    if prog[U(b + P_MASK)] == 0:
        p = skip_string(src, p)
        return (-p if p < 0 else np.int64(OK)), p
    o = prog[U(b + P_OFFS)] + s
    data = prog[U(b + P_DATA)]
    d = data + np.int64(h32[U(o)])
    w = ld64(src, p)
    st64(h8, d, w)
    m = special(w)
    while m == U(0):
        p += 8
        d += 8
        w = ld64(src, p)
        st64(h8, d, w)
        m = special(w)
    j = ctz(m) >> 3
    p += j
    d += j
    if rd(src, p) == QUOTE:
        p += 1
    else:
        p, d = copy_string(src, p, h8, d)
        if p < 0:
            return -p, p
    h32[U(o + 1)] = np.int32(d - data)
    return np.int64(OK), p


@inline
def integer(src: Bytes, p: Int, c: Int, op: Int, high: Int, data: Int, s: Int, h8: Bytes, h32: Words, h64: Longs) -> tuple[Int, Int]:
    """A whole number up to ``high`` (or down to one less than its negative, where it has a sign) to its column."""
    negative = c == MINUS
    if negative:
        p += 1
    elif c < 48 or c > 57:
        return np.int64(TYPE), p
    start = p
    p, w = digits(src, p, U(0))
    n = p - start
    c = rd(src, p)
    if n == 0 or (n > 1 and rd(src, start) == 48):
        return np.int64(MALFORMED), p
    if n > MOST_DIGITS or c == 46 or c | 32 == 101:
        code, p, w = whole(src, start, np.int64(op == op_.UINT64))
        if code != OK:
            return code, p
    limit = U(high)
    if negative:
        limit = limit + U(1) if op <= op_.INT8 else U(0)
    if w > limit:
        return np.int64(RANGE), p
    v = np.int64(w)
    if negative:
        v = -v
    width = (op - 1) & 3
    if width == 0:
        h64[U(data + s)] = v
    elif width == 1:
        h32[U(data + s)] = np.int32(v)
    elif width == 2:
        h8[U(data + 2 * s)] = np.uint8(v & 255)
        h8[U(data + 2 * s + 1)] = np.uint8(v >> 8 & 255)
    else:
        h8[U(data + s)] = np.uint8(v & 255)
    return np.int64(OK), p


@inline
def double(src: Bytes, p: Int, c: Int, to: Int, five: Longs, h64: Longs, f64: Doubles) -> tuple[Int, Int]:
    """The double nearest to a number."""
    negative = c == MINUS
    if negative:
        p += 1
    elif c < 48 or c > 57:
        return np.int64(TYPE), p
    start = p
    p, w, e, n, _ = scan(src, p)
    if p < 0:
        return np.int64(MALFORMED), p
    if n <= MOST_DIGITS and w <= EXACT and -22 <= e <= 22:
        f = np.float64(w)
        if e < 0:
            f /= FLOAT_TENS[U(-e)]
        else:
            f *= FLOAT_TENS[U(e)]
        if negative:
            f = -f
        f64[U(to)] = f
        return np.int64(OK), p
    code, m = hard_double(src, start, w, e, n, five)
    if negative:
        m |= U(1 << 63)
    h64[U(to)] = np.int64(m)
    return code, p


@inline
def boolean(src: Bytes, p: Int, c: Int, to: Int, h8: Bytes) -> tuple[Int, Int]:
    """``true`` or ``false``."""
    if c == 116 and ld32(src, p) == TRUE:
        h8[U(to)] = 1
        return np.int64(OK), p + 4
    if c == 102 and ld32(src, p + 1) == ALSE:
        h8[U(to)] = 0
        return np.int64(OK), p + 5
    return np.int64(TYPE), p
