# ruff: noqa: PLR2004, C901, PLR0911, PLR0912, PLR0915 - a machine's loop is one function; the numbers are bytes
"""The JSON machine: reads each payload of a batch by a tree of nodes and appends what it says to columns."""

from __future__ import annotations

import numpy as np

from thalweg.kernels import json_ops as op_
from thalweg.kernels.columns import nulls, room
from thalweg.kernels.jit import inline, kernel, merged
from thalweg.kernels.json_keys import RESERVED_NAME, look_up, same
from thalweg.kernels.json_scalars import boolean, double, integer, null, string
from thalweg.kernels.json_skip import NULL, skip_value
from thalweg.kernels.json_text import QUOTE, blank
from thalweg.kernels.json_values import value
from thalweg.kernels.keys import repeats
from thalweg.kernels.memory import ZERO, Bytes, Doubles, Floats, Int, Longs, U, ULongs, Words, ld32, ld64, st64, word, word32
from thalweg.kernels.moment import timestamp
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
    ROOM,
    SLOW,
    TRAILING,
    TYPE,
    WORDS,
)

RESERVED = np.int64(op_.RESERVED)

@kernel
def decode(
    src: Bytes, offs: Words, present: Bytes, prog: Longs, nodes: Longs, words: ULongs, table: Longs, five: ULongs, prefix: Bytes, cols: Longs,
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
    budget = -1
    n = offs.shape[0] - 1
    while i < n:
        p = word32(offs, i)
        size = word32(offs, i + 1) - p
        code: Int = OK
        where: Int = 0
        t: Int = 0
        if present.shape[0] != 0 and present[U(i)] == 0:
            code = NULL_ROW
        elif size > state[op_.S_MOST]:
            code = LIMIT
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
    j = ZERO
    if size >= 16:
        last = size - 16
        while j < last:
            st64(text, j, ld64(src, p + j))
            st64(text, j + 8, ld64(src, p + j + 8))
            j += 16
        st64(text, last, ld64(src, p + last))
        st64(text, last + 8, ld64(src, p + last + 8))
        j = size
    while j < size:
        text[U(j)] = src[U(p + j)]
        j += 1
    for zeros in range(0, op_.PAD, 8):
        st64(text, size + zeros, U(0))


@merged
def document(
    src: Bytes, end: Int, k: Int, epoch: Int, state: Longs, prog: Longs, nodes: Longs, words: ULongs, table: Longs, five: ULongs, prefix: Bytes,
    cols: Longs, counters: Longs, stack: Longs, seen: Words, other: Bytes, h8: Bytes, h32: Words, h64: Longs, f32: Floats, f64: Doubles,
) -> tuple[Int, Int, Int, Int]:  # fmt: skip
    """Reads the payload into slot ``k`` of the row's columns: ``(code, position, node, objects so far)``.

    A value that does not fit its column does not end the reading: what is no JSON, or repeats a name, is worse.
    """
    node, members, sp, cur, t, s = ZERO, ZERO, ZERO, ZERO, ZERO, k
    state[op_.S_CODE], state[op_.S_WHERE], state[op_.S_NODE] = OK, 0, 0
    guess, most, epoch = ZERO + op_.N_FIRST, state[op_.S_DEPTH], epoch + 1
    this, kind, closer, first, key_read = ZERO + epoch, ZERO + op_.OBJECT, ZERO + 125, True, False
    p, c = blank(src, ZERO)
    if c != 123:
        p = skip_value(src, p, most)
        return (SLOW if p == -SLOW else MALFORMED), 0, t, epoch
    p += 1
    while True:
        # -- a member's name, the next item, or the end of what is open
        p, c = blank(src, p)
        if key_read:
            if c != 58:
                return MALFORMED, p, node, epoch
            p, c = blank(src, p + 1)
            key_read, t, s = False, node + 2 * WORDS, cur
        elif c == closer:
            if close(kind, node, k, cur, members, this, first, prog, nodes, cols, counters, stack, sp, seen, h8, h32, h64) != OK:
                return SLOW, p, node, epoch
            p += 1
            if sp == 0:
                return ending(src, p, end, state, epoch)
            sp -= op_.FRAME
            node, k, members, this, guess, cur = frame(stack, sp)
            kind, first = word(prog, node), False
            closer = ZERO + (93 if kind == op_.LIST else 125)
            continue
        else:
            if not first:
                if c != 44:
                    return MALFORMED, p, node, epoch
                p, c = blank(src, p + 1)
                cur += 1
            first, t, s = False, node + WORDS, cur
            if kind != op_.LIST and c != QUOTE:
                return MALFORMED, p, node, epoch
            if kind == op_.OBJECT:
                code, p, c, t, guess, new = member(
                    src, p, node, guess, this, most - 1 - sp // op_.FRAME, state, nodes, words, table, prefix, other,
                )  # fmt: skip
                if code != OK:
                    return code, p, node, epoch
                if t < 0:
                    continue
                s = k
                members += new
            else:
                key_read = kind == op_.MAP
        # -- its value
        op = word(prog, t)
        s &= word(prog, t + P_MASK)
        if op_.OBJECT <= op <= op_.LAST_CONTAINER and c == (91 if op == op_.LIST else 123):
            if sp // op_.FRAME + 2 > most:
                return SLOW, p, t, epoch
            stack[U(sp)], stack[U(sp + 1)], stack[U(sp + 2)] = node, k, members
            stack[U(sp + 3)], stack[U(sp + 4)], stack[U(sp + 5)] = this, guess, cur
            sp += op_.FRAME
            p += 1
            node, k, members, first, kind, closer, guess = t, s, ZERO, True, op, c + 2, t + op_.N_FIRST
            h8[U(word(prog, t + P_VALID) + s)] = 1
            epoch += op == op_.OBJECT
            this = epoch
            if op != op_.OBJECT:
                cur = np.int64(h32[U(word(prog, t + P_OFFS) + s)]) & word(prog, t + P_MASK)
            continue
        at = p
        code, p = scalar(src, p, c, op, t, s, key_read, most - 1 - sp // op_.FRAME, prog, five, other, cols, counters, stack, sp, h8, h32, h64, f32, f64)
        if code != OK:
            p = unfit(code, src, at, t, s, most - 1 - sp // op_.FRAME, state, prog, cols, counters, stack, sp, h8, h32, h64)
            if p < 0:
                return -p, at, t, epoch


@inline
def frame(stack: Longs, sp: Int) -> tuple[Int, Int, Int, Int, Int, Int]:
    """What was kept at ``sp`` when a container was opened: node, slot, members, object's number, guess, slot of the last item."""
    return word(stack, sp), word(stack, sp + 1), word(stack, sp + 2), word(stack, sp + 3), word(stack, sp + 4), word(stack, sp + 5)


@inline
def ending(src: Bytes, p: Int, end: Int, state: Longs, epoch: Int) -> tuple[Int, Int, Int, Int]:
    """What the document comes to, whose last brace is before ``p``: ``(code, position, node, objects so far)``."""
    p, _ = blank(src, p)
    if p != end:
        return TRAILING, p, ZERO, epoch
    return state[op_.S_CODE], state[op_.S_WHERE], state[op_.S_NODE], epoch


@merged
def unfit(
    code: Int, src: Bytes, at: Int, t: Int, s: Int, most: Int, state: Longs, prog: Longs, cols: Longs, counters: Longs, stack: Longs, sp: Int,
    h8: Bytes, h32: Words, h64: Longs,
) -> Int:  # fmt: skip
    """Notes that the value at ``at`` does not fit node ``t`` and puts NULL there: the position behind it, or minus the row's code."""
    if code == MALFORMED:
        return -MALFORMED
    if code == SLOW or word(prog, t + P_MASK) == 0:
        return -SLOW
    note(code, at, t, state)
    nulls(cols, word(prog, t + P_COLUMN), s, h8, h32, h64, counters, stack, sp)
    return skip_value(src, at, most)


@merged
def scalar(
    src: Bytes, p: Int, c: Int, op: Int, b: Int, s: Int, is_key: bool, most: Int, prog: Longs, five: ULongs, other: Bytes, cols: Longs,  # noqa: FBT001 - Numba knows no keywords only
    counters: Longs, stack: Longs, sp: Int, h8: Bytes, h32: Words, h64: Longs, f32: Floats, f64: Doubles,
) -> tuple[Int, Int]:  # fmt: skip
    """A value that opens nothing, which begins with ``c``, to slot ``s``: ``(code, next position)``. Keys of maps have no validity."""
    if c == 110:
        if ld32(src, p) != NULL:
            return MALFORMED, p
        null(b, s, prog, cols, counters, stack, sp, h8, h32, h64)
        return OK, p + 4
    if not is_key:
        h8[U(word(prog, b + P_VALID) + s)] = 1
    if op == op_.TEXT:
        return string(src, p, c, b, s, prog, h8, h32)
    if op <= op_.LAST_INT:
        return integer(src, p, c, op, word(prog, b + P_ARG), word(prog, b + P_DATA), s, h8, h32, h64)
    if op == op_.DOUBLE:
        return double(src, p, c, word(prog, b + P_DATA) + s, five, h64, f64)
    if op == op_.BOOLEAN:
        return boolean(src, p, c, word(prog, b + P_DATA) + s, h8)
    if op <= op_.LAST_CONTAINER and op != op_.STAMP:
        return TYPE, p
    if op == op_.STAMP and c == QUOTE:
        q, v = timestamp(src, p + 1, word(prog, b + P_ARG) & (op_.ZONED - 1), word(prog, b + P_ARG) & op_.ZONED)
        if q > 0:
            h64[U(word(prog, b + P_DATA) + s)] = v
            return OK, q
    return value(src, p, c, b, s, prog, five, other, most, h8, h32, h64, f32, f64)


@inline
def note(code: Int, at: Int, node: Int, state: Longs) -> None:
    """Keeps the first fault of a row; a reserved name outweighs values."""
    if state[op_.S_CODE] == OK or (code == op_.RESERVED and state[op_.S_CODE] != code):
        state[op_.S_CODE], state[op_.S_WHERE], state[op_.S_NODE] = code, at, node


@merged
def member(
    src: Bytes, p: Int, node: Int, guess: Int, this: Int, most: Int, state: Longs, nodes: Longs, words: ULongs, table: Longs, prefix: Bytes,
    other: Bytes,
) -> tuple[Int, Int, Int, Int, Int, Int]:  # fmt: skip
    """The member whose name is at ``p``: ``(code, position of its value, first byte of it, node, where the next guess is, 1 if it is new)``.

    The value of an unknown one is passed over; its node is less than 0. A name that comes again after a fault is SLOW: the fault may not count.
    """
    at = p
    t = word(nodes, guess)
    p += 1
    if t >= 0 and same(src, p, t, nodes, words):
        p += word(nodes, t + op_.N_LENGTH)
        guess = t + op_.N_NEXT
    else:
        p, t, plain = look_up(src, p, node, nodes, words, table, prefix, other)
        if p < 0:
            return -p, at, ZERO, t, guess, ZERO
        if t >= 0:
            if plain != 0:
                nodes[U(guess)] = t
            guess = t + op_.N_NEXT
    p, c = blank(src, p)
    if c != 58:
        return MALFORMED, p, c, t, guess, ZERO
    p, c = blank(src, p + 1)
    if t < 0:
        if t == RESERVED_NAME:
            note(RESERVED, at, node, state)
        q = skip_value(src, p, most)
        if q < 0:
            return -q, p, c, t, guess, ZERO
        return OK, q, c, t, guess, ZERO
    new = np.int64(word(nodes, t + op_.N_SEEN) != this)
    nodes[U(t + op_.N_SEEN)] = this
    if new == 0 and state[op_.S_CODE] != OK:
        return SLOW, at, c, t, guess, ZERO
    return OK, p, c, t, guess, new


@merged
def close(
    op: Int, node: Int, k: Int, cur: Int, members: Int, this: Int, empty: bool, prog: Longs, nodes: Longs, cols: Longs, counters: Longs,  # noqa: FBT001 - Numba knows no keywords only
    stack: Longs, sp: Int, seen: Words, h8: Bytes, h32: Words, h64: Longs,
) -> Int:  # fmt: skip
    """Completes slot ``k`` of an object or a list, whose last item is in slot ``cur``; SLOW where a map's key repeats."""
    if op == op_.OBJECT:
        left = word(nodes, node + op_.N_MEMBERS) - members
        t = node + WORDS
        while left > 0:
            if word(nodes, t + op_.N_SEEN) != this:
                left -= 1
                null(t, k & word(prog, t + P_MASK), prog, cols, counters, stack, sp, h8, h32, h64)
            t = word(prog, t + P_JUMP)
        return OK
    o = word(prog, node + P_OFFS) + k
    first = np.int64(h32[U(o)]) & word(prog, node + P_MASK)
    last = cur + np.int64(not empty)
    h32[U(o + 1)] = np.int32(last)
    if op == op_.MAP and word(prog, node + P_COLUMN) >= 0 and last - first > 1:
        key = (word(prog, node + P_COLUMN) + 1) * FIELDS
        if repeats(h8, h32, word(cols, key + C_OFFS), word(cols, key + C_DATA), first, last, seen):
            return SLOW
    return OK
